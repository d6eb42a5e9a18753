"""What the log of changes says of each kind of change."""

import ast
from pathlib import Path

from services.admin.audit_words import KINDS

ROOT = Path(__file__).resolve().parents[2]


def noted() -> set[str]:
    """The actions, or their beginnings, that the code notes."""
    found = set()
    for path in (*ROOT.glob("services/**/*.py"), *ROOT.glob("workers/**/*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "note":
                texts = (each.value for each in ast.walk(call.args[0]) if isinstance(each, ast.Constant))
                found |= {text for text in texts if isinstance(text, str) and "." in text}
    return found


def test_each_kind_of_change_can_be_chosen_in_the_log() -> None:
    assert {action.partition(".")[0] for action in noted()} == set(KINDS)

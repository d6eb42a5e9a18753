"""What the log of changes says of each kind of change."""

import ast
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.admin.formatting.audit_entries import KINDS, format_detail
from services.application.shared.audit import ActorKind, AuditEntry

ROOT = Path(__file__).resolve().parents[3]


def noted() -> set[str]:
    """The actions, or their beginnings, that the code notes."""
    found = set()
    for path in (*ROOT.glob("services/**/*.py"), *ROOT.glob("workers/**/*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "note":
                texts = (each.value for each in ast.walk(call.args[0]) if isinstance(each, ast.Constant))
                found |= {text for text in texts if isinstance(text, str) and "." in text}
    return found


def test_audit_log_can_be_filtered_by_each_kind_of_change() -> None:
    assert {action.partition(".")[0] for action in noted()} == set(KINDS)


def entry(**detail: str) -> AuditEntry:
    at = datetime(2026, 11, 24, tzinfo=UTC)
    return AuditEntry(
        id=1, at=at, actor_kind=ActorKind.USER, actor="ada", action="tier.renamed", subject="gold", detail=detail
    )


@pytest.mark.parametrize("name", ["0001-01-01T00:00+10:00", "9999-12-31T23:00-10:00", "2026-13-01"])
def test_name_like_an_impossible_time_is_shown_unchanged(name: str) -> None:
    assert format_detail(entry(name=name)) == [("name", name)]


def test_time_is_shown_in_utc() -> None:
    assert format_detail(entry(until="2026-11-24T12:30:00+02:00")) == [("until", "2026-11-24 10:30 UTC")]

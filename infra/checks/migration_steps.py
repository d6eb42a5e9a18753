"""Refuses migrations that would stop a service in use, or the version before it: by squawk and by what a step may do.

A migration says in ``step`` what it is: ``expand`` adds what the version before does not see, ``backfill`` changes rows
and no table, ``contract`` takes away what no version in use needs. See docs/decisions/0020-expand-backfill-contract.md.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from services.persistence.migrate import Step

LAID = "2026_11_22_2500"
"""Up to here migrations lay the first schema: written before any database was to be kept, they say no step."""

STEPS = ("expand", "backfill", "contract")
SQUAWK = str(Path(sys.executable).parent / "squawk")
POSTGRESQL = "18.0"

OTHERWISE_SEEN_TO = (
    "require-lock-timeout",  # of the session that migrates: services.persistence.patience
    "require-statement-timeout",
    "prefer-bigint-over-int",  # a choice of the column, not of the migration
    "prefer-bigint-over-smallint",
    "prefer-text-field",
    "require-enum-value-ordering",
    "prefer-robust-stmts",  # a migration is whole or undone; migrations.large_tables can be begun again
)
OF_A_CONTRACT = (
    "ban-drop-column",
    "ban-drop-constraint",
    "ban-drop-function",
    "ban-drop-not-null",
    "ban-drop-table",
    "ban-drop-type",
    "ban-drop-view",
    "changing-column-type",
    "renaming-column",
    "renaming-object",
    "renaming-table",
)

_CHANGES_ROWS = re.compile(r"^\s*(UPDATE|DELETE|INSERT|MERGE)\b", re.IGNORECASE)
_CHANGES_TABLES = re.compile(r"^\s*(CREATE|ALTER|DROP)\b", re.IGNORECASE)
_BODIES = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_OF_ALEMBIC = re.compile(r"\balembic_version\b")


def refusals(sql: str, said: Step) -> Iterator[str]:
    """What is wrong with the SQL of a migration that says this of itself; nothing if it may land."""
    step = said.kind
    if step not in STEPS:
        yield f"step = {step!r}: must be one of {', '.join(map(repr, STEPS))}"
        return
    if (step == "contract") != (said.since is not None):
        yield f"since = {said.since!r}: a 'contract', and nothing else, says from which migration on code does without"
    yield from _by_squawk(sql, excluded=(*OTHERWISE_SEEN_TO, *(OF_A_CONTRACT if step == "contract" else ())))
    for statement in _statements(sql):
        if step != "backfill" and _CHANGES_ROWS.match(statement):
            yield f"changes rows, which is for a step of its own, 'backfill': {_shown(statement)}"
        if step == "backfill" and _CHANGES_TABLES.match(statement):
            yield f"changes more than rows, which is for 'expand' or 'contract': {_shown(statement)}"


def _by_squawk(sql: str, *, excluded: tuple[str, ...]) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".sql", encoding="utf-8") as file:
        file.write(sql)
        file.flush()
        rules = f"--exclude={','.join(excluded)}"
        command = [SQUAWK, "--reporter=json", f"--pg-version={POSTGRESQL}", rules, file.name]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"squawk: {done.stderr.strip() or done.stdout.strip()}") from None
    for each in found:
        line = sql.splitlines()[each["line"]] if each["line"] < sql.count("\n") else ""
        yield f"{each['rule_name']}: {each['message']}: {_shown(line)}"


def _statements(sql: str) -> list[str]:
    """Those of a migration, without what is quoted and without Alembic's own."""
    return [each for each in _BODIES.sub(" ", sql).split(";") if not _OF_ALEMBIC.search(each)]


def _shown(statement: str) -> str:
    return " ".join(statement.split())[:120]

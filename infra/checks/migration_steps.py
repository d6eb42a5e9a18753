"""Refuse migrations that would stop a running service, or the version before it: by squawk and by what a step may do.

A migration states in ``step`` what it is: ``expand`` adds what the version before does not see, ``backfill`` changes
rows and no table, ``contract`` removes what no running version needs. See
docs/decisions/0020-expand-backfill-contract.md.
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
"""Up to here migrations lay the first schema: written before any database was to be kept, they state no step."""

STEPS = ("expand", "backfill", "contract")
SQUAWK = str(Path(sys.executable).parent / "squawk")
POSTGRESQL = "18.0"

CHECKED_ELSEWHERE = (
    "require-lock-timeout",  # of the session that migrates: services.persistence.patience
    "require-statement-timeout",
    "prefer-bigint-over-int",  # a choice of the column, not of the migration
    "prefer-bigint-over-smallint",
    "prefer-text-field",
    "require-enum-value-ordering",
    "prefer-robust-stmts",  # a migration is complete or undone; migrations.large_tables can be started again
)
ONLY_IN_CONTRACT = (
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


def find_violations(sql: str, declared: Step) -> Iterator[str]:
    """Yield what is wrong with the SQL of a migration with this step; nothing if it may land."""
    step = declared.kind
    if step not in STEPS:
        yield f"step = {step!r}: must be one of {', '.join(map(repr, STEPS))}"
        return
    if (step == "contract") != (declared.since is not None):
        yield f"since = {declared.since!r}: only a 'contract' names the migration from which on code does without"
    yield from _run_squawk(sql, excluded=(*CHECKED_ELSEWHERE, *(ONLY_IN_CONTRACT if step == "contract" else ())))
    for statement in _split_statements(sql):
        if step != "backfill" and _CHANGES_ROWS.match(statement):
            yield f"changes rows, which needs a step of its own, 'backfill': {_shorten(statement)}"
        if step == "backfill" and _CHANGES_TABLES.match(statement):
            yield f"changes more than rows, which is for 'expand' or 'contract': {_shorten(statement)}"


def _run_squawk(sql: str, *, excluded: tuple[str, ...]) -> Iterator[str]:
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
        yield f"{each['rule_name']}: {each['message']}: {_shorten(line)}"


def _split_statements(sql: str) -> list[str]:
    """Return the statements of a migration, without quoted text and Alembic's own."""
    return [each for each in _BODIES.sub(" ", sql).split(";") if not _OF_ALEMBIC.search(each)]


def _shorten(statement: str) -> str:
    return " ".join(statement.split())[:120]

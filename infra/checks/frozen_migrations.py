"""Refuses a change of a migration that databases may have run: `migrations/frozen.txt` has digests of each.

A database remembers the names of the migrations that it ran, not what they did; one that ran another text of the same
name is broken and counts as ready. So a migration does not change once it is on the main branch, neither in its file
nor through what it imports: a line has its name, the SHA-256 of the file, and that of the SQL that it makes going up.

    python -m infra.checks.frozen_migrations --write    # adds lines of new migrations, and changes none
"""

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from services.persistence.migrate import list_migration_files, render_sql

ROOT = Path(__file__).resolve().parents[2]
FROZEN = ROOT / "migrations" / "frozen.txt"
WRITE = "python -m infra.checks.frozen_migrations --write"


class Digests(NamedTuple):
    """Of a migration's file, and of its SQL however it is broken into lines."""

    file: str
    sql: str


def digests() -> Mapping[str, Digests]:
    """Of every migration, oldest first."""
    return {
        revision: Digests(_sha256(file.read_bytes()), _sha256(" ".join(render_sql(revision).split()).encode()))
        for revision, file in list_migration_files().items()
    }


def recorded(text: str) -> Mapping[str, Digests]:
    """What ``frozen.txt`` holds."""
    lines = (line.split() for line in text.splitlines())
    return {revision: Digests(file, sql) for revision, file, sql in lines}


def refusals(then: Mapping[str, Digests], now: Mapping[str, Digests]) -> Iterator[str]:
    """What is wrong with the migrations as they are now; nothing if each is as it was recorded."""
    for revision, digest in then.items():
        if revision not in now:
            yield f"{revision}: was removed; databases that ran it would be of a schema that nobody knows"
        elif now[revision].file != digest.file:
            yield f"{revision}: its file was changed; put it back, and make the change in a new migration"
        elif now[revision].sql != digest.sql:
            yield f"{revision}: what it imports has it make other SQL; keep that as it was, and name the new otherwise"
    for revision in now:
        if revision not in then:
            yield f"{revision}: has no line in migrations/frozen.txt; once it is as it shall be: {WRITE}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="add lines of new migrations")
    asked = parser.parse_args()
    then, now = recorded(FROZEN.read_text(encoding="ascii")), digests()
    if asked.write:
        then = {**then, **{revision: digest for revision, digest in now.items() if revision not in then}}
        lines = (f"{revision}  {digest.file}  {digest.sql}\n" for revision, digest in then.items())
        FROZEN.write_text("".join(lines), encoding="ascii")
    refused = list(refusals(then, now))
    for each in refused:
        print(each)
    return 1 if refused else 0


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())

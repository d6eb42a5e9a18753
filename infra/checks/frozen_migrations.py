"""Refuse a change of a migration that databases may have run: `migrations/frozen.txt` has digests of each.

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
    """Digests of a migration's file, and of its SQL without regard to line breaks."""

    file: str
    sql: str


def digest_migrations() -> Mapping[str, Digests]:
    """Return the digests of every migration, oldest first."""
    return {
        revision: Digests(
            _compute_sha256(file.read_bytes()), _compute_sha256(" ".join(render_sql(revision).split()).encode())
        )
        for revision, file in list_migration_files().items()
    }


def parse_digests(text: str) -> Mapping[str, Digests]:
    """Parse the lines of ``frozen.txt``."""
    lines = (line.split() for line in text.splitlines())
    return {revision: Digests(file, sql) for revision, file, sql in lines}


def find_changes(then: Mapping[str, Digests], now: Mapping[str, Digests]) -> Iterator[str]:
    """Yield what is wrong with the migrations as they are now; nothing if each is as it was recorded."""
    for revision, digest in then.items():
        if revision not in now:
            yield f"{revision}: was removed; databases that ran it would have an unknown schema"
        elif now[revision].file != digest.file:
            yield f"{revision}: its file was changed; put it back, and make the change in a new migration"
        elif now[revision].sql != digest.sql:
            yield f"{revision}: its imports make other SQL; keep the old ones, and give the new another name"
    for revision in now:
        if revision not in then:
            yield f"{revision}: has no line in migrations/frozen.txt; once it is final: {WRITE}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="add lines of new migrations")
    options = parser.parse_args()
    then, now = parse_digests(FROZEN.read_text(encoding="ascii")), digest_migrations()
    if options.write:
        then = {**then, **{revision: digest for revision, digest in now.items() if revision not in then}}
        lines = (f"{revision}  {digest.file}  {digest.sql}\n" for revision, digest in then.items())
        FROZEN.write_text("".join(lines), encoding="ascii")
    refused = list(find_changes(then, now))
    for each in refused:
        print(each)
    return 1 if refused else 0


def _compute_sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())

"""Databases that benchmarks keep between runs: for one run at a time, and while what made their rows is as it was.

Migrations that came since are applied to what is kept, see `migrations/frozen.txt`; rows that were made by others than
there are now are removed with their database.
"""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.report import ROOT
from services.embedded.postgres import EmbeddedPostgres

MADE_BY = "made-by"
"""File of what made the rows, with digests; there is none before they are made."""

FROZEN = ROOT / "migrations" / "frozen.txt"


@contextmanager
def kept_server(folder: Path, makers: Mapping[str, str]) -> Iterator[EmbeddedPostgres]:
    """The database of a folder, running; an empty one unless all that made its rows is as it was.

    Raises
    ------
    SystemExit : another run is at it.
    """
    with alone(folder):
        server = EmbeddedPostgres(folder)
        if not is_of_today(server.folder / MADE_BY, makers):
            shutil.rmtree(server.folder)
            server = EmbeddedPostgres(folder)
        with server:
            yield server


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder against other runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run uses {folder}") from None
        yield


def makers_of(files: Sequence[str], words: str) -> dict[str, str]:
    """What rows depend on, with digests: migrations, files of the project, and what else is told in words."""
    migrations = dict(line.split(maxsplit=1) for line in FROZEN.read_text(encoding="ascii").splitlines())
    texts = {name: (ROOT / name).read_bytes() for name in files} | {"rows": words.encode()}
    return migrations | {name: hashlib.sha256(content).hexdigest() for name, content in texts.items()}


def is_of_today(made_by: Path, now: Mapping[str, str]) -> bool:
    """Whether all that made the rows is as it was; migrations may have come since."""
    return made_by.exists() and json.loads(made_by.read_text(encoding="utf-8")).items() <= now.items()


def is_made(server: EmbeddedPostgres) -> bool:
    """Whether the rows are there."""
    return (server.folder / MADE_BY).exists()


def note_made(server: EmbeddedPostgres, makers: Mapping[str, str]) -> None:
    """Keep the rows from now on."""
    (server.folder / MADE_BY).write_text(json.dumps(makers), encoding="utf-8")


def tell(what: str) -> None:
    print(what, flush=True)

"""Databases that benchmarks store between runs, used by one run at a time.

A stored database is valid while everything that its rows were made from is unchanged. Newer migrations are applied to
it, see `migrations/frozen.txt`; a database whose rows were made from anything else is removed.
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
"""The file that lists what the rows were made from, with digests; it does not exist before the rows are made."""

FROZEN = ROOT / "migrations" / "frozen.txt"


@contextmanager
def open_stored_server(folder: Path, row_sources: Mapping[str, str]) -> Iterator[EmbeddedPostgres]:
    """Yield the running database of a folder; it is empty unless everything that its rows were made from is unchanged.

    Raises
    ------
    SystemExit : another run uses the folder.
    """
    with lock_folder(folder):
        server = EmbeddedPostgres(folder)
        if not is_current(server.folder / MADE_BY, row_sources):
            shutil.rmtree(server.folder)
            server = EmbeddedPostgres(folder)
        with server:
            yield server


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run uses {folder}") from None
        yield


def digest_row_sources(files: Sequence[str], parameters: str) -> dict[str, str]:
    """Return what rows are made from, with digests: migrations, files of the project and ``parameters`` as text."""
    migrations = dict(line.split(maxsplit=1) for line in FROZEN.read_text(encoding="ascii").splitlines())
    texts = {name: (ROOT / name).read_bytes() for name in files} | {"rows": parameters.encode()}
    return migrations | {name: hashlib.sha256(content).hexdigest() for name, content in texts.items()}


def is_current(made_by: Path, now: Mapping[str, str]) -> bool:
    """Return whether everything that the rows were made from is unchanged; migrations may have been added since."""
    return made_by.exists() and json.loads(made_by.read_text(encoding="utf-8")).items() <= now.items()


def has_rows(server: EmbeddedPostgres) -> bool:
    """Return whether the rows have been made."""
    return (server.folder / MADE_BY).exists()


def record_row_sources(server: EmbeddedPostgres, row_sources: Mapping[str, str]) -> None:
    """Record what the rows were made from, so that the next run uses them again."""
    (server.folder / MADE_BY).write_text(json.dumps(row_sources), encoding="utf-8")


def print_now(text: str) -> None:
    print(text, flush=True)

"""The manifest of a copy: a file, or what comes by standard input."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

STANDARD_INPUT = "-"


def check_manifest(manifest: str) -> None:
    """Refuse a manifest that is not there; standard input is read later."""
    if manifest != STANDARD_INPUT and (not Path(manifest).exists() or Path(manifest).is_dir()):
        raise typer.BadParameter(f"{manifest} is not a file; - reads standard input", param_hint="--manifest")


@contextmanager
def open_manifest(manifest: str | None) -> Iterator[str | None]:
    """Yield the path of the manifest; standard input is stored in a file meanwhile, which other tools read too."""
    if manifest != STANDARD_INPUT:
        yield manifest
        return
    with tempfile.NamedTemporaryFile(prefix="tradewind-manifest-") as stored:
        shutil.copyfileobj(sys.stdin.buffer, stored)
        stored.flush()
        yield stored.name

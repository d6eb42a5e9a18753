"""The failures of a copy: of single files, and what stopped all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

ENTIRE_TRANSFER = "the transfer"
"""In place of a file in the first failure of a copy that was stopped before all files were tried."""

NAMED_FAILURES = 10
"""Failures that the text names, next to the first; the document lists all."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be moved, and why in one line."""

    file: str
    reason: str


def format_failures(failures: Sequence[Failure]) -> str:
    """Format the first failure as a part of the closing line; empty where there is none."""
    if not failures:
        return ""
    first = failures[0]
    if first.file == ENTIRE_TRANSFER:
        files = f"; {len(failures) - 1} failed" if len(failures) > 1 else ""
        return f"; stopped: {first.reason}{files}"
    return f"; {len(failures)} failed, first {first.file}: {first.reason}"


def list_further_failures(failures: Sequence[Failure]) -> list[str]:
    """Return a line for each failure after the first, at most `NAMED_FAILURES`, and one that counts the rest."""
    lines = [f"failed: {failure.file}: {failure.reason}" for failure in failures[1 : NAMED_FAILURES + 1]]
    rest = len(failures) - 1 - NAMED_FAILURES
    return [*lines, f"{rest} more failed; --json lists all"] if rest > 0 else lines

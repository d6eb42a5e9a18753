"""The failures of a copy: of single files, and what stopped all of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tradewind_agent.engine.jobs import TransferResult

ENTIRE_TRANSFER = "the transfer"
"""In place of a file in the first failure of a copy that was stopped before all files were tried."""

NAMED_FAILURES = 10
"""Failures that the text names, next to the first; the document lists all."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be moved, why in one line, and whether another run may move it."""

    file: str
    reason: str
    is_retryable: bool = False


def list_failures(result: TransferResult, format_address: Callable[[str], str]) -> tuple[Failure, ...]:
    """Return the failures of a run of the engine, with what stopped it first; addresses as the user writes them."""
    failures = tuple(Failure(format_address(each.url), each.reason, each.is_retryable) for each in result.failures)
    if result.stopped is None:
        return failures
    return (Failure(ENTIRE_TRANSFER, str(result.stopped), result.stopped.retryable), *failures)


def format_failures(failures: Sequence[Failure]) -> str:
    """Format the first failure as a part of the closing line, and what to do; empty where there is none."""
    if not failures:
        return ""
    first = failures[0]
    advice = (
        "; run the same command again to go on with what is missing"
        if any(failure.is_retryable for failure in failures)
        else ""
    )
    if first.file == ENTIRE_TRANSFER:
        files = f"; {len(failures) - 1} failed" if len(failures) > 1 else ""
        return f"; stopped: {first.reason}{files}{advice}"
    return f"; {len(failures)} failed, first {first.file}: {first.reason}{advice}"


def list_further_failures(failures: Sequence[Failure]) -> list[str]:
    """Return a line for each failure after the first, at most `NAMED_FAILURES`, and one that counts the rest."""
    lines = [f"failed: {failure.file}: {failure.reason}" for failure in failures[1 : NAMED_FAILURES + 1]]
    rest = len(failures) - 1 - NAMED_FAILURES
    return [*lines, f"{rest} more failed; --json lists all"] if rest > 0 else lines

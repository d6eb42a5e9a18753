"""What a copy has left out, as text for the user and as a document for programs."""

from collections.abc import Sequence
from typing import Any, Protocol

from tradewind.units import format_count
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.engine.remote.path_selection import NOTHING_EXCLUDED, Excluded


class HasOmissions(Protocol):
    """A listing, or the report of a copy by the engine, a tool or packing, that may be incomplete."""

    @property
    def left_out(self) -> Sequence[Omission]: ...

    @property
    def accepted(self) -> Sequence[Omission]: ...

    @property
    def excluded(self) -> Excluded | None: ...


def describe_omissions(report: HasOmissions) -> str:
    """Describe what was left out, as a part of the closing line; empty if nothing was."""
    words = "" if report.excluded is None else f"; {describe_excluded(report.excluded)}"
    words += f"; {len(report.accepted)} left out as asked" if report.accepted else ""
    if report.left_out:
        first = report.left_out[0]
        words += f"; {len(report.left_out)} left out, first {first.place}: it {first.reason}"
    return words


def describe_excluded(excluded: Excluded) -> str:
    """Describe what a selection has excluded, such as ``3 files and 1 folder excluded``."""
    folders = f" and {format_count(excluded.folders, 'folder')}" if excluded.folders else ""
    return f"{format_count(excluded.files, 'file')}{folders} excluded"


def build_omissions_document(report: HasOmissions) -> dict[str, Any]:
    """Return what was left out, for programs; ``left_out_as_asked`` holds what the user's options permit.

    ``excluded_files`` counts files that were listed, ``excluded_folders`` those that were not looked into.
    """
    excluded = report.excluded or NOTHING_EXCLUDED
    return {
        "excluded_files": excluded.files,
        "excluded_folders": excluded.folders,
        "left_out": [{"file": omission.place, "reason": omission.reason} for omission in report.left_out],
        "left_out_as_asked": [{"file": omission.place, "reason": omission.reason} for omission in report.accepted],
    }

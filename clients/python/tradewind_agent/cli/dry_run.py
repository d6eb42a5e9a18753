"""``tradewind copy --dry-run``: what would be copied, and how."""

from itertools import islice
from typing import TYPE_CHECKING

from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.preview import Preview
    from tradewind_agent.copy.removal import PlannedRemoval
    from tradewind_agent.copy.run import PreparedCopy
    from tradewind_agent.engine.jobs import Job
    from tradewind_agent.grid.start_planner import PlannedStart

NAMED_FILES = 5
"""Files that the text names; the document lists all."""


def show_plan(
    terminal: Terminal, prepared: "PreparedCopy", notes: "Sequence[str]", start: "PlannedStart | None" = None
) -> None:
    """Show the files, what of them is there already, the ``notes`` on how they are encoded, the start and the plan."""
    from tradewind.units import format_bytes, format_count
    from tradewind_agent.copy.preview import preview_copy
    from tradewind_agent.copy.reporting.omissions_report import build_omissions_document, describe_omissions
    from tradewind_agent.copy.reporting.report import build_plan_document, describe_plan

    listing, removal = prepared.listing, prepared.listing.removal
    preview = preview_copy(listing, prepared.options.engine)
    total_bytes = sum(listing.sizes_bytes)
    about = "" if listing.sizes_are_exact else "about "
    files = len(listing.jobs)
    head = f"{_describe_direction(listing)} of {format_count(files, 'file')}, {about}{format_bytes(total_bytes)}: "
    document = {
        "dry_run": True,
        "direction": str(listing.direction),
        "source": prepared.source,
        "destination": prepared.destination,
        "file_count": files,
        "total_bytes": total_bytes,
        "bytes_to_move": preview.bytes_to_move,
        "sizes_are_exact": listing.sizes_are_exact,
        "files": _AddressList(listing.jobs, listing.format_address),
        "already_there": [listing.format_address(str(job)) for job in preview.already_there],
        "to_compare": [listing.format_address(str(job)) for job in preview.to_compare],
        **build_omissions_document(listing),
        **({} if removal is None else {"to_remove": removal.list_places(), "removal_obstacle": removal.obstacle}),
        "plan": build_plan_document(prepared.plan),
        "notes": list(notes),
        **({} if start is None else {"start": start.build_document()}),
    }
    ends = f"{prepared.source} to {prepared.destination}{_describe_preview(preview, files, about)}"
    removed = "" if removal is None else removal.describe()
    lines = [f"{head}{ends}{describe_omissions(listing)}{removed}", *_name_files(listing, preview)]
    lines += name_removals(removal)
    lines += [] if start is None else [start.format_line()]
    terminal.print_result("\n".join((*lines, *notes, describe_plan(prepared.plan))), document)


class _AddressList(list[str]):
    """Addresses of files as a document lists them, each made when it is written: there may be a million."""

    def __init__(self, jobs: "Sequence[Job]", write: "Callable[[str], str]") -> None:
        super().__init__()
        self._jobs, self._write = jobs, write

    def __iter__(self) -> "Iterator[str]":
        from tradewind_agent.engine.jobs import list_addresses

        return map(self._write, list_addresses(self._jobs))

    def __len__(self) -> int:
        return len(self._jobs)


def _describe_direction(listing: "Listing") -> str:
    return str(listing.direction) if listing.receiver is None else "copy between servers"


def name_removals(removal: "PlannedRemoval | None") -> list[str]:
    """Name the first files that would be removed, a line each."""
    places = [] if removal is None else removal.list_places()
    rest = len(places) - NAMED_FILES
    lines = [f"  remove {place}" for place in places[:NAMED_FILES]]
    return [*lines, f"  and {rest} more to remove; --json lists all"] if rest > 0 else lines


def _describe_preview(preview: "Preview", files: int, about: str) -> str:
    """Describe what is there already, as a part of the first line; empty if nothing is known to be."""
    from tradewind.units import format_bytes, format_count

    there, compared = len(preview.already_there), len(preview.to_compare)
    words = f"; {there} already there" if there else ""
    if compared:
        words += f"; {compared} only compared with the destination when the copy runs"
    if there == files:
        return f"{words}, nothing to move"
    left = files - there - compared
    if words and left:
        words += f"; {format_count(left, 'file')} to move"
    return f"{words}, at most {about}{format_bytes(preview.bytes_to_move)}" if words else ""


def _name_files(listing: "Listing", preview: "Preview") -> list[str]:
    """Name the first files that would be moved, a line each, as the user writes their places."""
    there = {str(job.destination) for job in preview.already_there}
    moved = (job for job in listing.jobs if str(job.destination) not in there)
    rest = len(listing.jobs) - len(there) - NAMED_FILES
    write = listing.format_address
    lines = [f"  {write(str(job.source))} -> {write(str(job.destination))}" for job in islice(moved, NAMED_FILES)]
    return [*lines, f"  and {rest} more; --json lists all"] if rest > 0 else lines

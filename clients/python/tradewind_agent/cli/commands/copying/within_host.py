"""``tradewind copy`` where both ends are folders or files of this host."""

from typing import TYPE_CHECKING

from tradewind_agent.cli import environment
from tradewind_agent.cli.dry_run import NAMED_FILES, name_removals
from tradewind_agent.cli.progress import show_transfer
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tradewind_agent.cli.removal_options import RemovalOptions
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.within_host.listing import LocalListing
    from tradewind_agent.service.client import Client


def are_on_this_host(places: "Sequence[str]", manifest: str | None) -> bool:
    """Return whether a copy stays within this host."""
    from tradewind_agent.stores.places import is_remote

    return manifest is None and not any(map(is_remote, places))


def copy_within_host(
    places: "Sequence[str]",
    settings: "CopyOptions",
    terminal: Terminal,
    client: "Client | None",
    removal: "RemovalOptions",
    *,
    dry_run: bool,
) -> int:
    """Copy, report the result, and return the exit code."""
    import signal

    from tradewind.errors import InvalidValue
    from tradewind.transfer import Status
    from tradewind_agent.copy.listing_checks import check_properties, hint_at_address, parse_local
    from tradewind_agent.copy.within_host.listing import list_local_files
    from tradewind_agent.copy.within_host.run import copy_within_host
    from tradewind_agent.session.logbook import Logbook

    if (hint := hint_at_address(places)) is not None:
        raise InvalidValue("sources", f"are local, as the destination is; {hint}")
    check_properties(settings.engine.properties, is_taken=False)
    destination = str(parse_local(places[-1])) + ("/" if places[-1].endswith("/") else "")
    listing = list_local_files([parse_local(place) for place in places[:-1]], destination, settings.listing)
    if dry_run:
        return _show_plan(terminal, listing, settings)
    removal.confirm(listing.removal)
    with show_transfer(terminal) as show:
        total_bytes, files = listing.total_bytes, len(listing.jobs)
        report = copy_within_host(
            listing,
            settings.engine,
            logbook=Logbook(spool=environment.open_spool(terminal), client=client),
            on_progress=None if show is None else lambda moved, done: show(moved, total_bytes, done, files),
        )
    for line in report.list_further_failures():
        terminal.note(line)
    terminal.print_result(report.format_line(), report.build_document())
    if report.is_complete:
        return 0
    return 128 + signal.SIGINT if report.status is Status.CANCELLED else 1


def _show_plan(terminal: Terminal, listing: "LocalListing", settings: "CopyOptions") -> int:
    """Show what would be copied, and return the exit code."""
    from tradewind.units import format_bytes, format_count
    from tradewind_agent.copy.reporting.omissions_report import build_omissions_document, describe_omissions
    from tradewind_agent.copy.within_host.listing import list_copied

    planned = listing.removal
    copied = list_copied(listing, settings.engine.skip, compares_bytes=settings.engine.checksum)
    copied_bytes = sum(job.found.st_size for job in copied)
    there = f"; {len(listing.jobs) - len(copied)} already there" if len(copied) < len(listing.jobs) else ""
    head = f"copy within this host of {format_count(len(copied), 'file')}, {format_bytes(copied_bytes)}{there}"
    removed = "" if planned is None else planned.describe()
    lines = [f"{head}{describe_omissions(listing)}{removed}"]
    lines += [f"  {job.source} -> {job.destination}" for job in copied[:NAMED_FILES]]
    rest = len(copied) - NAMED_FILES
    lines += [f"  and {rest} more; --json lists all"] if rest > 0 else []
    document = {
        "dry_run": True,
        "file_count": len(listing.jobs),
        "total_bytes": listing.total_bytes,
        "bytes_to_move": copied_bytes,
        "files": [str(job) for job in copied],
        **build_omissions_document(listing),
        **({} if planned is None else {"to_remove": planned.list_places(), "removal_obstacle": planned.obstacle}),
    }
    terminal.print_result("\n".join((*lines, *name_removals(planned))), document)
    return 1 if listing.left_out or (planned is not None and planned.obstacle is not None) else 0

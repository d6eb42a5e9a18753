"""Copy files: list them, ask how, move them, measure, log what came of it, and tell it in one line."""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

from tradewind.energy import Host
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, Status, TransferRecord
from tradewind_agent.agreement_text import write_agreement
from tradewind_agent.client import Client
from tradewind_agent.copy_listing import Listing, list_files
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copy_outcome import moved_of
from tradewind_agent.copy_plan import MOVER, plan_copy
from tradewind_agent.copy_records import Identity, records_of
from tradewind_agent.copy_report import CopyReport, Failure
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.storage import PartFile
from tradewind_agent.errors import AgentError, CopyFailed, ServiceAway, ServiceProblem
from tradewind_agent.metering import HostMeter
from tradewind_agent.moving import Movement, move
from tradewind_agent.path_probe import connect_time_s
from tradewind_agent.planning import Plan
from tradewind_agent.spool import Spool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCopy:
    """A copy about to begin."""

    listing: Listing
    plan: Plan
    path: Path
    source: str
    destination: str
    options: CopyOptions
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logbook:
    """Where transfer records go: on disk first, from there to the service when there is one.

    ``upload_budget_s`` : time for segments that have waited, this transfer's own included; what is left goes next time.
    """

    spool: Spool
    client: Client | None = None
    upload_budget_s: float = 30.0
    clock_s: Callable[[], float] = time.monotonic

    def keep(self, records: Sequence[TransferRecord]) -> str:
        """Log ``records``; what became of them, as the end of a sentence about the log."""
        if not records:
            return "has nothing to tell"
        kept = self.spool.append(records)
        if self.client is None:
            return "spooled until `tradewind login`"
        deadline_s = self.clock_s() + self.upload_budget_s
        try:
            drained = self.spool.drain(self.client, keep_going=lambda: self.clock_s() < deadline_s)
        except (ServiceAway, ServiceProblem) as failure:
            return f"spooled: {failure}"
        if drained.refused:
            return f"refused: {drained.refused[-1]}"
        waiting = {segment.sha256 for segment in self.spool.segments()}
        return "spooled" if any(segment.sha256 in waiting for segment in kept) else "uploaded"


def copy_files(
    sources: Sequence[str],
    destination: str,
    *,
    options: CopyOptions | None = None,
    client: Client | None = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
    manifest: str | None = None,
) -> CopyReport:
    """Copy ``sources`` to ``destination`` with the best parameters known.

    Parameters
    ----------
    sources : http(s) addresses of files or folders, or local paths when ``destination`` is an http(s) address.
    client : of the service that is asked; without one the closed-form rules decide.
    logbook : where the records go; ``None`` keeps them in the report alone.
    meter : of this host's energy and utilisation; the server is then asked for that of its own end.
    manifest : list of files to copy instead of what the sources' indexes say.

    Raises
    ------
    AgentError : nothing could be begun. What goes wrong with single files is in the report.
    """
    prepared = prepare(sources, destination, options=options, client=client, manifest=manifest)
    return run(prepared, logbook=logbook, meter=meter, on_snapshot=on_snapshot)


def prepare(
    sources: Sequence[str],
    destination: str,
    *,
    options: CopyOptions | None = None,
    client: Client | None = None,
    manifest: str | None = None,
) -> PreparedCopy:
    """List the files, look at the path and decide on the parameters; nothing is moved."""
    options = options or CopyOptions()
    listing = list_files(sources, destination, manifest=manifest, options=options.engine)
    host = listing.remote.host
    here, there = options.source, options.destination
    if listing.direction is Direction.UPLOAD:
        names = (here or socket.gethostname(), there or host)
    else:
        names = (here or host, there or socket.gethostname())
    path = Path(bandwidth_bps=options.bandwidth_bps, rtt_s=options.rtt_s or _timed(listing, options.engine))
    plan, notes = plan_copy(listing, path, names, options, client)
    return PreparedCopy(
        listing=listing,
        plan=plan,
        path=path,
        source=names[0],
        destination=names[1],
        options=options,
        notes=notes,
    )


def run(
    prepared: PreparedCopy,
    *,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
) -> CopyReport:
    """Move what was prepared, and log it."""
    if not prepared.options.resume:
        _discard_parts(prepared.listing)
    movement = move(
        prepared.listing.jobs,
        prepared.plan.chunks,
        prepared.options.engine,
        meter=meter,
        host=Host.SOURCE if prepared.listing.direction is Direction.UPLOAD else Host.DESTINATION,
        transfer_id=prepared.plan.transfer_id,
        on_snapshot=None if on_snapshot is None else lambda snapshot: on_snapshot(snapshot, prepared),
    )
    path = _path_seen(prepared.path, movement, prepared.options)
    records = _records(prepared, movement, path)
    result = movement.result
    failures = [Failure(failure.url, failure.reason) for failure in result.failures]
    if result.stopped is not None:
        failures.insert(0, Failure("the transfer", str(result.stopped)))
    return CopyReport(
        plan=prepared.plan,
        status=_status(movement),
        source=prepared.source,
        destination=prepared.destination,
        path=path,
        bytes_moved=result.bytes_moved,
        files_done=result.files_done,
        files_skipped=result.files_skipped,
        failures=tuple(failures),
        duration_s=result.duration_s,
        energy=movement.energy,
        usage=movement.usage,
        work=movement.metered.work if movement.metered else None,
        other_work=movement.other_end.work if movement.other_end else None,
        records=records,
        log=keep_records(logbook, records),
        notes=(*prepared.notes, *_notes(movement)),
    )


def _timed(listing: Listing, options: EngineOptions) -> float | None:
    """RTT by connect time; not through a proxy, whose handshake says nothing of the path behind it."""
    if options.proxies.leading_to(listing.remote) is not None:
        return None
    return connect_time_s(listing.remote.host, listing.remote.port)


def _discard_parts(listing: Listing) -> None:
    for job in listing.jobs:
        if not isinstance(job, DownloadJob):
            raise CopyFailed("unfinished uploads are kept by the receiver, which always goes on with them")
        PartFile(job.destination).discard()


def _path_seen(path: Path, movement: Movement, options: CopyOptions) -> Path:
    """The path with what the transfer's own connections saw.

    A round trip far below the one that the user stated is that to a middle box: it says nothing of the path.
    """
    seen = movement.last.path
    least_s = seen.min_rtt_s
    if options.rtt_s is not None and least_s is not None and least_s < options.rtt_s / 2:
        least_s = None
    return replace(path, rtt_s=path.rtt_s or seen.rtt_s, min_rtt_s=least_s)


def _records(prepared: PreparedCopy, movement: Movement, path: Path) -> tuple[TransferRecord, ...]:
    # Parts of files that all failed measure no transfer; those of one that the user cut short do.
    measured = movement.result.files_done or (movement.cancelled and movement.result.bytes_moved)
    if not measured:
        return ()
    listing = prepared.listing
    identity = Identity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=Mover(MOVER, agent_version()),
        protocol=listing.remote.scheme,
        direction=listing.direction,
        network=prepared.options.network,
        sla=write_agreement(prepared.options.sla),
    )
    whole, chunks = moved_of(prepared.plan, listing, movement, _status(movement))
    return records_of(identity, whole, chunks, path=path, energy=movement.energy, usage=movement.usage)


def agent_version() -> str | None:
    """Version of the installed agent; ``None`` where it runs from a source tree."""
    try:
        return version("tradewind-agent")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None


def _status(movement: Movement) -> Status:
    if movement.cancelled:
        return Status.CANCELLED
    return Status.SUCCEEDED if movement.result.succeeded else Status.FAILED


def _notes(movement: Movement) -> tuple[str, ...]:
    if movement.metered is None or movement.metered.failure is None:
        return ()
    return (f"energy was not measured to the end: {movement.metered.failure}",)


def keep_records(logbook: Logbook | None, records: tuple[TransferRecord, ...]) -> str:
    """What became of the records; a log that cannot be kept is no failure of what was moved."""
    if logbook is None:
        return "kept in the report"
    try:
        return logbook.keep(records)
    except AgentError as failure:
        return f"lost: {failure}"

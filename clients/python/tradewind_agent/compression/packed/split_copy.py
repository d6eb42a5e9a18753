"""A copy with ``--compress``: what is better packed is packed, the rest goes by the engine as without it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tradewind.transfer import Status
from tradewind.units import compute_throughput_bps
from tradewind_agent.compression.observations import observe_samples
from tradewind_agent.compression.packed.connection_pool import ConnectionPool
from tradewind_agent.compression.packed.logged import OnMoved, PackedCopyOutcome, run_packed_copy, store_observations
from tradewind_agent.compression.packing_choice import PackingChoice, choose_packing, choose_packing_all
from tradewind_agent.compression.planning import RAW, PackingMode
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.omissions_report import build_omissions_document, describe_omissions
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.report import CopyReport
from tradewind_agent.copy.run import run
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client

_SUMS = ("bytes_moved", "files_done", "files_skipped", "files_failed", "duration_s", "packed_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCopy:
    """The outcome: of the files that went by the engine, and of those that were packed; at least one of them."""

    by_engine: CopyReport | None = None
    packed: PackedCopyOutcome | None = None
    notes: tuple[str, ...] = ()
    listing: Listing

    @property
    def reports(self) -> tuple[CopyReport, ...]:
        packed = None if self.packed is None else self.packed.copy
        return tuple(each for each in (self.by_engine, packed) if each is not None)

    @property
    def status(self) -> Status:
        """That of the part that went worst."""
        found = {each.status for each in self.reports}
        return next(each for each in (Status.CANCELLED, Status.FAILED, Status.SUCCEEDED) if each in found)

    @property
    def left_out(self) -> tuple[Omission, ...]:
        return self.listing.left_out

    @property
    def accepted(self) -> tuple[Omission, ...]:
        return self.listing.accepted

    @property
    def is_complete(self) -> bool:
        """Return whether everything that the sources hold is at the destination, but for what the user left out."""
        return self.status is Status.SUCCEEDED and not self.left_out

    @property
    def all_notes(self) -> tuple[str, ...]:
        return (*self.notes, *(note for each in self.reports for note in each.notes))

    def format_line(self) -> str:
        """Return a line for each part."""
        lines = "\n".join(each.format_line() for each in (self.by_engine, self.packed) if each is not None)
        return f"{lines}{describe_omissions(self)}"

    def build_document(self) -> dict[str, Any]:
        """That of the part where there is one; of two the sums, and both of them as ``parts``."""
        parts = [] if self.by_engine is None else [_to_packed_document(self.by_engine)]
        if self.packed is not None:
            parts.append(self.packed.build_document())
        if len(parts) == 1:
            return parts[0] | build_omissions_document(self)
        sums = {name: sum(part[name] for part in parts) for name in _SUMS}
        rate_bps = compute_throughput_bps(sums["bytes_moved"], sums["duration_s"]) if sums["duration_s"] > 0 else 0.0
        unpacked_bytes = sum(part["ratio"] * part["packed_bytes"] for part in parts)
        used: dict[str, int] = {}
        for part in parts:
            for setting, plain_bytes in part["used"].items():
                used[setting] = used.get(setting, 0) + plain_bytes
        return {
            "status": str(self.status),
            "source": parts[0]["source"],
            "destination": parts[0]["destination"],
            **sums,
            "throughput_bps": rate_bps,
            "ratio": unpacked_bytes / sums["packed_bytes"] if sums["packed_bytes"] else 1.0,
            "used": used,
            "failures": [failure for part in parts for failure in part["failures"]],
            **build_omissions_document(self),
            "notes": list(self.all_notes),
            "parts": parts,
        }


def run_split_copy(
    listing: Listing,
    mode: PackingMode,
    options: CopyOptions,
    *,
    limiter: ResourceLimiter,
    client: "Client | None" = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    say: Callable[[str], None] = lambda _: None,
    on_moved: OnMoved | None = None,
) -> SplitCopy:
    """Copy the files, measure it and log it, the engine's part first: what it may be refused ends the copy unbegun.

    Parameters
    ----------
    options : without those that only the engine can honour.
    client : of the service that recommends parameters and codecs, and receives observations of the files.
    on_moved : called with plain bytes and finished files.

    Raises
    ------
    CodecMissing : this host lacks the codec that was asked for.
    AgentError : nothing could be started.
    """
    with closing(ConnectionPool()) as connections:
        chosen = _choose(listing, mode, options, client, connections)
        for note in chosen.notes:
            say(note)
        transfer_id = chosen.prepared.plan.transfer_id
        seen = () if logbook is None else observe_samples(chosen.looked, transfer_id)
        notes = store_observations(logbook, transfer_id, seen)
        by_engine = packed = None
        before = (0, 0)
        if (plain := chosen.select_part(packed=False)) is not None:
            connections.close()  # the engine has its own, and may take long
            by_engine = run(
                replace(chosen.prepared, listing=plain),
                client=client,
                logbook=logbook,
                meter=meter,
                on_snapshot=None if on_moved is None else lambda seen, _: _report_progress(seen, on_moved),
                say=say,
                limiter=limiter,
            )
            before = (by_engine.bytes_moved, len(plain.jobs))
        to_pack = chosen.select_part(packed=True)
        if to_pack is not None and (by_engine is None or by_engine.status is not Status.CANCELLED):
            packed = run_packed_copy(
                to_pack,
                mode,
                options,
                chosen=chosen,
                connections=connections,
                limiter=limiter,
                logbook=logbook,
                meter=meter,
                on_moved=None if on_moved is None else lambda now, over: on_moved(before[0] + now, before[1] + over),
            )
    return SplitCopy(by_engine=by_engine, packed=packed, notes=notes, listing=listing)


def _choose(
    listing: Listing, mode: PackingMode, options: CopyOptions, client: "Client | None", connections: ConnectionPool
) -> PackingChoice:
    if mode.is_adaptive:
        return choose_packing(listing, options, client, connections)
    return choose_packing_all(listing, options, client)


def _report_progress(seen: Snapshot, on_moved: OnMoved) -> None:
    on_moved(seen.moved_bytes, seen.files_done + seen.files_skipped + seen.files_failed)


def _to_packed_document(report: CopyReport) -> dict[str, Any]:
    """Return the engine's part, in the words of packed ones."""
    used = {RAW: report.bytes_moved} if report.bytes_moved else {}
    return report.build_document() | {"packed_bytes": report.bytes_moved, "ratio": 1.0, "used": used}

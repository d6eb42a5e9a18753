"""A packed copy by itself: no service, no log, no tuning; for measurements of packing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.compression.cores import LEAST_AT_ONCE
from tradewind_agent.compression.options import PackedOutcome
from tradewind_agent.compression.packed.packing_host import PackedTotals, PackingHost
from tradewind_agent.compression.packed.report import PackedBytes
from tradewind_agent.compression.packed.stage import PackingStage
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.moving import Movement, move
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import AgentError


@dataclass(slots=True, kw_only=True)
class PackedReport(PackedBytes):
    """What came of a packed copy.

    ``moved_bytes`` : plain bytes that went over the path, also of files that were not finished, without what was
    discarded of the ``restarted_files``.
    ``permitted_files`` : connections at once, of a server that has refused more.
    ``stopped`` : what ended all of it early, such as a full disk; ``cancelled`` : the user.
    """

    files_done: int = 0
    files_skipped: int = 0
    moved_bytes: int = 0
    duration_s: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)
    restarted_files: list[str] = field(default_factory=list)
    permitted_files: int | None = None
    stopped: AgentError | None = None
    cancelled: bool = False

    @property
    def succeeded(self) -> bool:
        return not self.failures and not self.cancelled and self.stopped is None


def copy_packed(
    listing: Listing,
    mode: PackingMode,
    options: EngineOptions,
    *,
    advised: Mapping[Job, FileAdvice] | None = None,
    line_bps: float | None = None,
    files_at_once: int = LEAST_AT_ONCE,
    on_outcome: Callable[[PackedOutcome], None] = lambda _: None,
    on_snapshot: Callable[[Snapshot], None] | None = None,
) -> PackedReport:
    """Copy all files of ``listing``; what goes wrong with one is in the report.

    Raises
    ------
    CodecMissing : this host lacks the codec that was requested.
    """
    advised = dict.fromkeys(listing.jobs, FileAdvice()) if advised is None else advised
    at_once = max(min(files_at_once, len(listing.jobs)), 1)
    host = PackingHost(at_once, on_outcome=on_outcome)
    plan = [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=at_once, parallelism=1, pipelining=1))]
    with PackingStage(mode, advised, host, line_bps=line_bps, at_once=at_once) as stage:
        movement = move(listing.jobs, plan, options, stage=stage, on_snapshot=on_snapshot)
    return _build_report(movement, host.totals)


def _build_report(movement: Movement, totals: PackedTotals) -> PackedReport:
    result = movement.result
    moved = totals.add_plain_files(result.bytes_moved)
    return PackedReport(
        plain_bytes=moved.plain_bytes,
        packed_bytes=moved.packed_bytes,
        used=moved.used,
        files_done=result.files_done,
        files_skipped=result.files_skipped,
        moved_bytes=result.bytes_moved,
        duration_s=result.duration_s,
        failures=[(failure.url, failure.reason) for failure in result.failures],
        restarted_files=totals.restarted_files,
        permitted_files=min((known.count for known in result.permitted.values()), default=None),
        stopped=result.stopped,
        cancelled=movement.cancelled,
    )

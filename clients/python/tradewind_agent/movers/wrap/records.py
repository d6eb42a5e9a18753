"""The transfer record of a wrapped tool: one row for the entire run."""

from dataclasses import replace

from tradewind.dataset import ChunkKind, DataSet
from tradewind.failure import Failure, FailureKind
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps, format_count
from tradewind_agent.failure_kinds import describe_failure
from tradewind_agent.movers.port import ToolResult, Workload
from tradewind_agent.movers.wrap.run_tool import ToolOutcome
from tradewind_agent.session.other_end import collect_energy
from tradewind_agent.session.records import LEAST_DURATION, MovedChunk
from tradewind_agent.session.transfer_session import TransferSession


def find_status(ran: ToolOutcome, result: ToolResult | None) -> Status:
    """Return the status of a run; a file that has failed counts, though the tool ends with 0 all the same."""
    if ran.stopped_by is not None:
        return Status.CANCELLED
    has_failed = ran.code != 0 or (result is not None and result.files_failed > 0)
    return Status.FAILED if has_failed else Status.SUCCEEDED


def find_failure(ran: ToolOutcome, result: ToolResult | None) -> Failure | None:
    """Return why a run failed, as far as its tool says so; ``None`` where it succeeded."""
    match find_status(ran, result):
        case Status.SUCCEEDED:
            return None
        case Status.CANCELLED:
            return describe_failure("the user stopped it", kind=FailureKind.CANCELLED)
    failed = f", {format_count(result.files_failed, 'file')} failed" if result is not None else ""
    return describe_failure(f"the tool ended with status {ran.code}{failed}", kind=FailureKind.OTHER)


def make_records(
    session: TransferSession,
    ran: ToolOutcome,
    result: ToolResult | None,
    *,
    workload: Workload | None,
    parameters: Parameters,
    path: Path,
) -> tuple[TransferRecord, ...]:
    """Return the row of a run; none where the tool does not say what it moved, or had nothing to do."""
    if result is None or (ran.code == 0 and not (result.bytes_moved or result.files_failed)):
        return ()
    outcome = TransferOutcome(
        status=find_status(ran, result),
        bytes_moved=result.bytes_moved,
        files_done=result.files_done,
        files_failed=result.files_failed,
        throughput_bps=compute_throughput_bps(result.bytes_moved, max(ran.duration_s, LEAST_DURATION.total_seconds())),
    )
    total = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=_describe_dataset(workload, result),
        parameters=parameters,
        started_at=ran.started_at,
        ended_at=ran.ended_at,
        outcome=outcome,
    )
    metered = ran.metered
    return session.build_records(
        total, path=path, energy=collect_energy(metered), usage=metered.usage if metered is not None else None
    )


def restrict_to_known(main: Parameters, current_parameters: Parameters) -> Parameters:
    """Return ``main``, which moved most bytes, restricted to settings that ``current_parameters`` knows."""
    known = {name: getattr(main, name) for name in current_parameters.list_known() if getattr(main, name) is not None}
    return replace(current_parameters, **known)


def _describe_dataset(workload: Workload | None, result: ToolResult) -> DataSet:
    """Return what was listed, if that is what was moved; else what was moved."""
    if workload is not None and workload.is_exact and sum(workload.sizes_bytes) == result.bytes_moved:
        return DataSet.of_sizes(workload.sizes_bytes)
    return DataSet(file_count=max(result.files_done + result.files_failed, 1), total_bytes=result.bytes_moved)

"""What a log says of one transfer, and the record that it makes."""

from dataclasses import dataclass
from datetime import datetime

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import Direction, LinkKey, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.history.importers.fields import check_instant
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.ports import ImportContext


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTransfer:
    """One transfer in the values of the record.

    ``mover`` : its program, unless the user names another.
    ``files_done`` : all files of a success and none of a failure, where the log does not count them.
    ``rate_bps`` : where the log has a better one than bytes over duration.
    """

    started_at: datetime
    ended_at: datetime
    source: str
    destination: str
    mover: str
    direction: Direction
    status: Status
    moved_bytes: int
    total_bytes: int
    protocol: str = "unknown"
    version: str | None = None
    file_count: int = 1
    files_done: int | None = None
    rate_bps: float | None = None
    retransmitted_bytes: int | None = None
    path: Path = UNKNOWN_PATH
    parameters: Parameters = UNKNOWN_PARAMETERS
    store: str | None = None

    def to_record(self, line: Line, context: ImportContext) -> TransferRecord:
        """Return the record of a transfer whose last line, or only one, is ``line``.

        Raises
        ------
        InvalidValue : it ended before it started, or outside 1990 to 2100.
        """
        started_at = check_instant("started_at", self.started_at)
        ended_at = check_instant("ended_at", self.ended_at)
        if ended_at <= started_at:
            raise InvalidValue("ended_at", "is not after started_at")
        succeeded = self.status is Status.SUCCEEDED
        done = (self.file_count if succeeded else 0) if self.files_done is None else self.files_done
        rate_bps = self.rate_bps
        if rate_bps is None:
            rate_bps = compute_throughput_bps(self.moved_bytes, (ended_at - started_at).total_seconds())
        mover = Mover(context.mover or self.mover, self.version)
        return TransferRecord(
            id=compute_record_id(
                LinkKey(self.source, self.destination, context.network, mover.name), line.number, line.text
            ),
            started_at=started_at,
            ended_at=ended_at,
            source=self.source,
            destination=self.destination,
            mover=mover,
            protocol=self.protocol,
            direction=self.direction,
            dataset=DataSet(file_count=self.file_count, total_bytes=self.total_bytes),
            outcome=TransferOutcome(
                status=self.status,
                bytes_moved=self.moved_bytes,
                files_done=done,
                files_failed=0 if succeeded else max(self.file_count - done, 0),
                throughput_bps=rate_bps,
                retransmitted_bytes=self.retransmitted_bytes,
            ),
            path=self.path.complete_from(context.path),
            parameters=self.parameters,
            store=self.store,
            network=context.network,
        )

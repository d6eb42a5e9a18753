"""Records for tests of the agent."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tradewind.dataset import DataSet
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Mover, Status, TransferOutcome, TransferRecord
from tradewind.wire.records import WireRecord

START = datetime(2024, 5, 1, tzinfo=UTC)


def record(number: int) -> TransferRecord:
    """The ``number``-th of a series of transfers, always the same."""
    started = START + timedelta(minutes=number)
    return TransferRecord(
        id=UUID(int=number),
        started_at=started,
        ended_at=started + timedelta(seconds=8),
        source="alpha",
        destination="beta",
        mover=Mover("tradewind", "0.1.0"),
        protocol="http",
        direction=Direction.DOWNLOAD,
        dataset=DataSet(file_count=10, total_bytes=10_000_000),
        outcome=TransferOutcome(
            status=Status.SUCCEEDED, bytes_moved=10_000_000, files_done=10, files_failed=0, throughput_bps=1e7
        ),
        parameters=Parameters(concurrency=4, parallelism=1, pipelining=8),
    )


def records(count: int, first: int = 1) -> list[TransferRecord]:
    return [record(number) for number in range(first, first + count)]


def lines(count: int, first: int = 1) -> list[bytes]:
    return [WireRecord.from_domain(each).to_line() for each in records(count, first)]

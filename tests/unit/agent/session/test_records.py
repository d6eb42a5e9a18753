from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from tests.unit.agent.records import START
from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, ResourceUsage, Status, TransferOutcome
from tradewind.wire.records import WireRecord, parse_row
from tradewind_agent.session.records import MovedChunk, TransferIdentity, build_records

IDENTITY = TransferIdentity(
    transfer_id=UUID(int=1),
    source="alpha",
    destination="beta",
    mover=Mover("tradewind"),
    protocol="https",
    direction=Direction.DOWNLOAD,
)
READING = EnergyReading(
    host=Host.DESTINATION,
    total_j=100.0,
    dynamic_j=40.0,
    base_w=6.0,
    method=EnergyMethod.RAPL,
    quality=EnergyQuality.MEASURED,
)


def moved(chunk, bytes_moved, duration_s=10.0):
    return MovedChunk(
        chunk=chunk,
        dataset=DataSet(file_count=2, total_bytes=bytes_moved),
        parameters=Parameters(concurrency=2),
        started_at=START,
        ended_at=START + timedelta(seconds=duration_s),
        outcome=TransferOutcome(
            status=Status.SUCCEEDED,
            bytes_moved=bytes_moved,
            files_done=2,
            files_failed=0,
            throughput_bps=8 * bytes_moved / max(duration_s, 1e-6),
        ),
    )


def test_chunks_that_ran_together_share_the_energy_by_their_bytes_and_say_that_this_is_assumed():
    rows = build_records(
        IDENTITY,
        moved(ChunkKind.WHOLE, 1000),
        [moved(ChunkKind.SMALL, 250), moved(ChunkKind.LARGE, 750)],
        path=Path(),
        energy=(READING,),
        usage=ResourceUsage(cpu=0.5),
    )
    whole, small, large = rows
    assert whole.energy == (READING,)
    assert [row.energy[0].total_j for row in (small, large)] == [25.0, 75.0]
    assert [row.energy[0].dynamic_j for row in (small, large)] == [10.0, 30.0]
    assert small.energy[0].quality is EnergyQuality.ASSUMED
    assert small.energy[0].base_w + large.energy[0].base_w == READING.base_w
    assert {row.usage for row in rows} == {ResourceUsage(cpu=0.5)}


def test_a_chunk_that_ran_alone_has_the_energy_as_it_was_measured():
    whole, chunk = build_records(
        IDENTITY, moved(ChunkKind.WHOLE, 1000), [moved(ChunkKind.LARGE, 1000)], path=Path(), energy=(READING,)
    )
    assert whole.energy == chunk.energy == (READING,)


def test_an_end_that_was_not_metered_has_no_reading():
    rows = build_records(IDENTITY, moved(ChunkKind.WHOLE, 1000), [moved(ChunkKind.SMALL, 1000)], path=Path())
    assert all(row.energy == () for row in rows)


def test_one_setting_for_everything_is_one_row():
    whole = moved(ChunkKind.WHOLE, 1000)
    assert [row.chunk for row in build_records(IDENTITY, whole, [whole], path=Path())] == [ChunkKind.WHOLE]


def test_the_same_transfer_makes_the_same_ids():
    parts = (moved(ChunkKind.WHOLE, 1000), [moved(ChunkKind.SMALL, 1000)])
    first, second = (build_records(IDENTITY, *parts, path=Path()) for _ in range(2))
    assert [row.id for row in first] == [row.id for row in second]
    other = build_records(replace(IDENTITY, transfer_id=UUID(int=2)), *parts, path=Path())
    assert not {row.id for row in first} & {row.id for row in other}


@pytest.mark.parametrize(("bandwidth_bps", "kept"), [(800.0, 800.0), (763.0, 763.0), (700.0, None)])
def test_a_stated_bandwidth_is_stored_unless_the_transfer_exceeded_it(bandwidth_bps, kept):
    (row,) = build_records(
        IDENTITY, moved(ChunkKind.WHOLE, 1000), [], path=Path(bandwidth_bps=bandwidth_bps, rtt_s=0.1)
    )
    assert row.path == Path(bandwidth_bps=kept, rtt_s=0.1)
    assert parse_row(WireRecord.from_domain(row).to_line()).to_record() == row


def test_a_transfer_too_short_for_the_clock_still_ends_after_it_starts():
    (row,) = build_records(IDENTITY, moved(ChunkKind.WHOLE, 1, duration_s=0.0), [], path=Path())
    assert row.ended_at > row.started_at


def test_the_record_of_the_entire_alone_carries_the_quote():
    quoted = replace(IDENTITY, quote="0.012300 EUR")
    rows = build_records(
        quoted,
        moved(ChunkKind.WHOLE, 1000),
        [moved(ChunkKind.SMALL, 250), moved(ChunkKind.LARGE, 750)],
        path=Path(),
    )
    assert [row.quote for row in rows] == ["0.012300 EUR", None, None]

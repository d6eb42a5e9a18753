import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, ResourceUsage, Status, TransferOutcome, TransferRecord
from tradewind.wire.base import describe_validation_error
from tradewind.wire.billing import StatementDue
from tradewind.wire.customers import SpendingLimit
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.pricing import WirePriceModel
from tradewind.wire.recommendations import RecommendRequest, WireTable, serialize_table
from tradewind.wire.records import WireRecord, parse_row
from tradewind.wire.warehouse import CUT_METADATA, ROW_LIMIT_HEADER, TIME_LIMIT_HEADER

FULL = TransferRecord(
    id=UUID("018f0000-0000-7000-8000-000000000001"),
    started_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    ended_at=datetime(2026, 3, 1, 12, 0, 9, tzinfo=UTC),
    source="origin",
    destination="laptop",
    network="campus",
    mover=Mover("tradewind", "0.1.0"),
    protocol="http",
    direction=Direction.DOWNLOAD,
    path=Path(bandwidth_bps=1e8, rtt_s=0.06, min_rtt_s=0.055, loss_rate=1e-4, buffer_bytes=4e6),
    dataset=DataSet(
        file_count=300,
        total_bytes=30_000_000,
        min_file_bytes=50_000,
        max_file_bytes=150_000,
        sd_file_bytes=2.5e4,
        content_type="html",
    ),
    parameters=Parameters(
        concurrency=8,
        parallelism=2,
        pipelining=4,
        io_block_bytes=65_536,
        part_bytes=8_388_608,
        cores=2,
        frequency_hz=2.3e9,
        memory_bytes=2**30,
        disk_bps=1e9,
        nic_bps=1e10,
        codec="zstd",
        congestion_control="cubic",
    ),
    outcome=TransferOutcome(
        status=Status.SUCCEEDED,
        bytes_moved=30_000_000,
        files_done=300,
        files_failed=0,
        throughput_bps=2.6e7,
        retransmitted_bytes=1460,
    ),
    usage=ResourceUsage(cpu=0.2, memory=0.1, disk=0.05, nic=0.3),
    energy=(
        EnergyReading(
            host=Host.DESTINATION,
            total_j=120.0,
            dynamic_j=-1.0,
            base_w=13.0,
            tail_j=0.5,
            method=EnergyMethod.CPU_MODEL,
            quality=EnergyQuality.ASSUMED,
        ),
    ),
    chunk=ChunkKind.SMALL,
    transfer_id=UUID("018f0000-0000-7000-8000-000000000002"),
    sla="min_energy",
    quote="q1",
)

MINIMAL = {
    "id": str(uuid4()),
    "started_at": "2026-03-01T12:00:00+01:00",
    "ended_at": "2026-03-01T12:00:10+01:00",
    "source": "a",
    "destination": "b",
    "mover": {"name": "rclone"},
    "protocol": "sftp",
    "direction": "upload",
    "dataset": {"file_count": 1, "total_bytes": 10},
    "outcome": {"status": "failed", "bytes_moved": 0, "files_done": 0, "files_failed": 1, "throughput_bps": 0},
}

READING = {"host": "source", "total_j": 1, "method": "rapl", "quality": "measured"}


def line(**changes) -> bytes:
    row = json.loads(json.dumps(MINIMAL))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        target = row
        for parent in parents:
            target = target.setdefault(parent, {})
        if value is ...:
            del target[last]
        else:
            target[last] = value
    return json.dumps(row).encode()


def test_a_full_record_survives_the_wire():
    assert parse_row(WireRecord.from_domain(FULL).to_line()).to_record() == FULL


def test_absent_stays_unknown():
    record = parse_row(line()).to_record()
    assert record.parameters == Parameters()
    assert record.path == Path()
    assert record.energy == ()
    assert b"concurrency" not in WireRecord.from_domain(record).to_line()


METERED = {"host": "source", "total_j": 1, "method": "rapl", "quality": "measured"}


@pytest.mark.parametrize("dynamic_j", [-0.5, 0, 1, 1 + 1e-7])
def test_energy_above_the_base_is_a_part_of_the_total_as_far_as_it_was_rounded(dynamic_j):
    (reading,) = parse_row(line(energy=[METERED | {"dynamic_j": dynamic_j}])).energy
    assert reading.dynamic_j == dynamic_j


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"source": ...}, "source"),
        ({"outcome__throughput_bps": -1}, "outcome.throughput_bps"),
        ({"outcome__throughput_bps": float("nan")}, "outcome.throughput_bps"),
        ({"outcome__throughput_mbps": 5}, "outcome.throughput_mbps"),
        ({"ended_at": "2026-03-01T12:00:00+01:00"}, "ended_at"),
        ({"started_at": "2026-03-01T12:00:00"}, "started_at"),
        ({"path__bandwidth_bps": 1e6, "outcome__throughput_bps": 2e6}, "outcome.throughput_bps"),
        ({"parameters__concurrency": 0}, "parameters.concurrency"),
        ({"parameters__concurrency": 1.5}, "parameters.concurrency"),
        ({"dataset__file_count": 0}, "dataset.file_count"),
        ({"mover": {}}, "mover.name"),
        ({"direction": "sideways"}, "direction"),
        ({"source": ""}, "source"),
        ({"source": "x" * 201}, "source"),
        ({"id": "not-a-uuid"}, "id"),
        ({"outcome__bytes_moved": 2**63}, "outcome.bytes_moved"),
        ({"outcome__throughput_bps": 1.7e308}, "outcome.throughput_bps"),
        ({"dataset__sd_file_bytes": 1.7e308}, "dataset.sd_file_bytes"),
        (
            {"energy": [READING | {"total_j": 1.7e308}]},
            "energy.0.total_j",
        ),
        (
            {
                "energy": [
                    {"host": "source", "total_j": 1, "dynamic_j": -1.7e308, "method": "rapl", "quality": "measured"}
                ]
            },
            "energy.0.dynamic_j",
        ),
        ({"energy": [{"host": "moon", "total_j": 1, "method": "rapl", "quality": "measured"}]}, "energy.0.host"),
        ({"energy": [METERED | {"dynamic_j": 1.001}]}, "energy.0.dynamic_j"),
    ],
)
def test_a_bad_row_names_its_field(changes, field):
    with pytest.raises(InvalidValue) as refused:
        parse_row(line(**changes))
    assert refused.value.field == field
    assert refused.value.reason


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(raw):
    with pytest.raises(InvalidValue):
        parse_row(raw)


@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=30)))
def test_durations_survive_to_the_microsecond(duration):
    started = datetime(2026, 1, 1, tzinfo=UTC)
    row = line(started_at=started.isoformat(), ended_at=(started + duration).isoformat())
    assert parse_row(row).to_record().duration_s == pytest.approx(duration.total_seconds(), abs=1e-6)


def test_a_request_without_histogram_is_one_bin_of_its_mean():
    request = RecommendRequest.model_validate(
        {
            "source": "a",
            "destination": "b",
            "dataset": {"file_count": 3, "total_bytes": 100},
            "sla": {"kind": "deadline", "target": 60},
        }
    )
    (only,) = request.dataset.list_bins()
    assert (only.max_file_bytes, only.file_count, only.total_bytes) == (34, 3, 100)
    assert request.sla.to_sla().confidence == 0.9


def test_a_compact_table_survives_the_wire():
    raw = {
        "settings": [
            {
                "parameters": {"concurrency": 4},
                "log_throughput_mean": 18.0,
                "log_throughput_sd": 0.1,
                "power_w_mean": 20.0,
                "power_log_sd": 0.1,
                "log_covariance": 0.01,
                "certified": True,
            }
        ],
        "queueing_delay_p90_s": {"4": 0.02},
        "loss_baseline": 1e-4,
        "bank_limit_bits": 1e8,
        "base_power_w": 12.0,
    }
    table = WireTable.model_validate(raw).to_table()
    assert WireTable.model_validate_json(serialize_table(table)) == WireTable.model_validate(raw)
    assert table.predicted.base_power_w == 12.0
    assert table.predicted.settings[0].log_power_mean == pytest.approx(math.log(20.0) - 0.1**2 / 2)  # that of a mean
    assert table.queueing_delay_p90_s == {4: 0.02}


def test_a_heartbeat_carries_every_chunk():
    beat = {
        "sequence": 0,
        "at": "2026-03-01T12:00:00Z",
        "interval_s": 5,
        "bytes_moved": 0,
        "throughput_bps": 0,
        "remaining_bytes": 10,
        "remaining_files": 1,
        "parameters": {"concurrency": 2},
        "chunks": [
            {"chunk": "small", "parameters": {"concurrency": 2}, "throughput_bps": 0, "remaining_bytes": 10},
        ],
    }
    assert Heartbeat.model_validate(beat).chunks[0].chunk is ChunkKind.SMALL


@pytest.mark.parametrize(
    ("field", "value"),
    [("bandwidth_bps", 1e300), ("rtt_s", 1e300), ("rtt_s", 1e-300), ("min_rtt_s", 1e6), ("buffer_bytes", 1e-300)],
)
def test_a_path_that_no_network_has_is_refused(field, value):
    row = json.loads(WireRecord.from_domain(FULL).to_line())
    row["path"][field] = value
    with pytest.raises(InvalidValue) as refused:
        parse_row(json.dumps(row).encode())
    assert refused.value.field == f"path.{field}"


def test_list_that_is_too_short_is_described_without_words_of_python():
    with pytest.raises(ValidationError) as wrong:
        TypeAdapter(Annotated[tuple[int, ...], Field(min_length=1)]).validate_python(())
    assert describe_validation_error(wrong.value.errors()[0]).reason == "must have at least 1 item, has 0"


def test_names_of_warehouse_headers_and_metadata_are_fixed():
    assert (ROW_LIMIT_HEADER, TIME_LIMIT_HEADER) == ("Tradewind-Row-Limit", "Tradewind-Time-Limit-S")
    assert CUT_METADATA == b"tradewind.cut"


@pytest.mark.parametrize("text", ["1_000", "\u0967", "\uff11", "1\u00a0"])
def test_amounts_have_plain_digits_without_underscores(text: str) -> None:
    with pytest.raises(ValidationError, match="must be a number such as"):
        WirePriceModel.model_validate({"base": text})
    with pytest.raises(ValidationError, match="must be a number such as"):
        SpendingLimit.model_validate({"amount": text, "currency": "EUR"})
    assert WirePriceModel.model_validate({"base": "0.05"}).base == Decimal("0.05")


def test_prices_are_written_without_exponents():
    written = json.loads(WirePriceModel(base=Decimal("0E-12"), per_gb=Decimal("1E-6")).model_dump_json())
    assert (written["base"], written["per_gb"]) == ("0", "0.000001")


@pytest.mark.parametrize(
    ("amount", "written"),
    [("0E-12", "0.000000000000"), ("1E-7", "0.0000001"), ("-0.10", "-0.10"), ("1E+3", "1000"), ("12.5", "12.5")],
)
def test_amounts_of_answers_have_all_their_digits_and_no_exponent(amount, written):
    line = StatementDue(
        currency="EUR", transfers=1, amount=amount, credit=amount, adjustment=amount, payable=amount
    ).model_dump_json()
    assert {json.loads(line)[name] for name in ("amount", "credit", "adjustment", "payable")} == {written}

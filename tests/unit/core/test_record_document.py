"""Records written without the wire models are what the models would write."""

import json
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from tests.unit.agent.records import record
from tests.unit.core.test_wire import FULL
from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.path import Path
from tradewind.record_document import to_document, to_line
from tradewind.transfer import ResourceUsage, TransferRecord
from tradewind.wire.records import WireRecord, parse_row

METERED = EnergyReading(
    host=Host.SOURCE, total_j=3.5, method=EnergyMethod.RAPL, quality=EnergyQuality.MEASURED, base_w=1.48
)
RECORDS = {
    "full": FULL,
    "little is known": record(1),
    "path and usage": replace(record(2), path=Path(rtt_s=1.5e-5), usage=ResourceUsage(cpu=0.5), energy=(METERED,)),
    "half a second": replace(record(3), ended_at=record(3).ended_at + timedelta(milliseconds=500)),
    "another zone": replace(record(4), started_at=record(4).started_at.astimezone(timezone(timedelta(hours=2)))),
    "names of another script": replace(record(5), source="Ørsted", network="光"),
}


@pytest.mark.parametrize("known", RECORDS.values(), ids=RECORDS.keys())
def test_a_document_is_that_of_the_model(known: TransferRecord) -> None:
    model = WireRecord.from_domain(known)
    assert to_document(known) == model.model_dump(mode="json", exclude_none=True)
    assert list(to_document(known)) == list(model.model_dump(mode="json", exclude_none=True))


@pytest.mark.parametrize("known", RECORDS.values(), ids=RECORDS.keys())
def test_a_line_is_read_as_that_of_the_model(known: TransferRecord) -> None:
    line, model = to_line(known), WireRecord.from_domain(known)
    assert json.loads(line) == json.loads(model.to_line())
    assert parse_row(line) == model
    assert line.endswith(b"}\n")


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    broken = replace(record(1), outcome=replace(record(1).outcome, throughput_bps=float("nan")))
    with pytest.raises(ValueError, match="JSON"):
        to_line(broken)

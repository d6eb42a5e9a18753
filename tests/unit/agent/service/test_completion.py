"""Ends of transfers whose samples the service does not take all: what can be stored is, what cannot is kept aside."""

import json
from dataclasses import dataclass, field
from dataclasses import replace as replaced

import pytest

from tests.unit.agent.records import record
from tests.unit.agent.session.test_ticks_on_disk import TRANSFER, tick
from tradewind.wire.heartbeats import Completion, CompletionReceipt
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import ServiceUnreachable, build_error
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.service.completion import MOST_REFUSALS
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.tuning.wire_ticks import to_spooled

RECORD = WireRecord.from_domain(replaced(record(1), transfer_id=TRANSFER))


@dataclass
class Choosy:
    """Refuses every completion with one of the ``unwanted`` ticks; names it where it ``names``."""

    unwanted: set[int]
    names: bool = False
    calls: int = 0
    stored: list[int] = field(default_factory=list)
    records: int = 0

    def complete(self, transfer_id, completion: Completion) -> CompletionReceipt:
        assert transfer_id == TRANSFER
        self.calls += 1
        sequences = [each.heartbeat.sequence for each in completion.heartbeats]
        errors = [
            {"field": f"heartbeats.{at}.heartbeat.rtt_s", "reason": "must be below an hour"}
            for at, sequence in enumerate(sequences)
            if sequence in self.unwanted
        ]
        if errors:
            raise build_error(422, {"title": "Invalid value", "errors": errors if self.names else []})
        self.stored += sequences
        self.records = len(completion.records)
        return CompletionReceipt(accepted=1, rejected=0, heartbeats=len(sequences), ended_at=RECORD.ended_at)

    def upload_lines(self, *_):
        raise AssertionError("records went as plain logs")


class Unwilling:
    """Refuses every completion in the same way."""

    def __init__(self, status):
        self.status, self.calls = status, 0

    def complete(self, *_):
        self.calls += 1
        raise build_error(self.status, {"detail": "no"})


@pytest.fixture
def spool(tmp_path):
    return TransferSpool(Spool(tmp_path, warn=pytest.fail))


def sealed(spool, count):
    spool.seal(TRANSFER, (RECORD,), [to_spooled(tick(sequence)) for sequence in range(count)])
    return spool


def read_refused_rows(spool):
    return [json.loads(line) for path in spool.list_refused() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("names", [True, False])
def test_one_tick_that_is_refused_takes_no_other_with_it(spool, names):
    service = Choosy({5}, names=names)
    delivered = sealed(spool, 20).drain(service)
    assert sorted(service.stored) == [each for each in range(20) if each != 5]
    assert service.records == 1
    assert delivered.completed == {TRANSFER}
    (row,) = read_refused_rows(spool)
    assert row["tick"]["heartbeat"]["sequence"] == 5
    assert ("rtt_s: must be below an hour" if names else "Invalid value") in row["reason"]
    assert spool.list_waiting() == ()
    (line,) = delivered.refused
    assert "refused 1 sample, first: " in line
    assert str(spool.list_refused()[0]) in line


def test_ticks_that_the_service_names_cost_one_more_question(spool):
    service = Choosy({1, 4, 7}, names=True)
    sealed(spool, 10).drain(service)
    assert service.calls == 3  # all, the records alone, what is left
    assert [row["tick"]["heartbeat"]["sequence"] for row in read_refused_rows(spool)] == [1, 4, 7]


def test_a_service_that_wants_no_tick_is_not_requested_each(spool):
    service = Choosy(set(range(2000)))
    delivered = sealed(spool, 2000).drain(service)
    assert service.calls <= 2 * MOST_REFUSALS
    assert (len(read_refused_rows(spool)), service.stored) == (2000, [])
    assert delivered.completed == {TRANSFER}


@pytest.mark.parametrize("status", [404, 405, 409, 422])
def test_records_that_are_no_completion_for_the_service_go_as_logs_and_ticks_are_stored(spool, tmp_path, status):
    service = Unwilling(status)
    delivered = sealed(spool, 8).drain(service)
    assert delivered.logged == {TRANSFER}
    assert service.calls <= 2
    assert len(read_refused_rows(spool)) == 8
    assert len(Spool(tmp_path, warn=pytest.fail).list_segments()) == 1


def test_while_the_service_is_unreachable_nothing_is_given_up(spool):
    class Away:
        def complete(self, *_):
            raise ServiceUnreachable("nobody there")

    with pytest.raises(ServiceUnreachable):
        sealed(spool, 3).drain(Away())
    assert (len(spool.list_waiting()), spool.list_refused()) == (1, ())


def test_the_user_is_reported_of_samples_that_were_refused(tmp_path):
    logs = Spool(tmp_path, warn=pytest.fail)
    book = Logbook(spool=logs, client=Choosy({2}, names=True))
    told = book.store(
        [replaced(record(1), transfer_id=TRANSFER)], [to_spooled(tick(sequence)) for sequence in range(4)]
    )
    assert told.startswith("uploaded, but the service refused 1 sample, first: heartbeat.rtt_s: must be below an hour")

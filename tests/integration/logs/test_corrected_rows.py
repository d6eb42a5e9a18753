"""Rows that were refused and come again: what is right by now is stored, and is theirs who brought it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.application.access.authenticate import Scope
from services.application.logs import correct_rows, quarantine_room
from services.application.logs.correct_rows import (
    QuarantinedRow,
    RejectionReason,
    dismiss_rows,
    retry_row,
    retry_rows,
)
from services.application.logs.ingest import IngestReceipt, LogBatch, ingest_logs, store_batch
from services.application.logs.lines import BodyLimits, Encoding, UploadedBody
from services.application.logs.quarantine_room import QuarantineUse
from services.application.shared.audit import Actor, ActorKind
from tests.conditions import eventually
from tests.records import ndjson, record
from tests.stack import Tenant
from tradewind.errors import NotFound

PERSON = Actor(ActorKind.USER, uuid4())


@dataclass(frozen=True)
class Later:
    """A clock that runs ahead."""

    hours: int

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(hours=self.hours)


def of_the_future() -> dict[str, Any]:
    """A record that is refused now, and not in two hours."""
    now = datetime.now(UTC)
    return record(started_at=now.isoformat(), ended_at=(now + timedelta(hours=2)).isoformat())


def refused(api: str, tenant: Tenant, *records: dict[str, Any]) -> list[QuarantinedRow]:
    """The quarantine once each of the records was uploaded and refused, with a key of its own."""
    for each in records:
        with tenant.client(api, Scope.AGENT) as agent:
            assert agent.post("/v1/logs", content=ndjson([each])).status_code == 422
    return quarantine(tenant)


def quarantine(tenant: Tenant) -> list[QuarantinedRow]:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        return sorted(uow.quarantine.list_page(limit=10), key=lambda each: each.id)


def stored_by(tenant: Tenant) -> list[tuple[str, UUID | None]]:
    """Ids of the stored records and the keys that brought them."""
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        asked = "SELECT l.id::text, b.key_id FROM transfer_logs l JOIN batches b ON b.id = l.batch_id"
        return [(row.id, row.key_id) for row in uow.connection.exec_driver_sql(asked)]


def batch_of(tenant: Tenant, *records: dict[str, Any]) -> LogBatch:
    body = UploadedBody(BytesIO(ndjson(records)), Encoding.IDENTITY, BodyLimits())
    return LogBatch(tenant_id=tenant.id, idempotency_key=None, body=body)


def ingested(tenant: Tenant, *records: dict[str, Any], hours: int) -> IngestReceipt:
    """The receipt of an upload by the newest key, which brought the last refused row, at a later time."""
    uow = tenant.parts.store.unit_of_work(tenant.id, agent_of(tenant))
    return ingest_logs(batch_of(tenant, *records), uow=uow, clock=Later(hours))


def agent_of(tenant: Tenant) -> Actor:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        return Actor(ActorKind.KEY, max(each.id for each in uow.keys.list_all()))


@pytest.mark.parametrize("together", [False, True], ids=["one", "all"])
def test_a_row_is_looked_at_again_when_it_is_tried_again_as_it_is(api: str, tenant: Tenant, *, together: bool) -> None:
    told = of_the_future()
    (row,) = refused(api, tenant, told)
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        if together:
            retry_rows(RejectionReason(row.field, row.reason), uow=uow, clock=Later(2))
        else:
            retry_row(row.id, str(row.raw), uow=uow, clock=Later(2))
    assert [found for found, _ in stored_by(tenant)] == [told["id"]]
    assert quarantine(tenant) == []


def test_a_batch_of_which_nothing_was_taken_is_looked_at_again(api: str, tenant: Tenant) -> None:
    told = of_the_future()
    refused(api, tenant, told)
    again = ingested(tenant, told, hours=0)
    assert (again.accepted, again.rejected, len(quarantine(tenant))) == (0, 1, 1)
    later = ingested(tenant, told, hours=2)
    assert (later.batch_id, later.accepted, later.rejected) == (again.batch_id, 1, 0)
    assert quarantine(tenant) == []
    assert ingested(tenant, told, hours=3) == ingested(tenant, told, hours=4)
    assert len(stored_by(tenant)) == 1


def test_a_batch_that_comes_again_twice_at_once_keeps_the_receipt_of_what_was_stored(api: str, tenant: Tenant) -> None:
    told = of_the_future()
    refused(api, tenant, told)
    agent = agent_of(tenant)
    with tenant.parts.store.unit_of_work(tenant.id, agent) as uow, ThreadPoolExecutor(1) as threads:
        batch = batch_of(tenant, told)
        assert uow.batches.claim(f"sha256:{batch.body.compute_sha256().hex()}", at=Later(2).now()).nothing_valid
        second = threads.submit(ingested, tenant, told, hours=2)
        eventually(lambda: tenant.waits_for_a_lock() or second.done())
        first = store_batch(batch, uow=uow, clock=Later(2))
        uow.commit()
        assert (second.result().repeated, second.result().accepted) == (True, 1)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.batches.find(first.batch_id) == first


def test_no_more_rows_are_tried_again_than_memory_is_for(
    api: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = refused(api, tenant, *(of_the_future() for _ in range(3)))
    two = len(str(first.raw).encode()) + len(str(others[0].raw).encode())
    monkeypatch.setattr(correct_rows, "MAX_RETRIED_BYTES", two)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        retried = retry_rows(RejectionReason(first.field, first.reason), uow=uow, clock=Later(2))
    assert (retried.stored, retried.left) == (2, 1)


def test_corrected_row_stays_with_the_key_that_uploaded_it(api: str, tenant: Tenant) -> None:
    first, second, third = refused(api, tenant, *(of_the_future() for _ in range(3)))
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        retry_row(third.id, str(third.raw), uow=uow, clock=Later(2))
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        assert retry_rows(RejectionReason(first.field, first.reason), uow=uow, clock=Later(2)).stored == 2
    brought_by = [key_id for _, key_id in stored_by(tenant)]
    assert len({*brought_by}) == 3
    assert {*brought_by} == {first.key_id, second.key_id, third.key_id}
    assert None not in brought_by


def test_a_process_whose_clock_is_behind_takes_what_ended_just_now(tenant: Tenant) -> None:
    now = datetime.now(UTC)
    row = record(started_at=(now - timedelta(seconds=40)).isoformat(), ended_at=now.isoformat())
    receipt = ingested(tenant, row, hours=-2)
    assert (receipt.accepted, receipt.rejected) == (1, 0)
    assert receipt.received_at >= now


def rubbish(count: int) -> bytes:
    return b"".join(b'{"number": %d}\n' % number for number in range(count))


@pytest.mark.usefixtures("stores_in_this_process")
def test_rejected_rows_of_one_key_leave_room_for_those_of_others(api, tenant, monkeypatch):
    monkeypatch.setattr(quarantine_room, "OF_KEY", QuarantineUse(rows=3, bytes=1_000))
    monkeypatch.setattr(quarantine_room, "OF_TENANT", QuarantineUse(rows=5, bytes=10_000))
    with tenant.client(api, Scope.AGENT) as flooding, tenant.client(api, Scope.AGENT) as other:
        first = flooding.post("/v1/logs", content=rubbish(10))
        flooding.post("/v1/logs", content=rubbish(11))
        assert len(quarantine(tenant)) == 3
        assert "10 rows refused" in first.json()["detail"]
        assert (first.json()["rejected"], first.json()["not_quarantined"]) == (10, 7)
        assert flooding.get(f"/v1/logs/batches/{first.json()['batch_id']}").json()["not_quarantined"] == 7
        other.post("/v1/logs", content=rubbish(12))
    assert len(quarantine(tenant)) == 5


@pytest.mark.usefixtures("stores_in_this_process")
def test_long_rejected_lines_are_bounded_by_their_bytes(api, tenant, monkeypatch):
    monkeypatch.setattr(quarantine_room, "OF_KEY", QuarantineUse(rows=100, bytes=2_500))
    with tenant.client(api, Scope.AGENT) as flooding:
        flooding.post("/v1/logs", content=b"".join(b'{"padding": "%s%d"}\n' % (b"x" * 900, n) for n in range(9)))
    assert len(quarantine(tenant)) == 2


def test_rows_that_are_stored_already_take_no_room(api, tenant):
    with tenant.client(api, Scope.AGENT) as agent:
        rows = ndjson([record(), record()])
        for name in ("a", "b"):
            answer = agent.post("/v1/logs", content=rows, headers={"Idempotency-Key": name})
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (0, 2)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.connection.exec_driver_sql("SELECT count(*) FROM log_quarantine").scalar_one() == 0


@pytest.mark.parametrize("bound", ["OF_KEY", "OF_TENANT"])
@pytest.mark.parametrize("room", [QuarantineUse(rows=2, bytes=10_000), QuarantineUse(rows=10, bytes=1)])
def test_rows_rejected_again_stay_in_a_full_quarantine(api, tenant, monkeypatch, bound, room):
    soon, late = of_the_future(), of_the_future()
    late["ended_at"] = (datetime.now(UTC) + timedelta(hours=9)).isoformat()
    with tenant.client(api, Scope.AGENT) as agent:
        assert agent.post("/v1/logs", content=ndjson([soon, late])).status_code == 422
    first, second = quarantine(tenant)
    reason = RejectionReason(first.field, first.reason)
    assert reason == RejectionReason(second.field, second.reason)
    monkeypatch.setattr(quarantine_room, bound, room)
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        assert retry_rows(reason, uow=uow, clock=Later(2)) == (1, 1, 0)
    assert [(row.raw, row.key_id) for row in quarantine(tenant)] == [(second.raw, first.key_id)]
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        assert retry_rows(reason, uow=uow, clock=Later(9)) == (1, 0, 0)
    assert {found for found, _ in stored_by(tenant)} == {soon["id"], late["id"]}
    assert quarantine(tenant) == []


def test_rows_of_one_reason_or_all_are_dismissed_at_once(api, tenant):
    with tenant.client(api, Scope.AGENT) as agent:
        agent.post("/v1/logs", content=rubbish(4))
        agent.post("/v1/logs", content=b"no JSON\n" * 3)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        reasons = uow.quarantine.group_by_reason(limit=5)
        named = next(each for each in reasons if each.rows == 3)
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        assert dismiss_rows(RejectionReason(named.field, named.reason), uow=uow) == 3
    with tenant.parts.store.unit_of_work(tenant.id, PERSON) as uow:
        assert dismiss_rows(None, uow=uow) == 4
    assert quarantine(tenant) == []
    with tenant.parts.store.unit_of_work(tenant.id) as uow, pytest.raises(NotFound):
        dismiss_rows(None, uow=uow)

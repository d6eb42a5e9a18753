"""Ended copies reach the service whole: every tick once, whenever the service was there, and whatever was killed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from services.bootstrap import Container
from tests.integration.agent.support.live_copies import OPTIONS, SLOW, ChangingPath, files, path, spool
from tests.records import record
from tests.stack import Tenant, new_tenant
from tradewind.wire.heartbeats import Completion, CompletionReceipt
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.logbook import Logbook

__all__ = ["files", "path", "spool"]


@pytest.fixture
def tenant(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


class Completions:
    """A client whose completions are counted; the answers to the first ``lost`` of them do not come back."""

    def __init__(self, client: Client, lost: int = 0) -> None:
        self._client, self._lost = client, lost
        self.sent: list[Completion] = []

    def complete(self, transfer_id: Any, completion: Completion) -> CompletionReceipt:
        self.sent.append(completion)
        receipt = self._client.complete(transfer_id, completion)
        if len(self.sent) <= self._lost:
            raise ServiceUnreachable("the answer was lost")
        return receipt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def stored(api: str, tenant: Tenant, report_id: str) -> list[int]:
    """Sequence numbers of the ticks that the service shows of a transfer."""
    with tenant.client(api) as client:
        answer = client.get(f"/v1/transfers/{report_id}", params={"limit": 100})
        answer.raise_for_status()
        return [sample["sequence"] for sample in answer.json()["samples"]]


def copy(path: ChangingPath, to: Path, client: Any, spool: Spool, **more: Any) -> CopyReport:
    book = Logbook(spool=spool, client=client)
    return copy_files([path.url], str(to), options=OPTIONS, client=client, logbook=book, **more)


def test_a_completion_whose_answer_is_lost_is_stored_once(
    api: str, tenant: Tenant, path: ChangingPath, tmp_path: Path, spool: Spool
) -> None:
    with Client(api, tenant.secret) as client:
        report = copy(path, tmp_path / "one", Completions(client, lost=1), spool)
        assert report.log.startswith("spooled: ")
        again = Completions(client)
        assert copy(path, tmp_path / "two", again, spool).log == "uploaded"
    assert len(again.sent) == 2
    assert stored(api, tenant, str(report.plan.transfer_id)) == [tick.sequence for tick in report.timeline]


def test_ticks_of_a_copy_without_its_service_come_later_each_once(
    api: str, tenant: Tenant, path: ChangingPath, tmp_path: Path, spool: Spool
) -> None:
    path.change(SLOW)
    with Client("http://127.0.0.1:9", tenant.secret, retries=NO_RETRIES) as nobody:
        report = copy(path, tmp_path / "one", nobody, spool)
    assert len(report.timeline) > 5
    with Client(api, tenant.secret) as client:
        assert copy(path, tmp_path / "two", client, spool).log == "uploaded"
    assert stored(api, tenant, str(report.plan.transfer_id)) == [tick.sequence for tick in report.timeline]


def test_a_record_of_a_host_whose_clock_is_fast_is_not_reported_as_uploaded(
    api: str, tenant: Tenant, spool: Spool
) -> None:
    transfer_id, ended = uuid4(), datetime.now(UTC) + timedelta(hours=2)
    times = {"started_at": (ended - timedelta(seconds=40)).isoformat(), "ended_at": ended.isoformat()}
    whole = WireRecord.model_validate(record(transfer_id=str(transfer_id), chunk="whole", **times))
    transfers = TransferSpool(spool)
    for _ in range(2):  # sent again unchanged, as after a lost answer
        transfers.seal(transfer_id, (whole,), ())
        with Client(api, tenant.secret) as client:
            (told,) = transfers.drain(client).refused
        assert told.startswith("the service refused 1 record, in quarantine")


def test_service_learns_why_a_copy_failed_without_its_secrets(
    api: str, tenant: Tenant, path: ChangingPath, files: Path, tmp_path: Path, spool: Spool
) -> None:
    name = min(each.name for each in files.iterdir() if each.is_file())
    sources = [f"{path.url}{name}", f"{path.url}missing.bin?token=hush"]
    with Client(api, tenant.secret) as client:
        book = Logbook(spool=spool, client=client)
        report = copy_files(sources, str(tmp_path / "one"), options=OPTIONS, client=client, logbook=book)
    assert (report.succeeded, report.log) == (False, "uploaded")
    with tenant.client(api) as reader:
        found = reader.get(f"/v1/transfers/{report.plan.transfer_id}").raise_for_status().json()["transfer"]
    assert (found["status"], found["failure_kind"]) == ("failed", "not_found")
    assert found["failure"].startswith("1 of 2 files failed, first ")
    assert "answered 404" in found["failure"]
    assert "hush" not in found["failure"]

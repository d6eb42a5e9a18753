"""Copies hold themselves to the share of a path that they are granted, wait for it, and give it back."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.api.cases import SOURCE
from services.bootstrap import Container
from tests.integration.agent.support.live_copies import (
    OPTIONS,
    SLOW,
    ChangingPath,
    Overheard,
    contents,
    files,
    once_moved,
    path,
    spool,
)
from tests.integration.live_transfers import DESTINATION, learned
from tests.stack import Tenant, new_tenant
from tradewind.parameters import Parameters
from tradewind.transfer import Status
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.errors import CopyFailed
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client
from tradewind_agent.session.logbook import Logbook

__all__ = ["files", "learned", "path", "spool"]

BY_HAND = Parameters(concurrency=4, parallelism=1, pipelining=1)


@pytest.mark.parametrize("changes", [{"tune": False}, {"by_hand": BY_HAND}, {"by_hand": BY_HAND, "tune": False}])
def test_a_static_copy_claims_its_share_and_ends(
    api: str, learned: Tenant, path: ChangingPath, tmp_path: Path, spool: Spool, changes: dict[str, Any]
) -> None:
    with Client(api, learned.secret) as client:
        overheard = Overheard(client)
        report = copy_files(
            [path.url],
            str(tmp_path / "copy"),
            options=replace(OPTIONS, **changes),
            client=overheard,  # type: ignore[arg-type]
            logbook=Logbook(spool=spool, client=client),
        )
    assert (report.succeeded, report.log) == (True, "uploaded")
    assert overheard.heard[0] == 0
    assert {tick.verdict.chunks for tick in report.timeline} == {report.plan.chunks}
    with learned.client(api) as http:
        assert http.get(f"/v1/transfers/{report.plan.transfer_id}").json()["transfer"]["state"] == "ended"


@pytest.mark.parametrize("changes", [{"by_hand": Parameters(concurrency=4)}, {"by_hand": BY_HAND}])
def test_settings_by_hand_are_cut_to_the_providers_caps(
    api: str, limited: Tenant, path: ChangingPath, files: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with Client(api, limited.secret) as client:
        report = copy_files(
            [path.url], str(tmp_path / "copy"), options=replace(OPTIONS, **changes), client=client, say=lambda _: None
        )
    assert contents(tmp_path / "copy") == contents(files)
    for tick in report.timeline:
        assert sum(chunk.parameters.concurrency or 1 for chunk in tick.verdict.chunks) == 1
    assert {record.parameters.concurrency for record in report.records} == {1}


@contextmanager
def one_file_at_once(api: str, tenant: Tenant) -> Iterator[None]:
    """A cap over all copies of the link."""
    link = {"scope": "link", "source": SOURCE, "destination": DESTINATION}
    with tenant.client(api) as client:
        client.put("/v1/limits", json=link | {"concurrency": 1}).raise_for_status()
        try:
            yield
        finally:
            client.put("/v1/limits", json=link).raise_for_status()


@pytest.fixture
def limited(api: str, parts: Container, database_url: str) -> Iterator[Tenant]:
    tenant = new_tenant(parts, database_url)
    with one_file_at_once(api, tenant):
        yield tenant


def test_a_copy_waits_for_its_share_until_another_has_ended(
    api: str, limited: Tenant, path: ChangingPath, files: Path, tmp_path: Path
) -> None:
    path.change(SLOW)
    moving = threading.Event()
    reports: dict[str, CopyReport] = {}
    said: list[str] = []

    def copy(name: str, say: Callable[[str], None]) -> None:
        spool = Spool(tmp_path / f"spool of {name}", warn=lambda _: None)
        with Client(api, limited.secret) as client:
            reports[name] = copy_files(
                [path.url],
                str(tmp_path / name),
                options=OPTIONS,
                client=client,
                logbook=Logbook(spool=spool, client=client),
                on_snapshot=once_moved(0.0, moving.set),
                say=say,
            )

    first = threading.Thread(target=copy, args=("first", lambda _: None))
    first.start()
    assert moving.wait(30)
    copy("second", said.append)
    first.join()
    assert contents(tmp_path / "first") == contents(tmp_path / "second") == contents(files)
    assert "waiting for a share" in said[0], said
    assert any("a share was granted" in line for line in said), said
    for report in reports.values():
        for tick in report.timeline:
            assert sum(each.parameters.concurrency or 1 for each in tick.verdict.chunks) == 1


def test_a_copy_without_a_log_gives_its_share_back_at_once(
    api: str, limited: Tenant, path: ChangingPath, tmp_path: Path
) -> None:
    said: list[str] = []
    with Client(api, limited.secret) as client:
        for name in ("first", "second"):
            report = copy_files([path.url], str(tmp_path / name), options=OPTIONS, client=client, say=said.append)
            with limited.client(api) as http:
                told = http.get(f"/v1/transfers/{report.plan.transfer_id}").json()["transfer"]
            assert (told["state"], told["status"]) == ("ended", "succeeded")
    assert not any("waiting for a share" in line for line in said)


def test_a_copy_that_gets_no_share_says_so_and_an_interrupt_ends_the_wait(
    api: str, limited: Tenant, path: ChangingPath, tmp_path: Path
) -> None:
    class Full(Overheard):
        """A path whose caps stay in use."""

        def heartbeat(self, transfer_id, heartbeat: Heartbeat) -> HeartbeatAnswer:  # type: ignore[no-untyped-def]
            answer = super().heartbeat(transfer_id, heartbeat)
            return answer.model_copy(update={"granted": False, "next_heartbeat_s": 0.1})

    with Client(api, limited.secret) as client:
        full = Full(client)
        impatient = replace(OPTIONS, share_patience_s=0.5)
        with pytest.raises(CopyFailed, match=r"no share of the path came free within 0.5 s"):
            copy_files([path.url], str(tmp_path / "one"), options=impatient, client=full)  # type: ignore[arg-type]
        report = copy_files(
            [path.url],
            str(tmp_path / "two"),
            options=OPTIONS,
            client=full,  # type: ignore[arg-type]
            say=lambda _: signal.raise_signal(signal.SIGINT),
        )
    assert (report.status, report.bytes_moved) == (Status.CANCELLED, 0)
    assert not (tmp_path / "one").exists()

"""Copies that are tuned while they run: a real service, a real origin, an emulated path that changes."""

import random
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.api_cases import SOURCE, log_lines
from benchmarks.emulation.path import EmulatedPath, emulate
from benchmarks.emulation.profile import PathProfile
from services.bootstrap import Container, container
from services.persistence.log_reader import LogReader
from tests.integration.serving import event_loop
from tests.integration.serving import serving as serving_files
from tests.integration.test_refresh import Fixture as Refreshes
from tests.stack import Tenant, new_tenant, serving
from tradewind.parameters import Parameters
from tradewind.transfer import Status
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.client import Client
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copy_report import CopyReport
from tradewind_agent.copying import copy_files
from tradewind_agent.errors import CopyFailed
from tradewind_agent.logbook import Logbook
from tradewind_agent.retries import NO_RETRIES
from tradewind_agent.spool import Spool
from tradewind_agent.tuning.ticks import DecidedBy

DESTINATION = "amber"
FILE_BYTES = 150_000
FAST = PathProfile(rate_bps=40e6, rtt_s=0.02)
SLOW = PathProfile(rate_bps=12e6, rtt_s=0.02)
SLOWEST = PathProfile(rate_bps=4e6, rtt_s=0.02)
TICK_S = 0.4
OPTIONS = CopyOptions(source=SOURCE, destination=DESTINATION, bandwidth_bps=40e6, rtt_s=0.02, tick_s=TICK_S)


@pytest.fixture(scope="module")
def learned(api: str, parts: Container, database_url: str, logs: LogReader) -> Tenant:
    """A tenant with a release, so that recommendations come with tables."""
    tenant = new_tenant(parts, database_url)
    with tenant.client(api) as client:
        client.post("/v1/logs", content=b"".join(log_lines(1, (DESTINATION,)))).raise_for_status()
    assert Refreshes(tenant, logs).run() is not None
    return tenant


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    source = random.Random(3)
    for number in range(60):
        (folder / f"{number:03d}").write_bytes(source.randbytes(FILE_BYTES))
    return folder


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", warn=lambda _: None)


class ChangingPath:
    """An emulated path in a thread of its own, which changes when told."""

    def __init__(self, path: EmulatedPath, in_loop: Callable[[Awaitable[Any]], Any]) -> None:
        self.path, self._in_loop, self.changed = path, in_loop, False
        self.url = f"http://127.0.0.1:{path.port}/"

    def change(self, profile: PathProfile) -> None:
        async def change() -> None:
            self.path.change(profile)

        if not self.changed:
            self.changed = True
            self._in_loop(change())


@pytest.fixture
def path(files: Path) -> Iterator[ChangingPath]:
    with serving_files(files) as origin, event_loop() as in_loop:
        emulated = in_loop(emulate(FAST, ("127.0.0.1", origin.port)))
        try:
            yield ChangingPath(emulated, in_loop)
        finally:
            in_loop(emulated.close())


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def once_moved(share: float, then: Callable[[], object]) -> Callable[..., None]:
    """``then``, once, when that share of the bytes has moved."""
    done: list[bool] = []

    def look(snapshot: object, _: object) -> None:
        moved, left = snapshot.moved_bytes, snapshot.remaining_bytes  # type: ignore[attr-defined]
        if not done and moved > share * (moved + left):
            done.append(True)
            then()

    return look


def deciders(report: CopyReport) -> set[DecidedBy]:
    """Who has decided while it ran."""
    return {tick.verdict.by for tick in report.timeline[:-1]}


def test_a_path_that_changes_half_way_is_followed_and_every_file_arrives(
    api: str, learned: Tenant, path: ChangingPath, files: Path, tmp_path: Path, spool: Spool
) -> None:
    said: list[str] = []
    with Client(api, learned.secret) as client:
        report = copy_files(
            [path.url],
            str(tmp_path / "copy"),
            options=OPTIONS,
            client=client,
            logbook=Logbook(spool=spool, client=client),
            on_snapshot=once_moved(0.3, lambda: path.change(SLOWEST)),
            say=said.append,
        )
    assert report.succeeded, report.line()
    assert contents(tmp_path / "copy") == contents(files)
    assert DecidedBy.SERVICE in deciders(report)
    sequences = [tick.sequence for tick in report.timeline]
    assert sequences == list(range(len(sequences)))
    changed = [tick for tick in report.timeline if tick.verdict.changed and tick.sequence]
    assert changed
    assert all(tick.verdict.reason for tick in changed)
    assert any("files at once" in line or "streams a file" in line for line in said), said
    document = report.document()["timeline"]
    assert document[0]["sample"]["sequence"] == 0
    assert document[-1]["sample"]["remaining_bytes"] == 0
    assert report.log == "uploaded"
    assert not spool.segments()
    assert not Logbook(spool=spool).transfers.waiting()


def test_without_a_service_the_copy_tunes_itself(path: ChangingPath, files: Path, tmp_path: Path) -> None:
    report = copy_files(
        [path.url],
        str(tmp_path / "copy"),
        options=OPTIONS,
        on_snapshot=once_moved(0.3, lambda: path.change(SLOWEST)),
    )
    assert contents(tmp_path / "copy") == contents(files)
    assert deciders(report) == {DecidedBy.AGENT}
    assert any(tick.verdict.changed for tick in report.timeline if tick.sequence)


def test_what_the_user_sets_is_never_changed(path: ChangingPath, tmp_path: Path) -> None:
    by_hand = Parameters(concurrency=3, parallelism=1)
    report = copy_files(
        [path.url],
        str(tmp_path / "copy"),
        options=replace(OPTIONS, by_hand=by_hand),
        on_snapshot=once_moved(0.3, lambda: path.change(SLOW)),
    )
    assert len(report.timeline) > 3
    for tick in report.timeline:
        asked = [each.parameters for each in tick.verdict.chunks]
        assert sum(each.concurrency or 0 for each in asked) == 3
        assert {each.parallelism for each in asked} == {1}


class Overheard:
    """A client whose heartbeats are counted."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.heard: list[int] = []

    def heartbeat(self, transfer_id, heartbeat: Heartbeat) -> HeartbeatAnswer:  # type: ignore[no-untyped-def]
        self.heard.append(heartbeat.sequence)
        return self._client.heartbeat(transfer_id, heartbeat)

    def __getattr__(self, name: str) -> object:
        return getattr(self._client, name)


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
def test_what_the_user_sets_is_cut_to_the_caps_of_the_provider(
    api: str, limited: Tenant, path: ChangingPath, files: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with Client(api, limited.secret) as client:
        report = copy_files(
            [path.url], str(tmp_path / "copy"), options=replace(OPTIONS, **changes), client=client, say=lambda _: None
        )
    assert contents(tmp_path / "copy") == contents(files)
    for tick in report.timeline:
        assert sum(each.parameters.concurrency or 1 for each in tick.verdict.chunks) == 1
    assert {record.parameters.concurrency for record in report.records} == {1}


@contextmanager
def own_service(database_url: str, redis_url: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """A service of one test, which can be stopped at any time."""
    with ExitStack() as stack:
        running = stack.enter_context(ExitStack())
        parts = running.enter_context(container(database_url=database_url, redis_url=redis_url))
        address = running.enter_context(serving(parts))
        yield address, running.close


def test_a_service_that_stops_half_way_leaves_the_copy_to_its_host_and_gets_the_samples_later(
    database_url: str, redis_url: str, api: str, learned: Tenant, path: ChangingPath, tmp_path: Path, spool: Spool
) -> None:
    path.change(SLOW)
    said: list[str] = []
    with (
        own_service(database_url, redis_url) as (address, stop),
        Client(address, learned.secret, retries=NO_RETRIES) as client,
    ):
        stopping = threading.Thread(target=stop)
        report = copy_files(
            [path.url],
            str(tmp_path / "copy"),
            options=OPTIONS,
            client=client,
            logbook=Logbook(spool=spool, client=client),
            on_snapshot=once_moved(0.4, stopping.start),
            say=said.append,
        )
        stopping.join()
    assert report.succeeded, report.line()
    assert deciders(report) == {DecidedBy.SERVICE, DecidedBy.AGENT}
    assert any("by this host alone" in line for line in said)
    assert report.log.startswith("spooled: ")
    (sealed,) = Logbook(spool=spool).transfers.waiting()
    assert sealed.read_bytes().count(b"\n") - 1 <= len(report.timeline)
    with Client(api, learned.secret) as client:
        again = copy_files(
            [path.url],
            str(tmp_path / "other"),
            options=OPTIONS,
            client=client,
            logbook=Logbook(spool=spool, client=client),
        )
    assert again.log == "uploaded"
    assert not Logbook(spool=spool).transfers.waiting()


def test_a_service_that_answers_late_delays_nothing(
    api: str, learned: Tenant, path: ChangingPath, files: Path, tmp_path: Path
) -> None:
    released = threading.Event()

    class Late(Overheard):
        """Answers heartbeats after the first only when the copy is over."""

        def heartbeat(self, transfer_id, heartbeat: Heartbeat) -> HeartbeatAnswer:  # type: ignore[no-untyped-def]
            answer = super().heartbeat(transfer_id, heartbeat)
            if heartbeat.sequence:
                released.wait(30)
            return answer

    with Client(api, learned.secret) as client:
        late = Late(client)
        try:
            report = copy_files(
                [path.url],
                str(tmp_path / "copy"),
                options=OPTIONS,
                client=late,  # type: ignore[arg-type]
                on_snapshot=once_moved(0.1, lambda: path.change(SLOW)),
            )
        finally:
            released.set()
    assert contents(tmp_path / "copy") == contents(files)
    assert late.heard == [0, 1]  # never a second while the first is unanswered
    assert len(report.timeline) > 3
    assert DecidedBy.AGENT in deciders(report)


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
    assert not (tmp_path / "one").exists() or not contents(tmp_path / "one")

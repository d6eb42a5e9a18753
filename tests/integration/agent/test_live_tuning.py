"""Copies that are tuned while they run: a real service, a real origin, an emulated path that changes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.emulation.profile import PathProfile
from services.bootstrap import build_container
from tests.integration.agent.support.live_copies import (
    OPTIONS,
    SLOW,
    ChangingPath,
    Overheard,
    contents,
    deciders,
    files,
    once_moved,
    path,
    spool,
)
from tests.integration.live_transfers import learned
from tests.stack import Tenant, serving
from tradewind.parameters import Parameters
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.copy.run import copy_files
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.tuning.ticks import DecidedBy

__all__ = ["files", "learned", "path", "spool"]

SLOWEST = PathProfile(rate_bps=4e6, rtt_s=0.02)


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
    assert report.succeeded, report.format_line()
    assert contents(tmp_path / "copy") == contents(files)
    assert DecidedBy.SERVICE in deciders(report)
    sequences = [tick.sequence for tick in report.timeline]
    assert sequences == list(range(len(sequences)))
    changed = [tick for tick in report.timeline if tick.verdict.changed and tick.sequence]
    assert changed
    assert all(tick.verdict.reason for tick in changed)
    assert any("files at once" in line or "streams a file" in line for line in said), said
    document = report.build_document()["timeline"]
    assert document[0]["sample"]["sequence"] == 0
    assert document[-1]["sample"]["remaining_bytes"] == 0
    assert report.log == "uploaded"
    assert not spool.list_segments()
    assert not Logbook(spool=spool).transfers.list_waiting()


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


def test_settings_by_hand_are_never_changed(path: ChangingPath, tmp_path: Path) -> None:
    by_hand = Parameters(concurrency=3, parallelism=1)
    report = copy_files(
        [path.url],
        str(tmp_path / "copy"),
        options=replace(OPTIONS, by_hand=by_hand),
        on_snapshot=once_moved(0.3, lambda: path.change(SLOW)),
    )
    assert len(report.timeline) > 3
    for tick in report.timeline:
        settings = [chunk.parameters for chunk in tick.verdict.chunks]
        assert sum(setting.concurrency or 0 for setting in settings) == 3
        assert {setting.parallelism for setting in settings} == {1}


@contextmanager
def own_service(database_url: str, redis_url: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """A service of one test, which can be stopped at any time."""
    with ExitStack() as stack:
        running = stack.enter_context(ExitStack())
        parts = running.enter_context(build_container(database_url=database_url, redis_url=redis_url))
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
    assert report.succeeded, report.format_line()
    assert deciders(report) == {DecidedBy.SERVICE, DecidedBy.AGENT}
    assert any("by this host alone" in line for line in said)
    assert report.log.startswith("spooled: ")
    (sealed,) = Logbook(spool=spool).transfers.list_waiting()
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
    assert not Logbook(spool=spool).transfers.list_waiting()


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

"""The tuning loop: who decides, what comes of it, and that nothing of it holds a transfer up."""

import asyncio
import contextlib
import fcntl
import resource
import signal
import threading
from dataclasses import replace
from pathlib import Path as Folder
from typing import Any
from uuid import UUID

import pytest

from tests.unit.agent.records import record
from tests.unit.agent.session.tuning_story import (
    BINS,
    FILE_BYTES,
    FILES,
    NOW,
    RATE_BPS,
    REQUEST,
    TRANSFER,
    Service,
    Story,
    fails,
    plan_of_rules,
    says,
)
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.transfer import Status
from tradewind.wire.heartbeats import Completion, CompletionReceipt, Heartbeat, HeartbeatAnswer
from tradewind.wire.records import WireRecord
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.errors import ConflictRefused, CopyFailed, ObjectNotFound, ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.session.abandoned_transfers import find_abandoned_transfers
from tradewind_agent.session.planning import plan_by_rules
from tradewind_agent.tuning.local_controller import build_basis
from tradewind_agent.tuning.loop import LONGEST_SILENCE_S
from tradewind_agent.tuning.sampling import Sampling
from tradewind_agent.tuning.service_plan import UnusableAnswer, plan_from_answer
from tradewind_agent.tuning.ticks import DecidedBy, Tick, change_line
from tradewind_agent.tuning.wire_ticks import to_heartbeat


def test_the_engine_follows_the_service_and_each_change_is_reported_once() -> None:
    story = Story(Service(says(8), says(8), says(16))).run(4)
    assert story.files_at_once == [8, 8, 16, 16, 16, 16]
    assert story.engine.plan[0].parameters.concurrency == 16
    assert story.said == ["10 s: 8 → 16 files at once: because"]
    assert [tick.verdict.changed for tick in story.tuning.ticks[1:]] == [False, True, False, False, False]


def test_samples_show_rates_and_what_is_left_and_carry_the_request() -> None:
    service = Service(says(8))
    Story(service).run(2)
    first, second, third = service.heard
    assert (first.sequence, first.interval_s, first.bytes_moved, first.remaining_files) == (0, 0.0, 0, FILES)
    assert (second.interval_s, second.throughput_bps, second.bytes_moved) == (5.0, RATE_BPS, 50_000_000)
    assert third.remaining_bytes == FILES * FILE_BYTES - 100_000_000
    assert (third.rtt_s, third.min_rtt_s) == (0.06, 0.05)
    assert all(beat.enquiry == REQUEST.to_wire() for beat in service.heard)


@pytest.mark.parametrize(
    "error", [ServiceUnreachable("away"), ObjectNotFound(404, {}), ConflictRefused(409, {"detail": "over"})]
)
def test_without_an_answer_the_same_controller_decides_here(error: Exception) -> None:
    story = Story(Service(says(8), says(8), fails(error))).run(4)
    assert [tick.verdict.by for tick in story.tuning.ticks[:4]] == [DecidedBy.SERVICE] * 2 + [DecidedBy.AGENT] * 2
    assert sum("by this host alone" in line for line in story.said) == 1


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_sample_whose_answer_the_end_of_the_transfer_overtakes_is_stored_and_cannot_hold_it_up(is_kept: bool) -> None:
    asked, answered = threading.Event(), threading.Event()

    def waits(beat: Heartbeat) -> HeartbeatAnswer:
        asked.set()
        answered.wait(timeout=20)
        return says(8)(beat)

    story = Story(Service(says(8), waits))
    add = story.live.add

    def add_or_fail(tick: Tick) -> None:
        if tick.sample.sequence == 1 and not is_kept:
            raise ValueError("a defect")
        add(tick)

    story.live.add = add_or_fail  # type: ignore[method-assign]

    async def running() -> None:
        await story.tuning.start(story.engine)
        story.ticks_left = 1
        ticks = asyncio.create_task(story.tuning.run(story.engine, None))
        await asyncio.to_thread(asked.wait, 20)
        ticks.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticks
        story.tuning.finish(story.engine.take_snapshot(), None)

    asyncio.run(running())
    answered.set()
    assert [tick.sequence for tick in story.tuning.ticks] == [0, 1, 2]
    assert [tick.verdict.by for tick in story.tuning.ticks] == [DecidedBy.SERVICE, DecidedBy.AGENT, DecidedBy.AGENT]
    assert "before the service had answered" in story.tuning.ticks[1].verdict.reason


def test_a_service_that_says_it_is_over_is_not_queried_again() -> None:
    service = Service(says(8), fails(ConflictRefused(409, {"detail": "over"})))
    Story(service).run(4)
    assert [beat.sequence for beat in service.heard] == [0, 1]


def test_a_service_that_comes_back_decides_again() -> None:
    story = Story(Service(says(8), fails(ServiceUnreachable("away")), says(4))).run(3)
    assert [tick.verdict.by for tick in story.tuning.ticks[:-1]] == ["service", "agent", "service", "service"]
    assert "the service tunes the transfer again" in story.said
    assert story.engine.plan[0].parameters.concurrency == 4


@pytest.mark.parametrize(
    "nonsense",
    [
        {"sequence": 99},
        {"chunks": ()},
        {"chunks": [{"chunk": "small", "parameters": {"concurrency": 2}}]},
        {"chunks": [{"chunk": "whole", "parameters": {"parallelism": 2}}]},
        {"chunks": [{"chunk": "whole", "parameters": {"concurrency": 30000, "parallelism": 30}}]},
    ],
)
def test_answers_that_make_no_sense_are_not_followed(nonsense: dict[str, object]) -> None:
    plan = (ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=2)),)
    beat = Sampling(request=REQUEST, sees_path=True, now=lambda: NOW).build_first(
        build_basis(
            plan_by_rules(
                TRANSFER, BINS, Path(bandwidth_bps=1e8, rtt_s=0.05), Sla(kind=SlaKind.MAX_THROUGHPUT), because="a test"
            ),
            REQUEST,
            BINS,
        )
    )
    with pytest.raises(UnusableAnswer):
        plan_from_answer(says(2, **nonsense)(to_heartbeat(beat)), 0, plan)
    story = Story(Service(says(8), says(8, **nonsense))).run(2)
    assert story.tuning.ticks[1].verdict.by is DecidedBy.AGENT


def test_settings_by_hand_stay() -> None:
    story = Story(Service(says(8), says(16)), by_hand=Parameters(concurrency=3)).run(2)
    assert set(story.files_at_once) == {3}


def test_settings_by_hand_are_claimed_and_cut_to_the_share() -> None:
    service = Service(says(2), says(2, share={"concurrency": 5}), says(2, share={"streams": 4}), says(2))
    story = Story(service, by_hand=Parameters(concurrency=9)).run(3)
    assert story.files_at_once[:4] == [9, 5, 4, 9]
    assert {beat.wanted.concurrency for beat in service.heard if beat.wanted} == {9}
    assert all(beat.wanted for beat in service.heard)


def test_a_share_holds_while_the_service_is_unreachable() -> None:
    service = Service(says(2, share={"concurrency": 5}), fails(ServiceUnreachable("away")))
    assert set(Story(service, by_hand=Parameters(concurrency=9)).run(3).files_at_once) == {5}


def test_a_plan_that_is_fixed_is_followed_within_its_share_alone() -> None:
    service = Service(says(2), says(3, share={"concurrency": 1}), says(3))
    story = Story(service, fixed=True).run(2)
    initial_plan = plan_of_rules().chunks[0].parameters.concurrency
    assert story.files_at_once[:3] == [initial_plan, 1, initial_plan]
    assert not any(beat.chunks for beat in service.heard)


def test_a_share_is_waited_for_and_its_lack_is_reported() -> None:
    story = Story(Service(says(1, granted=False, reason="full", next_heartbeat_s=1.0), says(1))).run(1)
    assert story.said[0].startswith("waiting for a share of the path before the first byte: full")
    assert story.said[1] == "a share was granted after 1 s"


def test_wait_for_a_share_survives_a_restart_of_the_service() -> None:
    full, away = says(4, granted=False, reason="full", next_heartbeat_s=1.0), fails(ServiceUnreachable("restarting"))
    story = Story(Service(full, *[away] * 10, says(4))).run(1)
    assert "a share was granted after 11 s" in story.said
    assert story.files_at_once[0] == 4


def test_wait_for_a_share_ends_when_the_service_stays_silent() -> None:
    full, away = says(4, granted=False, reason="full", next_heartbeat_s=1.0), fails(ServiceUnreachable("gone"))
    story = Story(Service(full, away))
    asyncio.run(story.tuning.start(story.engine))
    assert LONGEST_SILENCE_S < story.now_s <= LONGEST_SILENCE_S + 2.0
    assert story.tuning.ticks[0].verdict.by is DecidedBy.AGENT


def test_wait_for_a_share_ends_at_a_final_refusal() -> None:
    full, over = says(4, granted=False, reason="full", next_heartbeat_s=1.0), ConflictRefused(409, {"detail": "over"})
    story = Story(Service(full, fails(over)))
    asyncio.run(story.tuning.start(story.engine))
    assert story.now_s == 1.0


def test_a_share_that_never_comes_ends_the_wait() -> None:
    with pytest.raises(CopyFailed, match=r"no share of the path came free within 3 s \(full\)"):
        Story(Service(says(1, granted=False, reason="full", next_heartbeat_s=1.0))).run(1)


def test_a_path_that_ends_at_a_middle_box_is_not_reported() -> None:
    near = PathSample(0.001, 0.0001, None, None, 10, 0)
    sampling = Sampling(request=REQUEST, sees_path=True, now=lambda: NOW)
    engine = Story(None).engine
    told = sampling.build_next(replace(engine.take_snapshot(), elapsed_s=1.0, path=near), None)
    assert (told.rtt_s, told.min_rtt_s, told.sent_bytes) == (None, None, None)


def test_a_chunk_that_is_done_uses_no_streams() -> None:
    sampling = Sampling(request=REQUEST, sees_path=True, now=lambda: NOW)
    now = Story(None).engine.take_snapshot()
    done = replace(
        now.chunks[0], chunk=ChunkKind.LARGE, remaining_bytes=0, parameters=Parameters(concurrency=1, parallelism=4)
    )
    told = sampling.build_next(replace(now, elapsed_s=1.0, chunks=(*now.chunks, done)), None)
    assert told.parameters == told.chunks[0].parameters
    assert len(told.chunks) == 2


def test_only_what_is_not_journalled_is_stored(tmp_path: Folder) -> None:
    story = Story(Service(says(8), says(8, journalled_sequence=1)), folder=tmp_path).run(3)
    assert [each.heartbeat.sequence for each in story.live.pending] == [2, 3, 4]
    story.live.remove()
    assert not list(tmp_path.iterdir())


class CompletionService:
    def __init__(self) -> None:
        self.completions: list[Completion] = []

    def complete(self, transfer_id: UUID, completion: Completion) -> CompletionReceipt:
        assert transfer_id == TRANSFER
        self.completions.append(completion)
        return CompletionReceipt(accepted=1, rejected=0, heartbeats=len(completion.heartbeats), ended_at=NOW)


def test_a_transfer_whose_program_was_killed_is_reported_with_its_last_tick(tmp_path: Folder) -> None:
    transfers = TransferSpool(Spool(tmp_path, warn=lambda _: None))
    service = CompletionService()
    story = Story(None, folder=transfers.folder).run(3)
    assert transfers.drain(service).completed == frozenset()  # its program still runs
    story.live.close()
    assert transfers.drain(service).completed == {TRANSFER}
    ((killed,),) = [each.records for each in service.completions]
    assert (killed.outcome.status, killed.outcome.bytes_moved) == (Status.CANCELLED, 150_000_000)
    assert [each.heartbeat.sequence for each in service.completions[0].heartbeats] == [0, 1, 2, 3, 4]
    assert transfers.drain(service).completed == frozenset()


def test_ticks_that_a_full_disk_does_not_take_are_not_those_of_a_killed_program(tmp_path: Folder) -> None:
    transfers = TransferSpool(Spool(tmp_path, warn=lambda _: None))
    service = CompletionService()
    story = Story(None, folder=transfers.folder).run(2)
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    usual = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, room[1]))
    try:
        story.live.add(story.tuning.ticks[-1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
        signal.signal(signal.SIGXFSZ, usual)
    assert transfers.drain(service).completed == frozenset()
    assert not list(transfers.folder.glob("*.live"))
    assert len(story.live.pending) == len(story.tuning.ticks) + 1


def test_a_file_that_is_replaced_while_it_is_looked_at_is_not_one_of_a_killed_program(
    tmp_path: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(None, folder=tmp_path).run(3)
    lock = fcntl.flock

    def replacing(file: Any, how: int) -> None:
        if how & fcntl.LOCK_NB:
            story.live.drop_journalled(1)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", replacing)
    assert list(find_abandoned_transfers(tmp_path)) == []
    assert list(tmp_path.glob("*.live"))
    story.live.remove()


def test_sealed_records_of_a_killed_program_end_its_transfer(tmp_path: Folder) -> None:
    transfers = TransferSpool(Spool(tmp_path, warn=lambda _: None))
    service = CompletionService()
    story = Story(None, folder=transfers.folder).run(3)
    ended = WireRecord.from_domain(replace(record(1), transfer_id=TRANSFER))
    transfers.seal(TRANSFER, (ended,), story.live.pending)
    story.live.close()
    transfers.drain(service)
    assert [completion.records for completion in service.completions] == [(ended,)]


def test_a_file_that_is_no_transfer_is_left_alone(tmp_path: Folder) -> None:
    spool = TransferSpool(Spool(tmp_path, warn=lambda _: None))
    spool.folder.mkdir()
    stray = spool.folder / "notes.ended"
    stray.write_text("not a transfer")
    assert spool.list_waiting() == ()
    assert stray.exists()


def test_changes_are_reported_in_the_words_of_a_user() -> None:
    before = (ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=8, parallelism=1, pipelining=4)),)
    after = (ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=16, parallelism=2, pipelining=4)),)
    assert change_line(12.3, before, after, "why") == "12 s: 8 → 16 files at once, 1 → 2 streams a file: why"


@pytest.mark.parametrize("service", [None, Service(says(32))], ids=["alone", "by-service"])
def test_nothing_is_raised_above_what_the_server_permits(service: Service | None):
    story = Story(service)
    story.engine.permitted_connections = 3
    story.run(6)
    after_beginning = story.files_at_once[1:]
    assert after_beginning
    assert max(at_once or 1 for at_once in after_beginning) <= 3
    assert any("the server permits 3 connections at once" in line for line in story.said)

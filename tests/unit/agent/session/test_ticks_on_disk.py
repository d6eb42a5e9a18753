"""Ticks and ends of transfers on disk, through kills and damage."""

import fcntl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest

from tests.unit.agent.records import START, record
from tests.unit.agent.service.fake_service import answering, problem
from tests.unit.agent.session.test_transfer_session import IDENTITY, Answering
from tradewind.parameters import Parameters
from tradewind.transfer import Status
from tradewind.wire.heartbeats import CompletionReceipt
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.abandoned_transfers import find_abandoned_transfers
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.transfer_session import TransferSession
from tradewind_agent.tuning.ticks import DecidedBy, Tick, Verdict
from tradewind_agent.tuning.transfer_sample import TransferSample

TRANSFER = UUID(int=7)


def tick(sequence, at=datetime(2026, 11, 21, tzinfo=UTC)):
    """A tick after which some bytes have moved."""
    sample = TransferSample(
        sequence=sequence,
        at=at,
        interval_s=5.0,
        bytes_moved=1000 * (sequence + 1),
        throughput_bps=1600.0,
        remaining_bytes=10_000,
        remaining_files=2,
        parameters=Parameters(concurrency=2),
    )
    verdict = Verdict(chunks=(), changed=False, kind="hold", reason="steady", by=DecidedBy.AGENT)
    return Tick(elapsed_s=5.0 * sequence, sample=sample, verdict=verdict)


@pytest.fixture
def live(tmp_path):
    ticks = LiveTicks(tmp_path, TRANSFER, replace(record(1), transfer_id=TRANSFER))
    yield ticks
    ticks.close()


def test_journalled_ticks_leave_the_file_and_others_survive_a_kill(tmp_path, live):
    for sequence in range(4):
        live.add(tick(sequence))
    live.drop_journalled(1)
    live.add(tick(4))
    live.close()
    ((path, _, ticks),) = find_abandoned_transfers(tmp_path)
    assert path == tmp_path / f"{TRANSFER}.live"
    assert [live_tick.heartbeat.sequence for live_tick in ticks] == [2, 3, 4]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_file_of_a_running_transfer_stays_locked_when_ticks_leave_it(tmp_path, live):
    for sequence in range(3):
        live.add(tick(sequence))
    live.drop_journalled(1)
    with (tmp_path / f"{TRANSFER}.live").open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert list(find_abandoned_transfers(tmp_path)) == []


@pytest.mark.parametrize("jump", [timedelta(days=-1), timedelta(hours=-12), timedelta(days=20_000)])
def test_a_killed_transfer_lasted_as_long_as_its_ticks_however_the_clock_jumped(tmp_path, live, jump):
    begun_at = START + timedelta(minutes=1)
    for sequence in range(5):
        live.add(tick(sequence, begun_at + timedelta(seconds=5 * sequence) + jump * (sequence > 2)))
    live.close()
    ((_, killed, _),) = find_abandoned_transfers(tmp_path)
    assert killed.ended_at - killed.started_at == timedelta(seconds=20)
    assert killed.outcome.throughput_bps == pytest.approx(8 * 5000 / 20)


def test_waiting_for_a_share_is_no_part_of_a_killed_transfer(tmp_path, live):
    granted_at = START + timedelta(minutes=10)
    for sequence in range(5):
        live.add(tick(sequence, granted_at + timedelta(seconds=5.1 * sequence)))
    live.drop_journalled(2)
    live.close()
    ((_, killed, _),) = find_abandoned_transfers(tmp_path)
    assert killed.ended_at == granted_at + timedelta(seconds=20.4)
    assert killed.ended_at - killed.started_at == timedelta(seconds=20)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (httpx.ConnectError("away"), True),
        (problem(401, detail="revoked"), True),
        (
            httpx.Response(200, json={"accepted": 0, "rejected": 0, "heartbeats": 2, "ended_at": START.isoformat()}),
            False,
        ),
    ],
)
def test_ticks_leave_the_disk_only_once_the_service_has_them(tmp_path, live, answer, kept):
    live.add(tick(0))
    live.add(tick(1))
    with answering(answer).client(NO_RETRIES) as client:
        session = TransferSession(
            identity=IDENTITY, client=client, logbook=Logbook(spool=Spool(tmp_path, warn=pytest.fail))
        )
        session.status, session.live = Status.FAILED, live
        session.hold_share(Answering())
        session.finish(())  # as a copy that has nothing to log
    assert [path.name for path in tmp_path.iterdir()] == ([f"{TRANSFER}.live"] if kept else [])


def test_a_damaged_end_of_a_transfer_is_set_aside_unsent(tmp_path):
    spool = TransferSpool(Spool(tmp_path, warn=pytest.fail))
    spool.folder.mkdir(parents=True)
    (spool.folder / f"{TRANSFER}.ended").write_bytes(b"[{\n")

    class Refusing:
        def complete(self, transfer_id, completion):
            raise AssertionError((transfer_id, completion))

    delivered = spool.drain(Refusing())
    assert not delivered.completed
    assert not delivered.logged
    assert [each.suffix for each in spool.folder.iterdir() if each.stem == str(TRANSFER)] == [".damaged"]
    (line,) = delivered.refused
    assert line == f"an ended transfer cannot be read; kept in {spool.folder / f'{TRANSFER}.damaged'}"


def seal_with_two_ticks(spool, live):
    """Seal a transfer of one record and two ticks."""
    live.add(tick(0))
    live.add(tick(1))
    live.close()
    ((path, killed, ticks),) = find_abandoned_transfers(spool.folder.parent)
    path.unlink()
    spool.seal(TRANSFER, [killed], ticks)
    return killed


def test_a_tick_that_cannot_be_read_takes_no_record_with_it(tmp_path, live):
    spool = TransferSpool(Spool(tmp_path, warn=pytest.fail))
    seal_with_two_ticks(spool, live)
    sealed = spool.folder / f"{TRANSFER}.ended"
    content = sealed.read_bytes()
    sealed.write_bytes(content[:-20])
    sent = []

    class Taking:
        def complete(self, transfer_id, completion):
            sent.append(completion)
            return CompletionReceipt(accepted=1, rejected=0, heartbeats=1, ended_at=START)

    delivered = spool.drain(Taking())
    assert delivered.completed == {TRANSFER}
    assert [(len(each.records), len(each.heartbeats)) for each in sent] == [(1, 1)]
    aside = sealed.with_suffix(".damaged")
    assert delivered.refused == (f"1 sample of an ended transfer cannot be read; kept in {aside}",)
    assert aside.read_bytes() == content[:-20]
    assert not sealed.exists()


def test_samples_beyond_the_bound_are_given_up_with_a_line(tmp_path, live, monkeypatch):
    lines = []
    spool = TransferSpool(Spool(tmp_path, warn=lines.append))
    killed = seal_with_two_ticks(spool, live)
    (spool.folder / f"{uuid4()}.ended").write_bytes(b"torn, and without a line end")
    monkeypatch.setattr("tradewind_agent.history.transfer_spool.MOST_BYTES", 100)
    spool.seal(uuid4(), [killed], [])
    assert lines == ["2 samples of ended transfers given up: more than 100 B wait for the service"]
    (sealed,) = (path for path in spool.list_waiting() if path.stem == str(TRANSFER))
    assert sealed.read_bytes().count(b"\n") == 1

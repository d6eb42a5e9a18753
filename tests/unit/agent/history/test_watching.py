import errno
import gzip
import threading

import httpx
import pytest

from tests.unit.agent.history.watched_folder import QUIET_S, joined
from tests.unit.agent.service.fake_service import answering, problem, receipt
from tradewind_agent.errors import KeyRefused, SpoolFailed, WatchFailed
from tradewind_agent.history import watching
from tradewind_agent.history.log_tail import LogFile
from tradewind_agent.history.spool import DrainResult, Spool
from tradewind_agent.history.watch_state import hold_folder
from tradewind_agent.service.retries import NO_RETRIES


def kill_before_spooling(watched):
    class KilledSpool(Spool):
        def append(self, records):
            raise SpoolFailed("killed")

    with pytest.raises(SpoolFailed):
        watched.watch(spool=KilledSpool(watched.spool.folder, warn=watched.notes.append)).run(once=True)


def test_new_lines_are_spooled_once_through_restarts_and_rotation(watched):
    log = watched.write("transfers.log", joined(3))
    watched.watch().run(once=True)
    watched.write("transfers.log", joined(2, 4))
    log.rename(watched.folder / "transfers.log.1")
    watched.write("transfers.log", joined(1, 6))
    watched.watch().run(once=True)
    watched.watch().run(once=True)
    assert sorted(watched.spooled.splitlines()) == sorted(joined(6).splitlines())


def test_a_log_by_pattern_is_followed_after_it_got_another_name(watched):
    log = watched.write("transfers.log", joined(1))
    watched.write("other.txt", joined(1, 9))
    watched.watch(pattern="*.log").run(once=True)
    watched.write("transfers.log", joined(1, 2))
    log.rename(watched.folder / "transfers.old")
    watched.watch(pattern="*.log").run(once=True)
    assert watched.spooled == joined(2)


@pytest.mark.parametrize("spooled_before_the_kill", [True, False])
def test_a_kill_while_spooling_loses_and_doubles_nothing(watched, spooled_before_the_kill):
    watched.write("transfers.log", joined(2))

    class KilledSpool(Spool):
        def append(self, records):
            if spooled_before_the_kill:
                super().append(records)
            raise SpoolFailed("killed")

    killed = KilledSpool(watched.spool.folder, warn=watched.notes.append)
    with pytest.raises(SpoolFailed):
        watched.watch(spool=killed).run(once=True)
    watched.write("transfers.log", joined(1, 3))
    watched.watch().run(once=True)
    assert watched.spooled == joined(3)
    assert len(watched.spool.list_segments()) == 2


def test_a_log_that_vanished_after_a_kill_does_not_stop_the_others(watched):
    log = watched.write("transfers.log", joined(2))
    kill_before_spooling(watched)
    watched.write("other.log", joined(1, 3))
    log.unlink()
    watched.watch().run(once=True)
    assert watched.spooled == joined(1, 3)


def test_a_log_that_cannot_be_read_after_a_kill_does_not_stop_the_others(watched, monkeypatch):
    locked = watched.write("transfers.log", joined(2))
    kill_before_spooling(watched)
    watched.write("other.log", joined(1, 3))

    def opened(path, position=None):
        if path == locked:
            raise PermissionError(errno.EACCES, "Permission denied")
        return LogFile(path, position)

    with monkeypatch.context() as patched:
        patched.setattr(watching, "LogFile", opened)
        watched.watch().run(once=True)
    assert watched.spooled == joined(1, 3)
    assert len([note for note in watched.notes if "transfers.log cannot be read" in note]) == 1
    watched.watch().run(once=True)
    assert sorted(watched.spooled.splitlines()) == sorted(joined(3).splitlines())


def test_a_look_at_everything_waits_while_another_process_sends(watched):
    size, waits = len(joined(1)), []

    class BusyFirst(Spool):
        def drain(self, service, *, keep_going):
            return DrainResult(busy=True) if not waits else super().drain(service, keep_going=keep_going)

    class Waiting(threading.Event):
        def wait(self, timeout=None):
            waits.append(timeout)
            return False

    spool = BusyFirst(watched.spool.folder, warn=watched.notes.append, max_bytes=3 * size)
    for number in range(1, 4):
        watched.write(f"{number}.log", joined(1, number), age_s=100 - number)
    service = answering(receipt())
    with service.client() as client:
        watch = watched.watch(spool=spool, service=client)
        watch.stop = Waiting()
        watch.run(once=True)
    assert len(waits) == 1
    assert b"".join(service.bodies) == joined(3)


def test_acknowledged_logs_leave_the_spool(watched):
    watched.write("transfers.log", joined(2))
    service = answering(receipt(accepted=2))
    with service.client() as client:
        tally = watched.watch(service=client).run(once=True)
    assert service.bodies == [joined(2)]
    assert (tally.records, tally.accepted) == (2, 2)
    assert watched.spooled == b""


def test_while_the_service_is_unreachable_logs_are_spooled_and_the_waits_grow(watched):
    watched.write("transfers.log", joined(1))
    service = answering(httpx.ConnectError("refused"))
    with service.client(NO_RETRIES) as client:
        watch = watched.watch(service=client)
        watch._backoff.first_s = 1.0
        waits = []
        for _ in range(10):
            watch.read()
            watch._backoff.left_s = 0.0
            watch.upload()
            waits.append(watch._backoff.left_s)
    assert watched.spooled == joined(1)
    assert waits[0] <= 2 < waits[-1] <= 300
    assert sum("spooled until then" in note for note in watched.notes) == 1


def test_a_refused_key_ends_the_watch(watched):
    watched.write("transfers.log", joined(1))
    service = answering(problem(401))
    with service.client() as client, pytest.raises(KeyRefused):
        watched.watch(service=client).run(once=True)
    assert watched.spooled == joined(1)


def test_reading_pauses_while_the_spool_is_half_full_so_that_nothing_is_given_up(watched):
    size = len(joined(1))
    spool = Spool(watched.spool.folder, warn=watched.notes.append, max_bytes=3 * size)
    for number in range(1, 8):
        watched.write(f"{number}.log", joined(1, number), age_s=100 - number)
    watched.watch(spool=spool).run(once=True)
    assert watched.spooled == joined(2)
    service = answering(receipt())
    with service.client() as client:
        watched.watch(spool=spool, service=client).run(once=True)
    assert b"".join(service.bodies) == joined(7)
    assert spool.read_state().lost_segments == 0


def test_rows_that_are_no_records_are_counted_and_reported_once(watched):
    watched.write("transfers.log", joined(1) + b'{"outcome": {}, "dataset": {}}\n' + joined(1, 2))
    tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (2, 1)
    assert len([note for note in watched.notes if "1 row refused, row 2" in note]) == 1


def test_a_file_that_is_no_log_is_left_alone_and_reported_once(watched):
    watched.write("README", b"nothing to see here\n")
    watched.write("transfers.log", joined(1))
    watch = watched.watch()
    for _ in range(3):
        watch.read()
    assert watched.spooled == joined(1)
    assert len([note for note in watched.notes if "README is left alone" in note]) == 1


GRIDFTP = (
    b"DATE=20240501000010.000000 HOST=alpha PROG=globus-gridftp-server NL.EVNT=FTP_INFO START=2024050100%04d.000000 "
    b"USER=u FILE=/f BUFFER=0 BLOCK=262144 NBYTES=100000000 VOLUME=/ STREAMS=2 STRIPES=1 DEST=[10.0.0.1] TYPE=RETR "
    b"CODE=226\n"
)


@pytest.mark.parametrize("name", ["transfers.log.1.gz", "transfers.log-20260501.gz", "transfers.log.gz"])
def test_a_compressed_log_is_passed_over_and_reported_unless_it_was_followed_before(watched, name):
    watched.write(name, gzip.compress(joined(1)), age_s=100)
    watched.write("transfers.log", joined(1, first=2))
    watch = watched.watch()
    for _ in range(2):
        watch.read()
    watched.watch().read()
    assert watched.notes == [f"{name} is compressed and is not followed; `logs upload` takes gzip, zstd, bzip2 and xz"]
    assert watched.spooled == joined(1, first=2)


def test_a_log_that_was_followed_and_rotated_away_is_compressed_without_a_word(watched):
    log = watched.write("transfers.log", joined(1))
    watched.watch().run(once=True)
    log.unlink()
    watched.write("transfers.log.1.gz", gzip.compress(joined(1)), age_s=100)
    watched.watch().run(once=True)
    assert watched.notes == []


def test_logs_that_are_not_read_are_in_the_tally_until_they_are(watched, monkeypatch):
    watched.write("README", b"nothing to see here\n")
    watched.write("gridftp.log", GRIDFTP % 0)
    forbidden = watched.write("transfers.log", joined(1))

    def opened(path, known):
        if path == forbidden:
            raise PermissionError(errno.EACCES, "Permission denied")
        return LogFile(path, known)

    watch = watched.watch()
    with monkeypatch.context() as patched:
        patched.setattr(watching, "LogFile", opened)
        not_read = watch.run(once=True).not_read
    found = {each.file: each.reason for each in not_read}
    assert [each.file for each in not_read if each.failed] == ["transfers.log"]
    assert found.keys() == {"README", "gridftp.log", "transfers.log"}
    assert found["README"].startswith("left alone: ")
    assert found["gridftp.log"].startswith("lines wait until the log was quiet for 60 s: ")
    assert found["transfers.log"].startswith("cannot be read: ")
    watched.write("gridftp.log", b"", age_s=QUIET_S + 1)
    assert [each.file for each in watch.run(once=True).not_read] == ["README"]
    (watched.folder / "README").unlink()
    assert watch.run(once=True).not_read == ()


def test_a_log_that_waits_for_the_spool_is_in_the_tally(watched):
    watched.write("first.log", joined(1), age_s=1)
    watched.write("second.log", joined(1, first=2))
    small = Spool(watched.spool.folder, warn=watched.notes.append, max_bytes=len(joined(1)) + 100)
    (unread,) = watched.watch(spool=small).run(once=True).not_read
    assert (unread.file, unread.reason) == ("second.log", "the spool is half full")


def test_lines_whose_concurrency_shows_in_their_neighbours_wait_for_a_quiet_log(watched):
    watched.write("gridftp.log", GRIDFTP % 0)
    watched.watch().run(once=True)
    assert watched.spooled == b""
    watched.write("gridftp.log", GRIDFTP % 1, age_s=QUIET_S + 1)
    watched.watch().run(once=True)
    assert watched.spooled.count(b'"concurrency":2') == 2


def test_a_log_that_was_read_does_not_wait_for_the_spool(watched):
    watched.write("README", b"nothing to see here\n", age_s=50)
    watch = watched.watch()
    watch.run(once=True)
    watched.write("first.log", joined(1), age_s=1)
    watched.write("second.log", joined(1, first=2))
    small = Spool(watched.spool.folder, warn=watched.notes.append, max_bytes=len(joined(1)) + 100)
    watch.spool = small
    reasons = {each.file: each.reason for each in watch.run(once=True).not_read}
    assert reasons.pop("README").startswith("left alone")
    assert reasons == {"second.log": "the spool is half full"}


def test_assumption_about_a_log_is_reported_once(watched):
    head = b"start,source,destination,total_bytes_b,files,concurrency,throughput_mbps\n"
    row = b"2024-06-01 00:00:%02d,alpha,beta,1000000000,10,4,900\n"
    watched.write("transfers.csv", head + row % 0)
    watch = watched.watch()
    watch.run(once=True)
    watched.write("transfers.csv", row % 10)
    watch.run(once=True)
    [note] = [note for note in watched.notes if "--timezone" in note]
    assert note == "transfers.csv: assumed times without a zone are taken as UTC; --timezone names another"


def test_rows_that_only_follow_each_other_are_refused_of_a_log_that_grows(watched):
    watched.write("sweep.csv", b"total_bytes_b,files,concurrency,throughput_mbps\n" + b"1000000000,10,4,900\n" * 2)
    tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (0, 2)
    assert any("`logs upload` reads such a log once it is complete" in note for note in watched.notes)


def test_a_damaged_state_is_reported_instead_of_reading_everything_again(watched):
    watched.state.write_text("{")
    with pytest.raises(WatchFailed, match="remove it"):
        watched.watch()


def test_two_watches_of_one_folder_are_refused(watched):
    with hold_folder(watched.state), pytest.raises(WatchFailed, match="another"), hold_folder(watched.state):
        pass


def test_the_state_forgets_logs_that_are_gone(watched):
    log = watched.write("transfers.log", joined(1))
    watched.watch().run(once=True)
    log.unlink()
    watched.watch().run(once=True)
    assert b"transfers.log" not in watched.state.read_bytes()


def test_lines_that_are_held_back_are_reported_once_with_the_reason(watched):
    statistics = (
        b'{"level":"info","msg":"Copied (new)","size":10,"object":"a","objectType":"*local.Object","source":"x"}\n'
    )
    watched.write("rclone.log", 3 * statistics)
    watch = watched.watch()
    watch.read()
    watched.write("rclone.log", statistics)
    watch.read()
    (told,) = watched.notes
    assert told.startswith("rclone.log: 3 lines wait until the log was quiet for 60 s: ")
    assert "may not be over" in told


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b'{\n "log": {\n  "version": "1.2",\n  "entries": []\n }\n}\n',
            "is a browser's log (HAR): `logs upload` takes it",
        ),
        (b'[\n {"tr_id": "x"}\n]\n', "is one JSON document, not an object a line; `logs upload` takes it"),
        (
            "2025/05/06 07:08:05 INFO  : a: Copied (new)\n".encode("utf-16"),
            "is UTF-16-LE, which cannot be read part by part",
        ),
    ],
)
def test_a_log_that_cannot_be_read_part_by_part_is_left_alone_with_the_reason(watched, content, reason):
    watched.write("log", content)
    watched.watch().read()
    assert [reason in note for note in watched.notes] == [True], watched.notes


def test_lines_in_envelopes_are_followed_part_by_part(watched):
    prefix = b"2026-01-02T03:04:05.678901234Z stdout F "
    for second in (0, 5):
        line = GRIDFTP % second
        watched.write("transfers.log", prefix + line, age_s=2 * QUIET_S)
        watched.watch().read()
    assert watched.spooled.count(b"\n") == 2, watched.notes

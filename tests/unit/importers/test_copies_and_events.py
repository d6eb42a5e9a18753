"""Copies between XRootD servers, events of rucio's conveyor, and vsftpd's own log."""

import json
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext


def copy(size: int = 450_000_000, *, code: int = 0, destination: str = "https://D2.example.org:1094//a", **run_more):
    xeq = {"Beg": "2026-03-01T10:00:00.000Z", "End": "2026-03-01T10:00:09.000Z", "RC": code, "Strm": 4, "Type": "pull"}
    ends = {"Src": "https://d1.example.org./a", "Dst": destination, "Size": size}
    return json.dumps({"TPC": "https", "Client": "a@h", "Xeq": xeq | run_more, **ends})


def event(event_type: str = "transfer-done", **more):
    payload = {
        "request-id": "r1",
        "file-size": 80_000_000,
        "protocol": "davs",
        "src-rse": "A_DISK",
        "dst-rse": "B_DISK",
        "started_at": "2026-03-01 10:00:00",
        "transferred_at": "2026-03-01 10:00:16",
    }
    return {"event_type": event_type, "payload": payload | more, "created_at": "2026-03-01 10:01:00.5"}


def ftp(
    result: str = "OK", way: str = "DOWNLOAD", size: str = ", 81920000 bytes", rate: str = "8000.00", name: str = "/a"
):
    return (
        f'Sun Mar  1 10:00:10 2026 [pid 7] [ann] {result} {way}: Client "192.0.2.61", "{name}"{size}, {rate}Kbyte/sec'
    )


def test_copy_between_servers_is_a_transfer_of_a_third_party():
    imported, refused, report = run([copy(), copy(500, code=404)])
    done, failed = (item.record for item in imported)
    assert (refused, report.format) == ([], "xrootd")
    assert (done.source, done.destination) == ("d1.example.org", "d2.example.org")
    assert (done.direction, done.protocol, done.parameters.parallelism) == (Direction.THIRD_PARTY, "https", 4)
    assert (done.outcome.bytes_moved, done.duration_s) == (450_000_000, 9.0)
    assert (failed.outcome.status, failed.outcome.bytes_moved) == (Status.FAILED, 500)


@pytest.mark.parametrize(("written", "microseconds"), [("042", 42), ("2102", 2102), ("875459", 875_459)])
def test_fraction_of_a_server_counts_microseconds_without_leading_zeros(written, microseconds):
    imported, _, _ = run([copy(End=f"2026-03-01T10:00:09.{written}Z")])
    assert imported[0].record.ended_at == datetime(2026, 3, 1, 10, 0, 9, microseconds, tzinfo=UTC)


@pytest.mark.parametrize("order", [1, -1])
def test_no_size_of_a_server_that_cuts_sizes_is_read(order):
    lines = [copy(-1_205_088_130), copy(5000), copy(7000, destination="https://d3.example.org/a")]
    imported, refused, _ = run(lines[::order])
    assert ([item.record.outcome.bytes_moved for item in imported], len(refused)) == ([7000], 2)
    assert "cut to 32 bits" in refused[0].reason


def test_copy_without_a_code_is_refused():
    message = json.loads(copy())
    del message["Xeq"]["RC"]
    assert run([json.dumps(message)])[1][0].field == "outcome.status"


def test_copy_of_xrootd_itself_names_its_source_without_a_scheme():
    line = copy().replace("https://d1.example.org./a", "D1.example.org:1094//a").replace('"https"', '"xroot"')
    record = run([line])[0][0].record
    assert (record.source, record.protocol) == ("d1.example.org", "xroot")


@pytest.mark.parametrize(
    "message",
    [
        event(),
        event("TRANSFER-DONE"),
        event() | {"payload": json.dumps(event()["payload"])},
        event() | {"payload": {}, "payload_nolimit": event()["payload"]},
        {
            "data": {k.replace("-", "_"): v for k, v in event()["payload"].items()} | {"event_type": "transfer-done"},
            "metadata": {},
        },
        {"topic": "t", "offset": 1, "value": json.dumps(event())},
    ],
    ids=["hermes", "capitals", "text", "long", "monitoring", "kafka"],
)
def test_event_of_a_done_transfer_is_a_record(message):
    imported, refused, report = run([json.dumps(message)])
    record = imported[0].record
    assert (refused, report.format, record.source, record.destination) == ([], "rucio", "A_DISK", "B_DISK")
    assert (record.outcome.bytes_moved, record.duration_s) == (80_000_000, 16.0)
    assert (record.started_at, record.mover.name) == (datetime(2026, 3, 1, 10, tzinfo=UTC), "rucio")


def test_failed_attempt_is_a_record_of_its_own_and_other_events_are_none():
    messages = [
        event("transfer-submitted"),
        event("transfer-failed", started_at=None, transferred_at=None),
        event("transfer-failed"),
        event(**{"request-id": "r2", "previous-request-id": "r1"}),
        event("deletion-done", rse="A_DISK"),
    ]
    imported, refused, report = run([json.dumps(each) for each in messages])
    outcomes = [(item.record.outcome.status, item.record.outcome.bytes_moved) for item in imported]
    assert (outcomes, refused) == ([(Status.FAILED, 0), (Status.SUCCEEDED, 80_000_000)], [])
    assert report.skipped.total() == 3


def test_event_that_a_broker_delivers_again_is_one_transfer():
    assert len(run([json.dumps(event())] * 3)[0]) == 1


@pytest.mark.parametrize(("duration", "lasted_s"), [(16, 16.0), ("16", 16.0), (16.5, 16.5)])
def test_duration_of_an_event_gives_the_start_that_it_lacks(duration, lasted_s):
    record = run([json.dumps(event(started_at=None, duration=duration))])[0][0].record
    assert record.duration_s == lasted_s
    assert run([json.dumps(event(started_at=None, duration=-1))])[1][0].field == "started_at"


def test_event_of_a_done_transfer_without_its_times_is_refused():
    assert run([json.dumps(event(started_at=None))])[1][0].field == "started_at"


def test_rate_of_vsftpd_says_how_long_a_file_took():
    context = ImportContext(source="srv", destination="srv")
    imported, refused, report = run([ftp(), ftp("FAIL", "UPLOAD", name='/a", 5 bytes, 1.00Kbyte/sec')], context)
    sent, failed = (item.record for item in imported)
    assert (refused, report.format) == ([], "vsftpd")
    assert (sent.source, sent.destination, sent.direction) == ("srv", "192.0.2.61", Direction.DOWNLOAD)
    assert (sent.ended_at, sent.duration_s) == (datetime(2026, 3, 1, 10, 0, 10, tzinfo=UTC), 10.0)
    assert (failed.outcome.status, failed.source, failed.outcome.bytes_moved) == (
        Status.FAILED,
        "192.0.2.61",
        81_920_000,
    )


def test_lines_of_vsftpd_without_bytes_are_skipped():
    lines = [ftp(), ftp("FAIL", size="", rate="0.00"), 'Sun Mar  1 10:00:10 2026 [pid 2] CONNECT: Client "192.0.2.61"']
    imported, refused, report = run(lines)
    assert ([item.row for item in imported], refused, report.skipped.total()) == ([1], [], 2)


@pytest.mark.parametrize("cut", [3, 12, 30])
def test_line_of_vsftpd_that_is_cut_off_is_refused(cut):
    assert run([ftp(), ftp()[:-cut], ftp()])[1][0].row == 2


def test_line_of_vsftpd_for_syslog_has_no_time():
    line = "Mar  1 10:00:10 host vsftpd[7]: " + ftp().partition("] ")[2]
    assert "syslog_enable" in run([line])[1][0].reason

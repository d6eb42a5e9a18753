"""Logs of FTP servers, tasks of Globus and reports of curl."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext


def ftp(
    *, seconds: int = 8, size: int = 64_000_000, way: str = "o", end: str = "c", at: str = "Tue Jun  3 12:30:20 2025"
):
    return f"{at} {seconds} 192.0.2.61 {size} /srv/a file.iso b _ {way} a ann ftp 0 * {end}"


def test_a_line_of_an_ftp_server_is_a_file_that_ended_then():
    lines = [ftp(), ftp(way="i"), ftp(end="i", size=500)]
    imported, refused, report = run(lines, ImportContext(source="srv", destination="srv"))
    sent, received, failed = (item.record for item in imported)
    assert (refused, report.format) == ([], "xferlog")
    assert (sent.source, sent.destination, sent.direction) == ("srv", "192.0.2.61", Direction.DOWNLOAD)
    assert (received.source, received.destination, received.direction) == ("192.0.2.61", "srv", Direction.UPLOAD)
    assert (sent.ended_at, sent.duration_s) == (datetime(2025, 6, 3, 12, 30, 20, tzinfo=UTC), 8)
    assert sent.outcome.throughput_bps == pytest.approx(64e6)
    assert (failed.outcome.status, failed.outcome.bytes_moved) == (Status.FAILED, 500)
    assert sent.parameters.concurrency == 2


def test_times_of_an_ftp_server_are_in_the_zone_of_the_context():
    tokyo = ImportContext(source="srv", timezone=ZoneInfo("Asia/Tokyo"))
    assert run([ftp()], tokyo)[0][0].record.ended_at.hour == 3


def test_deletions_empty_files_and_other_lines_of_an_ftp_server_are_skipped():
    lines = [ftp(), ftp(way="d"), ftp(size=0), ftp(seconds=0), "Tue Jun  3 12:30:20 2025 [pid 3] CONNECT"]
    imported, refused, report = run(lines, ENDS)
    assert ([item.row for item in imported], refused) == ([1], [])
    assert sorted(report.skipped.values()) == [2, 2]


@pytest.mark.parametrize(("way", "end"), [("o", "source"), ("i", "destination")])
def test_the_server_is_named_by_an_option(way, end):
    _, refused, _ = run([ftp(way=way)], ImportContext())
    assert f"give it with --{end}" in refused[0].reason


def task(**more: object) -> dict[str, object]:
    return {
        "DATA_TYPE": "task",
        "type": "TRANSFER",
        "status": "SUCCEEDED",
        "bytes_transferred": 90_000_000_000,
        "files": 30,
        "files_transferred": 25,
        "files_skipped": 5,
        "request_time": "2025-06-03T10:00:00+00:00",
        "completion_time": "2025-06-03T10:02:00+00:00",
        "source_endpoint_display_name": "North DTN",
        "destination_endpoint_display_name": "South DTN",
        **more,
    }


@pytest.mark.parametrize(
    "written",
    [lambda tasks: json.dumps({"DATA": tasks, "DATA_TYPE": "task_list"}, indent=2), json.dumps],
)
def test_a_task_of_globus_is_a_record(written):
    tasks = [task(), task(type="DELETE"), task(status="ACTIVE", completion_time=None), task(bytes_transferred=0)]
    imported, refused, report = run(written(tasks).encode(), ImportContext())
    record = imported[0].record
    assert (len(imported), refused, report.format) == (1, [], "globus")
    assert (record.source, record.destination, record.duration_s) == ("North DTN", "South DTN", 120)
    assert (record.dataset.file_count, record.outcome.throughput_bps) == (25, pytest.approx(6e9))
    assert sum(report.skipped.values()) == 3


def test_a_task_of_globus_that_failed_is_a_failure_and_a_damaged_one_is_refused():
    lines = [task(status="FAILED", files_transferred=10), task(status="LOST"), task(completion_time="soon")]
    imported, refused, _ = run([json.dumps(each) for each in lines], ImportContext())
    assert (imported[0].record.outcome.status, imported[0].record.outcome.files_failed) == (Status.FAILED, 15)
    assert [item.field for item in refused] == ["outcome.status", "ended_at"]


def test_a_task_of_globus_that_its_user_ended_is_cancelled():
    ended = task(status="FAILED", fatal_error={"code": "CANCELED"}, files_transferred=10)
    outcome = run([json.dumps(ended)], ImportContext())[0][0].record.outcome
    assert (outcome.status, outcome.files_done) == (Status.CANCELLED, 10)


def test_files_that_a_task_of_globus_left_out_for_their_errors_are_not_counted():
    lines = [json.dumps(task(files_skipped=0, subtasks_skipped_errors=5))]
    assert run(lines, ImportContext())[0][0].record.dataset.file_count == 25


def test_a_task_of_globus_within_a_second_has_no_rate_and_is_skipped():
    imported, refused, found = run([json.dumps(task(completion_time=task()["request_time"]))], ImportContext())
    assert (imported, refused, sum(found.skipped.values())) == ([], [], 1)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_events_of_globus_are_read_an_event_a_line(separators):
    events = [
        ("10:02:00", "SUCCEEDED", "{}"),
        ("10:01:00", "PROGRESS", json.dumps({"bytes_transferred": 3_000_000_000})),
        ("10:00:00", "STARTED", json.dumps({"concurrency": 4})),
    ]
    lines = [
        json.dumps(
            {"DATA_TYPE": "event", "code": code, "details": details, "time": f"2026-03-01T{at}+00:00"},
            separators=separators,
        )
        for at, code, details in events
    ]
    (row,), refused, _ = run(lines, ENDS)
    assert (refused, row.record.outcome.bytes_moved, row.record.parameters.concurrency) == ([], 3_000_000_000, 4)
    _, (cut,), _ = run(lines[:2], ENDS)
    assert "--limit" in cut.reason


def report(**more: object) -> str:
    values = {
        "url_effective": "https://mirror.example.org/a.iso", "size_download": 60_000_000, "size_upload": 0,
        "speed_download": 12_000_000, "time_total": 5.0, "http_code": 200, "exitcode": 0, "scheme": "HTTPS",
        "curl_version": "libcurl/8.5.0",
    }  # fmt: skip
    return json.dumps(values | more)


def test_reports_of_curl_are_transfers_that_follow_each_other():
    start = datetime(2025, 6, 3, 9, tzinfo=UTC)
    lines = [
        report(),
        report(size_upload=90, size_download=0, url_effective="ftp://in.example.org/x"),
        report(http_code=404),
    ]
    imported, refused, found = run(lines, ImportContext(source="me", destination="here", started_at=start))
    fetched, sent, missing = (item.record for item in imported)
    assert (refused, found.format) == ([], "curl")
    assert (fetched.source, fetched.destination, fetched.mover.version) == ("mirror.example.org", "here", "8.5.0")
    assert (sent.source, sent.destination, sent.direction) == ("me", "in.example.org", Direction.UPLOAD)
    assert (fetched.started_at, sent.started_at) == (start, fetched.ended_at)
    assert missing.outcome.status is Status.FAILED


def test_local_files_that_curl_copied_are_skipped():
    local = report(url_effective="file:///data/a", scheme="FILE", http_code=0, speed_download=0)
    imported, refused, found = run([local, report()], ENDS)
    assert ([item.row for item in imported], refused, sum(found.skipped.values())) == ([2], [], 1)


def test_reports_of_curl_without_bytes_are_skipped_and_a_growing_file_is_left_to_upload():
    imported, refused, found = run(
        [report(size_download=0, http_code=304), "curl: (6) no host", report(time_total=0)], ENDS
    )
    assert (imported, [item.row for item in refused]) == ([], [3])
    assert sum(found.skipped.values()) == 1 + ("no reports of curl" in found.skipped)
    with pytest.raises(InvalidValue, match="`logs upload` reads it"):
        run([report()], ImportContext(destination="here", in_parts=True))


def test_duration_of_a_file_is_right_where_clocks_were_put_forward_meanwhile():
    berlin = ImportContext(source="srv", timezone=ZoneInfo("Europe/Berlin"))
    record = run([ftp(at="Sun Mar 30 03:30:00 2025", seconds=3600)], berlin)[0][0].record
    assert (record.duration_s, record.started_at) == (3600, datetime(2025, 3, 30, 0, 30, tzinfo=UTC))


@pytest.mark.parametrize(
    ("protocol", "client"),
    [
        ("Http-1.1:2001:db8:0:0:0:0:0:1:0:WebDAV-dcache:domain:/f", "2001:db8::1"),
        ("GFtp-2.0:2001:db8:0:0:0:0:0:5:2811", "2001:db8::5"),
        ("Xrootd-5.0:[2001:db8::9]:1094", "2001:db8::9"),
        ("DCap-3.0,wn1.example.org:22125", "wn1.example.org"),
        ("Xrootd-2.7,wn1.example.org:35011", "wn1.example.org"),
        ("NFS4-4.1:192.0.2.1:957", "192.0.2.1"),
        ("GFtp-2.0:2001:db8::5:2811", None),
    ],
)
def test_client_of_a_dcache_line_is_found_in_any_notation(protocol, client):
    pool = "03.01 10:00:00 [pool:p1@d:transfer] [0001,500] [/y] <Unknown>:<Unknown>@osm 500 100 false"
    line = f'{pool} {{{protocol}}} {{0:""}}'
    context = ImportContext(source="dcache.example.org", written_at=datetime(2026, 4, 1, tzinfo=UTC))
    imported, refused, _ = run([line], context)
    assert [item.record.destination for item in imported] == ([] if client is None else [client])
    assert len(refused) == (1 if client is None else 0)


BILLING = '[pool:p1@d:transfer] [0001,500] [/y] <Unknown>:<Unknown>@osm 500 1000 false {Http-1.1:192.0.2.1:1:W} {0:""}'


@pytest.mark.parametrize("zone", ["+01:00", "+0100", ""])
def test_a_zone_in_a_dcache_line_counts_before_that_of_the_context(zone):
    berlin = ImportContext(source="dcache.example.org", timezone=ZoneInfo("Europe/Berlin"))
    (row,), refused, _ = run([f"2026-03-01T11:00:20.250{zone} {BILLING}"], berlin)
    assert (refused, row.record.ended_at) == ([], datetime(2026, 3, 1, 10, 0, 20, tzinfo=UTC))


def test_a_dcache_file_that_names_another_layout_is_refused():
    usual = "## mover-info-message $date$ $transferred$ $connectionTime$ $created$ {$protocol$} {$rc$}"
    line = f"2026.03.01 11:00:20 {BILLING}"
    context = ImportContext(source="dcache.example.org")
    assert len(run([usual, line], context)[0]) == 1
    with pytest.raises(InvalidValue, match="another layout"):
        run([usual.replace("$transferred$ $connectionTime$", "$connectionTime$ $transferred$"), line], context)


def test_a_client_on_the_server_itself_is_no_end_of_a_link():
    line = f"2026.03.01 11:00:20 {BILLING}".replace("192.0.2.1", "127.0.0.1")
    _, (refused,), _ = run([line], ImportContext(source="dcache.example.org"))
    assert (refused.field, "--destination" in refused.reason) == ("destination", True)

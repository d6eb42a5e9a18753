import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()


def line(
    *,
    date: str = "20210405101010.500000",
    start: str = "20210405101000.500000",
    file: str = "/data/run.h5",
    nbytes: str = "1000000000",
    streams: str = "4",
    dest: str = "[10.1.2.3]",
    kind: str = "RETR",
    code: str = "226",
    buffer: str = "131072",
) -> str:
    return (
        f"DATE={date} HOST=dtn.example.org PROG=globus-gridftp-server NL.EVNT=FTP_INFO START={start} USER=ann "
        f"FILE={file} BUFFER={buffer} BLOCK=262144 NBYTES={nbytes} VOLUME=/ STREAMS={streams} STRIPES=1 DEST={dest} "
        f"TYPE={kind} CODE={code}"
    )


def test_a_line_becomes_a_record_with_streams_as_parallelism_and_unknown_pipelining():
    imported, refused, report = run([line()], NO_CONTEXT)
    record = imported[0].record
    assert refused == []
    assert report.format == "gridftp"
    assert record.parameters.list_known() == {"concurrency": 1, "parallelism": 4, "io_block_bytes": 262_144}
    assert record.path.buffer_bytes == 131_072
    assert record.outcome.throughput_bps == pytest.approx(8e8)
    assert (record.started_at, record.ended_at) == (
        datetime(2021, 4, 5, 10, 10, 0, 500_000, tzinfo=UTC),
        datetime(2021, 4, 5, 10, 10, 10, 500_000, tzinfo=UTC),
    )


def test_a_file_stored_came_from_the_peer_and_one_retrieved_went_to_it():
    stored, retrieved = (item.record for item in run([line(kind="STOR"), line(kind="RETR")], NO_CONTEXT)[0])
    assert (stored.source, stored.destination, stored.direction) == ("10.1.2.3", "dtn.example.org", Direction.UPLOAD)
    assert (retrieved.source, retrieved.destination) == ("dtn.example.org", "10.1.2.3")
    assert retrieved.direction is Direction.DOWNLOAD


def test_concurrency_is_the_mean_number_of_overlapping_transfers_of_a_host_pair():
    lines = [
        line(start="20210405101000.0", date="20210405101010.0"),
        line(start="20210405101000.0", date="20210405101010.0", file="/data/run2.h5"),
        line(start="20210405101000.0", date="20210405101020.0"),
        line(start="20210405101000.0", date="20210405101020.0", dest="[10.9.9.9]"),
        line(start="20210405101030.0", date="20210405101040.0"),
    ]
    imported, _, report = run(lines, NO_CONTEXT)
    assert [item.record.parameters.concurrency for item in imported] == [3, 3, 2, 1, 1]
    assert [item.row for item in imported] == [1, 2, 3, 4, 5]
    assert any("concurrency is the mean number" in assumption for assumption in report.assumptions)


def test_the_fraction_of_a_second_is_in_microseconds_without_leading_zeros():
    imported, _, _ = run([line(start="20210405101000.2102")], NO_CONTEXT)
    assert imported[0].record.started_at.microsecond == 2102


def test_file_names_may_hold_blanks_and_what_looks_like_keys():
    tricky = "/data/a b STREAMS=99 DATE=19990101000000.0 c"
    record = run([line(file=tricky)], NO_CONTEXT)[0][0].record
    assert record.parameters.parallelism == 4
    assert record.started_at.year == 2021
    assert record.ended_at.year == 2021


def test_a_prefix_of_another_log_and_later_keys_do_not_matter():
    imported, _, _ = run(["[2475] Mon Apr  5 10:10:10 2021 :: Transfer stats: " + line() + " TASKID=none"], NO_CONTEXT)
    assert len(imported) == 1


def test_an_unknown_peer_needs_the_option_and_is_refused_by_its_name_without():
    _, refused, _ = run([line(dest="[0.0.0.0]")], NO_CONTEXT)
    assert refused[0].field == "destination"
    assert "--destination" in refused[0].reason
    imported, _, _ = run(
        [line(dest="[0.0.0.0]"), line(dest="[0.0.0.0]", kind="STOR")], ImportContext(source="s", destination="d")
    )
    assert [item.record.destination for item in imported] == ["d", "dtn.example.org"]
    assert imported[1].record.source == "s"


def test_a_failed_transfer_is_a_record_of_a_failure():
    record = run([line(code="426", nbytes="500")], NO_CONTEXT)[0][0].record
    assert record.outcome.status is Status.FAILED
    assert (record.outcome.bytes_moved, record.outcome.files_failed) == (500, 1)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (line(date="20210405100000.0"), "ended_at"),
        (line(date="20210405101000.500000"), "ended_at"),
        (line(date="20211305101010.0"), "ended_at"),
        (line(start="soon"), "started_at"),
        (line(nbytes="-1"), "outcome.bytes_moved"),
        (line(nbytes="nan"), "outcome.bytes_moved"),
        (line(streams="0"), "parameters.parallelism"),
        (line()[:90], "direction"),
    ],
)
def test_a_bad_line_is_refused_with_its_field(bad, field):
    imported, refused, _ = run([line(), bad], NO_CONTEXT)
    assert len(imported) == 1
    assert [(item.row, item.field) for item in refused] == [(2, field)]


def test_messages_listings_and_empty_files_are_skipped_and_counted_apart():
    lines = [
        "[77] Mon Apr  5 10:09:59 2021 :: New connection from: [10.1.2.3]:50000",
        line(kind="MLSD", nbytes="700"),
        line(),
        line(nbytes="0"),
        line(kind="NLST", code="426"),
        "",
    ]
    imported, refused, report = run(lines, NO_CONTEXT)
    assert ([item.row for item in imported], refused) == ([3], [])
    assert report.skipped == {"listings and other commands": 2, "messages of the server": 1, "empty files": 1}


@pytest.mark.parametrize("dest", ["[0::0]", "[::]", "[::ffff:0.0.0.0]", "[]", "[::1]"])
def test_every_way_to_write_no_address_is_an_unknown_peer(dest):
    _, refused, _ = run([line(dest=dest)], NO_CONTEXT)
    assert "give it with --destination" in refused[0].reason


@pytest.mark.parametrize("dest", ["[::ffff:10.1.2.3]", "[10.1.2.3]", "[::FFFF:0A01:0203]"])
def test_an_address_written_in_several_ways_is_one_endpoint(dest):
    assert run([line(dest=dest)], NO_CONTEXT)[0][0].record.destination == "10.1.2.3"
    assert run([line(dest="[2001:DB8:0:0::7]")], NO_CONTEXT)[0][0].record.destination == "2001:db8::7"


@pytest.mark.parametrize("pattern", ["10.1.2.*", "10.1.0.0/16"])
def test_movers_of_a_pool_are_one_endpoint_under_an_alias(pattern):
    lines = [line(dest=f"[10.1.2.{mover}]") + " TASKID=abc" for mover in (5, 6, 7)]
    imported, _, report = run(lines, NO_CONTEXT)
    assert [item.record.parameters.concurrency for item in imported] == [1, 1, 1]
    assert any("10.1.2.5 and 10.1.2.6" in each and "--alias" in each for each in report.assumptions)
    joined, _, report = run(lines, ImportContext(aliases={pattern: "pool"}))
    assert [(item.record.destination, item.record.parameters.concurrency) for item in joined] == [("pool", 3)] * 3
    assert not any("--alias" in each for each in report.assumptions)


def test_a_rate_above_the_links_is_refused():
    _, refused, _ = run([line()], ImportContext(bandwidth_bps=1e8))
    assert refused[0].reason == "is above the link's rate: 800 Mbit/s on a link of 100 Mbit/s"


@pytest.mark.parametrize("date", ["20240331031000.0", "20240331033000.0"])
def test_line_that_ends_before_its_start_is_refused_alone(date):
    berlin = ImportContext(timezone=ZoneInfo("Europe/Berlin"))
    skipped = line(start="20240331023000.0", date=date)  # an hour that this night did not have
    night = line(start="20240331013000.0", date="20240331033000.0", nbytes="3600000000")
    imported, refused, _ = run([skipped, night], berlin)
    assert [(item.row, item.field) for item in refused] == [(1, "ended_at")]
    (record,) = (item.record for item in imported)
    assert (record.duration_s, record.outcome.throughput_bps) == (3600, pytest.approx(8e6))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (line(), line() + " LAST=1"),
        (line(), line().replace("PROG=", " PROG=")),
        (line(), "prefix " + line()),
        (line(start="20210405101000.2102"), line(start="20210405101000.002102").replace("START=", " START=")),
        (line(kind="STOR", nbytes="9007199254740993"), line(kind="STOR", nbytes="9007199254740993") + " LAST=1"),
    ],
)
def test_a_line_of_unusual_form_gives_the_record_of_the_usual_one(one, other):
    records = [run([text], NO_CONTEXT)[0][0].record for text in (one, other)]
    assert records[0] == replace(records[1], id=records[0].id)


def test_a_count_of_bytes_is_exact():
    record = run([line(nbytes="9007199254740993")], NO_CONTEXT)[0][0].record
    assert record.outcome.bytes_moved == 9_007_199_254_740_993


@pytest.mark.parametrize("zone", [None, ZoneInfo("Asia/Tokyo")])
@pytest.mark.parametrize("start", ["20210405241000.0", "00010101000000.0", "00000101000000.0", "20210230101010.0"])
def test_a_time_that_does_not_exist_is_refused(start, zone):
    _, refused, _ = run([line(start=start)], ImportContext(timezone=zone))
    assert [item.field for item in refused] == ["started_at"]


def to_case(text: str, change) -> str:
    return re.sub(r"(?<!\S)[A-Z.]+(?==)", lambda found: change(found[0]), text)


@pytest.mark.parametrize("change", [str.lower, str.title], ids=["lower", "title"])
def test_keys_may_be_in_any_case(change):
    lines = [to_case(line(file="/data/nbytes=5 x"), change), line(file="/b").replace("STREAMS", "streams")]
    imported, refused, report = run(lines, NO_CONTEXT)
    assert (report.format, refused) == ("gridftp", [])
    outcomes = [(each.record.outcome.bytes_moved, each.record.parameters.parallelism) for each in imported]
    assert outcomes == [(1_000_000_000, 4), (1_000_000_000, 4)]
    assert {each.record.outcome.status for each in imported} == {Status.SUCCEEDED}


@pytest.mark.parametrize("change", [str.lower, str.upper], ids=["lower", "upper"])
def test_keys_may_be_members_of_an_object(change):
    members = {change(key): value for key, value in (pair.split("=", 1) for pair in line().split())}
    imported, refused, report = run([json.dumps(members)], NO_CONTEXT)
    assert (report.format, refused) == ("gridftp", [])
    assert imported[0].record.outcome.bytes_moved == 1_000_000_000


def test_line_with_lower_keys_in_which_another_begins_is_refused():
    _, refused, _ = run([to_case(line(), str.lower)[:120] + to_case(line(), str.lower)], NO_CONTEXT)
    assert "another line begins within it" in refused[0].reason


@pytest.mark.parametrize("host", ["DTN.Example.org", "dtn.example.org."])
def test_host_is_one_endpoint_whatever_its_case(host):
    assert run([line().replace("dtn.example.org", host)], NO_CONTEXT)[0][0].record.source == "dtn.example.org"

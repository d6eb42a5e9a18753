"""Tables that hold ends alone, months of other languages, large units, and titles that leave a meaning open."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext


def _read_one(head: str, row: str, **context: object):
    imported, refused, _ = run([head, row], ImportContext(source="alpha", destination="beta", **context))
    assert refused == []
    return imported[0].record


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("end,duration (s),bytes,cc,p", "2026-03-01 10:00:20,20,40000000,2,1"),
        ("finished_at,elapsed,bytes_transferred", "2026-03-01T10:00:20Z,00:00:20,40000000"),
        ("completed_at,total_bytes,throughput (MB/s),cc,p", "2026-03-01 10:00:20,40000000,2,2,1"),
        ("end_ms,duration_ms,bytes,cc", "1772359220000,20000,40000000,2"),
    ],
)
def test_end_alone_gives_the_start_by_the_duration(head, row):
    record = _read_one(head, row)
    assert record.started_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert record.ended_at == datetime(2026, 3, 1, 10, 0, 20, tzinfo=UTC)


def test_yes_and_no_in_a_column_of_ends_are_no_times():
    record = _read_one("finished,duration (s),bytes,cc,p", "yes,20,40000000,2,1")
    assert record.duration_s == 20


@pytest.mark.parametrize(
    ("title", "ends"),
    [
        ("end", ("20.5", "41.5")),
        ("stop", ("5", "10")),
        ("end (s)", ("20.5", "41.5")),
        ("end_time", ("10:00:20", "10:01:20")),
        ("end", ("57:22.9", "58:22.9")),
        ("end_date,end_time", ("2026-03-01,10:00:20", "2026-03-01,10:01:20")),
    ],
)
def test_rows_whose_ends_are_no_dates_follow_each_other(title, ends):
    lines = [f"bytes,duration (s),cc,p,{title}", *(f"40000000,20,2,1,{end}" for end in ends)]
    context = ImportContext(source="alpha", destination="beta", started_at=datetime(2026, 3, 1, tzinfo=UTC))
    imported, refused, report = run(lines, context)
    starts = [datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 0, 0, 20, tzinfo=UTC)]
    assert ([item.record.started_at for item in imported], refused) == (starts, [])
    assert any("holds no dates" in assumption for assumption in report.assumptions)


@pytest.mark.parametrize("head", ["finished,bytes,duration (s),cc,p", "finished,bytes,duration (s),cc,p,start"])
@pytest.mark.parametrize(("good", "bad"), [("yes", "no"), ("True", "False"), ("1", "0")])
def test_ends_of_truth_values_say_whether_rows_succeeded(head, good, bad):
    lines = [head, *(f"{cell},40000000,20,2,1" for cell in (good, bad))]
    if head.endswith("start"):
        lines[1:] = [f"{line},2026-03-01 1{hour}:00:00" for hour, line in enumerate(lines[1:])]
    imported, refused, _ = run(lines, ImportContext(source="alpha", destination="beta"))
    assert ([item.record.outcome.status for item in imported], refused) == ([Status.SUCCEEDED, Status.FAILED], [])


@pytest.mark.parametrize(
    ("written", "month", "day"),
    [
        ("1. März 2026 {}", 3, 1),
        ("So 01. Mär 2026 {}", 3, 1),
        ("3 févr. 2026 {}", 2, 3),
        ("mar. 3 mars 2026 {}", 3, 3),
        ("3 de agosto de 2026 {}", 8, 3),
        ("03-Dez-2026 {}", 12, 3),
        ("3 giugno 2026 {}", 6, 3),
        ("3 maj 2026 {}", 5, 3),
    ],
)
def test_names_of_months_in_other_languages(written, month, day):
    row = f"{written.format('10:00:00')},{written.format('10:00:20')},40000000,2,1"
    record = _read_one("start,end,bytes,cc,p", row)
    assert record.started_at == datetime(2026, month, day, 10, tzinfo=UTC)
    assert record.duration_s == 20


@pytest.mark.parametrize("month", ["marraskuuta", "junk", "decimal"])
def test_word_that_only_begins_as_a_month_is_none(month):
    row = f"3 {month} 2026 10:00:00,3 {month} 2026 10:00:20,40000000,2,1"
    imported, refused, _ = run(["start,end,bytes,cc,p", row], ENDS)
    assert imported == []
    assert "is no date and time" in refused[0].reason


@pytest.mark.parametrize(
    ("head", "row", "size", "rate_bps"),
    [
        ("total size (PB),duration (s),cc,p,pp", "1.5,864000,2,1,1", 1.5e15, None),
        ("total size,duration (s),cc,p,pp", "1.5 PiB,864000,2,1,1", 1.5 * 2**50, None),
        ("total size,throughput,cc,p,pp", "10 GiB,8 Gibit/s,2,1,1", 10 * 2**30, 8 * 2**30),
    ],
)
def test_large_and_binary_units_are_read(head, row, size, rate_bps):
    record = _read_one(head, row)
    assert record.outcome.bytes_moved == pytest.approx(size)
    if rate_bps is not None:
        assert record.outcome.throughput_bps == pytest.approx(rate_bps)


def test_exact_bytes_go_before_megabytes_that_count_by_1024():
    record = _read_one("start,duration (s),bytes,size_mb,cc,p", "2026-03-01 10:00:00,20,41943040,40,2,1")
    assert record.outcome.bytes_moved == 41_943_040


def test_start_in_utc_next_to_an_end_of_no_zone_is_refused():
    lines = ["start (UTC),end,bytes,cc,p", "2026-03-01 09:00:00,2026-03-01 10:00:20,40000000,2,1"]
    context = ImportContext(source="alpha", destination="beta", timezone=ZoneInfo("Europe/Berlin"))
    with pytest.raises(InvalidValue, match="does not say its zone"):
        run(lines, context)


@pytest.mark.parametrize("title", ["threads", "Num Workers"])
def test_threads_alone_are_refused(title):
    lines = [f"start,end,bytes,{title}", "2026-03-01 09:00:00,2026-03-01 09:00:20,40000000,4"]
    with pytest.raises(InvalidValue, match="call it concurrency or parallelism"):
        run(lines, ENDS)


def test_threads_next_to_a_setting_say_nothing():
    record = _read_one("start,end,bytes,cc,threads", "2026-03-01 09:00:00,2026-03-01 09:00:20,40000000,2,16")
    assert record.parameters.list_known() == {"concurrency": 2}

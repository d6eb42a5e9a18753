"""Tables that say two things, or say it in a way that other tables share, are refused rather than read wrongly."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext

SPAN = "2026-03-01T10:00:00Z,2026-03-01T10:00:20Z"
LATER = "2026-03-01T10:05:00Z,2026-03-01T10:05:11Z"
BERLIN = ImportContext(source="a", destination="b", timezone=ZoneInfo("Europe/Berlin"))
SECOND_S = {"ticks of .NET": (10**7, 621_355_968_000_000_000), "NTP": (1, 2_208_988_800), "Apple": (1, -978_307_200)}


@pytest.mark.parametrize("epoch", SECOND_S.values(), ids=SECOND_S)
def test_counts_of_seconds_that_begin_elsewhere_are_no_times_since_1970(epoch):
    ticks, zero = epoch
    start = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp())
    row = f"{zero + ticks * start},{zero + ticks * (start + 20)},40000000"
    imported, refused, _ = run(["start,end,bytes", row])
    assert (imported, [item.field for item in refused]) == ([], ["started_at"])


@pytest.mark.parametrize(
    ("header", "row", "field"),
    [
        ("start,bytes,rate_MBps,throughput_Mbps,p", "2026-03-01T10:00:00Z,40000000,2,2,4", "throughput_Mbps"),
        ("start,duration_s,elapsed_ms,bytes,p", "2026-03-01T10:00:00Z,20,20,40000000,4", "elapsed_ms"),
        ("start,end,size_MB,bytes,p", f"{SPAN},40,80000000,4", "bytes"),
    ],
)
def test_second_column_of_a_quantity_that_differs_as_units_do_is_refused(header, row, field):
    with pytest.raises(InvalidValue, match="leave out one of them") as refused:
        run([header, row])
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("start,bytes,rate_MBps,throughput_Mbps,p", "2026-03-01T10:00:00Z,40000000,2,16,4"),
        ("start,duration_s,elapsed_s,bytes,p", "2026-03-01T10:00:00Z,20,31,40000000,4"),
        ("start,end,size_MB,bytes,files,p", f"{SPAN},20,40000000,2,4"),
    ],
)
def test_second_column_that_agrees_or_measures_something_else_is_left_alone(header, row):
    (imported,), refused, _ = run([header, row])
    assert (imported.record.outcome.bytes_moved, imported.record.duration_s, refused) == (40_000_000, 20, [])


def test_row_whose_duration_is_in_another_unit_than_start_and_end_say_is_refused():
    rows = [f"{SPAN},20,40000000", f"{LATER},11,40000000", f"{LATER},11000,40000000", f"{LATER},14,40000000"]
    imported, refused, _ = run(["start,end,duration,bytes", *rows])
    assert [item.row for item in imported] == [2, 3, 5]
    assert [(item.row, item.field) for item in refused] == [(4, "duration")]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Transfer OK", Status.SUCCEEDED),
        ("Transfer failed: timeout", Status.FAILED),
        ("upload was cancelled", Status.CANCELLED),
        ("Copy completed", Status.SUCCEEDED),
    ],
)
@pytest.mark.parametrize("title", ["status", "Result"])
def test_phrase_says_how_a_transfer_ended(title, text, status):
    rows = [f"{SPAN},40000000,{text}", f"{LATER},40000000,Transfer failed"]
    imported, refused, _ = run([f"start,end,bytes,{title}", *rows])
    assert ([item.record.outcome.status for item in imported], refused) == ([status, Status.FAILED], [])


@pytest.mark.parametrize("text", ["no errors, not completed", "completed with errors", "done, but failed"])
def test_phrase_that_says_both_or_is_turned_around_is_refused(text):
    imported, refused, _ = run(["start,end,bytes,status", f"{SPAN},40000000,{text}".replace(", ", " ")])
    assert (imported, [item.field for item in refused]) == ([], ["outcome.status"])


def test_numbers_of_states_that_are_no_exit_codes_are_refused():
    rows = [f"{SPAN},40000000,2", f"{LATER},40000000,3"]
    with pytest.raises(InvalidValue, match="call the column exit_code if 0 is a success"):
        run(["start,end,bytes,status", *rows])
    imported, _, _ = run(["start,end,bytes,status", *rows, f"{LATER},40000000,0"])
    assert [item.record.outcome.status for item in imported] == [Status.FAILED, Status.FAILED, Status.SUCCEEDED]


def test_row_of_totals_with_the_span_of_all_is_left_out_and_one_of_a_source_of_that_name_is_not():
    rows = [f"1,{SPAN},40000000", f"2,{LATER},40000000"]
    total = "TOTAL,2026-03-01T10:00:00Z,2026-03-01T10:05:11Z,80000000"
    assert len(run(["id,start,end,bytes", *rows, total])[0]) == 2
    context = ImportContext(destination="b")
    assert len(run(["source,start,end,bytes", *rows, total], context)[0]) == 3


def test_times_over_which_clocks_were_set_forward_show_that_the_zone_is_another():
    row = "2026-03-29 02:30:00,2026-03-29 02:30:20,40000000"
    imported, refused, _ = run(["start,end,bytes", row], BERLIN)
    assert (imported, len(refused)) == ([], 1)
    assert "clocks were set forward over it" in refused[0].reason
    assert len(run(["start,end,bytes", row], ENDS)[0]) == 1
    xferlog = "Sun Mar 29 02:30:20 2026 20 192.0.2.61 64000000 /srv/a b _ o r ann ftp 0 * c"
    _, refused, _ = run([xferlog], BERLIN)
    assert "clocks were set forward over it" in refused[0].reason

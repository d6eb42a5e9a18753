"""What titles and users state of CSV columns: what epochs count, units of cells, and whose errors a number is of."""

from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext

S, F = Status.SUCCEEDED, Status.FAILED
YEAR_2000 = datetime(2000, 1, 1, tzinfo=UTC)


def read(title: str, *cells: str, units: dict[str, str] | None = None, more: tuple[str, str] = ("", "")):
    rows = [f"{cell};1000000000;{10 + place}{more[1]}" for place, cell in enumerate(cells)]
    context = ImportContext(source="alpha", destination="beta", units=units or {})
    return run([f"{title};bytes;duration_s{more[0]}", *rows], context)


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("start_epoch", "946684800"),
        ("start_ms", "946684800000"),
        ("start_us", "946684800000000"),
        ("start_s", "946684800.0"),
    ],
)
def test_epoch_whose_title_says_what_it_counts_is_read_before_2001(title, cell):
    assert read(title, cell)[0][0].record.started_at == YEAR_2000


@pytest.mark.parametrize(("unit", "cell"), [("s", "946684800"), ("ms", "946684800000"), ("ns", "946684800000000000")])
def test_epoch_whose_unit_the_user_names_is_read_before_2001(unit, cell):
    _, refused, _ = read("start", cell)
    assert "--unit 'start=s'" in refused[0].reason
    assert read("start", cell, units={"start": unit})[0][0].record.started_at == YEAR_2000


def test_ends_are_epochs_of_a_unit_that_the_user_names_also_next_to_durations():
    units = {"start": "s", "end": "s"}
    imported, refused, _ = read("start", "3155760000", units=units, more=(";end", ";3155760010"))
    assert (imported[0].record.started_at, refused) == (datetime(2070, 1, 1, tzinfo=UTC), [])


@pytest.mark.parametrize("cell", ["700000000", "3884515200", "638000000000000000", "45000.5"])
def test_count_from_another_year_is_refused_with_what_settles_it(cell):
    imported, refused, _ = read("start", cell)
    assert (imported, refused[0].field) == ([], "started_at")
    assert "--unit 'start=s'" in refused[0].reason
    assert "have to be converted" in refused[0].reason


@pytest.mark.parametrize(
    ("title", "cell"), [("start_ms", "1772359200"), ("start_ns", "1772359200000000"), ("start_s", "12.5")]
)
def test_count_too_small_for_its_stated_unit_is_no_time(title, cell):
    imported, refused, _ = read(title, cell)
    assert (imported, refused[0].field) == ([], "started_at")


def test_epoch_with_too_many_digits_for_its_title_is_read_by_its_digits():
    assert read("start_s", "1772359200000")[0][0].record.started_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("titles", "cells", "expected"),
    [
        ("status;errors", ["success;2", "success;0", "failed;1", "failed;0", "-;1"], [S, S, F, F, F]),
        ("ok;num_errors", ["true;2", "false;2"], [S, F]),
        ("exit_code;error_count", ["0;3", "1;0"], [S, F]),
        ("http_status;errors", ["200;3", "503;1"], [S, F]),
        ("status;errors", ["success;timeout", "success;none"], [F, S]),
        ("status;failed", ["success;2", "success;0"], [F, S]),
        ("errors;x", ["2;", "0;"], [F, S]),
    ],
    ids=["words", "truth", "exit", "http", "message", "files", "alone"],
)
def test_number_of_errors_next_to_a_state_is_of_attempts_before_the_last(titles, cells, expected):
    rows = [f"2026-03-01T10:0{minute}:00Z;1000000000;10;{cell}" for minute, cell in enumerate(cells)]
    imported, refused, _ = run([f"start;bytes;duration_s;{titles}", *rows])
    assert ([item.record.outcome.status for item in imported], refused) == (expected, [])


def test_number_among_words_of_states_is_refused():
    imported, refused, _ = run(
        [
            "start,bytes,duration_s,status",
            "2026-03-01T10:00:00Z,9000000,10,0",
            "2026-03-01T10:05:00Z,9000000,10,success",
        ]
    )
    assert ([item.row for item in imported], [item.field for item in refused]) == ([3], ["outcome.status"])


@pytest.mark.parametrize(
    ("title", "cell", "total_bytes"),
    [
        ("size", "1,5 Go", 1_500_000_000),
        ("size", "1,5 Gio", 1_610_612_736),
        ("size (Mo)", "1500", 1_500_000_000),
        ("size in MB", "1500", 1_500_000_000),
        ("size (MB)", "1500 MB", 1_500_000_000),
        ("size_bytes", "1.5 GB", 1_500_000_000),
    ],
)
def test_unit_of_a_size_is_read_in_the_cells_and_in_the_title(title, cell, total_bytes):
    imported, _, _ = run([f"start;{title};duration_s", f"2026-03-01T10:00:00Z;{cell};10"])
    assert imported[0].record.dataset.total_bytes == total_bytes


@pytest.mark.parametrize(("title", "cell"), [("size (MB)", "1500 GB"), ("rate (MB/s)", "400 Mbit/s")])
def test_unit_of_the_cells_other_than_that_of_the_title_is_refused(title, cell):
    with pytest.raises(InvalidValue, match="by its title, and in"):
        run([f"start;bytes;{title};duration_s", f"2026-03-01T10:00:00Z;1500000000;{cell};30"])


def test_rate_in_octets_is_in_bytes():
    imported, _, _ = run(["start;bytes;speed", "2026-03-01T10:00:00Z;1500000000;50 Mo/s"])
    assert imported[0].record.outcome.throughput_bps == pytest.approx(4e8)


def test_failed_attempt_behind_the_last_one_is_no_transfer():
    head = "id,attempt,start,bytes,duration_s,status"
    rows = ["x,2,2026-03-01T10:05:00Z,9000000,10,ok", "x,1,2026-03-01T10:00:00Z,9000000,10,failed"]
    imported, refused, _ = run([head, *rows])
    assert ([item.row for item in imported], refused) == ([2], [])


@pytest.mark.parametrize("written", ["DTN.Example.ORG", "dtn.example.org.", "https://DTN.example.org:443/data"])
def test_host_is_one_endpoint_however_its_name_is_written(written):
    row = f"2026-03-01T10:00:00Z,9000000,10,{written}"
    assert run(["start,bytes,duration_s,source", row])[0][0].record.source == "dtn.example.org"
    given = ImportContext(source=written.partition("://")[2].partition(":")[0] or written, destination="beta")
    assert run(["start,bytes,duration_s", row.rpartition(",")[0]], given)[0][0].record.source == "dtn.example.org"


@pytest.mark.parametrize("name", ["CERN-PROD", "North DTN", "T1_DE_KIT_Disk", "s3://My.Bucket", "gs://Data.X/a"])
def test_names_that_are_no_hosts_stay_as_they_are(name):
    row = f"2026-03-01T10:00:00Z,9000000,10,{name}"
    assert run(["start,bytes,duration_s,source", row])[0][0].record.source == name.removesuffix("/a")

import os
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext, import_file

RESULTS = ["Download Results:", "gid   |stat|avg speed  |path/URI", "======+====+===========+========"]


def summary(*progress: str, at: str = "Tue Feb  6 10:00:30 2024") -> list[str]:
    return [f" *** Download Progress Summary as of {at} *** ", "=====", *progress, "FILE: /tmp/a", "-----"]


LOG = [
    "02/06 10:00:00 [NOTICE] Downloading 2 item(s)",
    *summary(
        "[#aaaaaa 100MiB/400MiB(25%) CN:4 DL:10MiB ETA:30s]",
        "[#bbbbbb 10MiB/200MiB(5%) CN:8 DL:10MiB ETA:19s]",
    ),
    "02/06 10:00:40 [NOTICE] Download complete: /tmp/a",
    *RESULTS,
    "aaaaaa|OK  |    10MiB/s|/tmp/a",
    "bbbbbb|INPR|   5.0MiB/s|/tmp/b",
]


def test_files_become_records_with_connections_as_parallelism_and_files_at_once_as_concurrency():
    imported, refused, report = run(LOG)
    complete, interrupted = (item.record for item in imported)
    assert (refused, report.format) == ([], "aria2")
    assert complete.parameters.list_known() == {"concurrency": 2, "parallelism": 4}
    assert complete.dataset.total_bytes == 400 * 2**20
    assert complete.outcome.throughput_bps == 80 * 2**20
    assert complete.ended_at == datetime(2024, 2, 6, 10, 0, 40, tzinfo=UTC)
    assert complete.started_at == datetime(2024, 2, 6, 10, tzinfo=UTC)
    assert (interrupted.outcome.status, interrupted.outcome.bytes_moved) == (Status.CANCELLED, 10 * 2**20)
    assert interrupted.dataset.total_bytes == 200 * 2**20
    assert interrupted.parameters.parallelism == 8


def test_a_readout_that_overwrites_itself_and_full_results_are_read():
    lines = ["[#cccccc 1MiB/8MiB(12%) CN:5 DL:1MiB ETA:7s]\r[#cccccc 4MiB/8MiB(50%) CN:3 DL:1MiB ETA:4s]"]
    lines += ["2024-02-06 10:00:40.123456 [NOTICE] [RequestGroup.cc:1] Download complete: /tmp/c"]
    lines += ["gid   |stat|avg speed  |  %|path/URI", "cccccc|OK  |   1.0MiB/s|100|/tmp/c"]
    record = run(lines)[0][0].record
    assert record.parameters.parallelism == 5
    assert record.ended_at == datetime(2024, 2, 6, 10, 0, 40, tzinfo=UTC)


def test_times_are_in_the_zone_of_the_context():
    tokyo = ImportContext(source="a", destination="b", timezone=ZoneInfo("Asia/Tokyo"))
    assert run(LOG, tokyo)[0][0].record.ended_at.astimezone(UTC).hour == 1


def test_a_file_lasts_as_long_as_it_did_where_the_clock_is_changed():
    berlin = ImportContext(source="a", destination="b", timezone=ZoneInfo("Europe/Berlin"))
    lines = [
        *summary("[#aaaaaa 100MiB/3600MiB(3%) CN:4 DL:1MiB]", at="Sun Mar 31 01:32:00 2024"),
        "03/31 03:30:00 [NOTICE] Download complete: /tmp/a",
        "aaaaaa|OK  |   1.0MiB/s|/tmp/a",
    ]
    record = run(lines, berlin)[0][0].record
    assert record.duration_s == 3600
    assert record.started_at == datetime(2024, 3, 31, 0, 30, tzinfo=UTC)


def test_a_notice_of_the_new_year_after_a_summary_of_the_old_is_of_the_new():
    lines = [
        *summary("[#aaaaaa 1MiB/8MiB(12%) CN:1 DL:1MiB]", at="Sun Dec 31 23:59:50 2023"),
        "01/01 00:00:05 [NOTICE] Download complete: /tmp/a",
        "aaaaaa|OK  |   1.0MiB/s|/tmp/a",
    ]
    assert run(lines)[0][0].record.ended_at.year == 2024


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        (["aaaaaa|OK  |    10MiB/s|/tmp/a"], "ended_at"),
        ([*summary(), "aaaaaa|OK  |    10MiB/s|/tmp/a"], "dataset.total_bytes"),
        ([*summary("[#aaaaaa 1MiB/8MiB(1%) CN:1]"), "aaaaaa|OK  |       0B/s|/tmp/a"], "outcome.throughput_bps"),
        ([*summary("[#aaaaaa 0B/0B CN:1]"), "aaaaaa|OK  |    10MiB/s|/tmp/a"], "dataset.total_bytes"),
        ([*summary("[#aaaaaa 1.1.1MiB/1MiB CN:1]"), "aaaaaa|ERR |    1MiB/s|/tmp/a"], "size"),
        ([*summary("[#aaaaaa 1MiB/8MiB(1%) CN:1]"), "aaaaaa|ODD |    10MiB/s|/tmp/a"], "outcome.status"),
        (summary("[#aaaaaa 1MiB/8MiB(1%) CN:1]"), "outcome.status"),
        (summary(at="Tue Feb 31 10:00:30 2024"), "ended_at"),
        (["99/99 10:00:40 [NOTICE] Download complete: /tmp/a"], "ended_at"),
    ],
)
def test_row_with_a_missing_value_is_refused_with_its_field(lines, field):
    imported, refused, _ = run(lines, format="aria2")
    assert imported == []
    assert [item.field for item in refused] == [field]


def test_without_a_summary_the_year_is_the_contexts():
    lines = ["[#aaaaaa 1MiB/8MiB(1%) CN:1 DL:1MiB]", "02/06 10:00:40 [NOTICE] Download complete: /tmp/a"]
    lines += ["aaaaaa|OK  |    1MiB/s|/tmp/a"]
    assert "--start" in run(lines)[1][0].reason
    dated = ImportContext(source="a", destination="b", started_at=datetime(2023, 5, 1, tzinfo=UTC))
    assert run(lines, dated)[0][0].record.ended_at.year == 2023


def test_without_a_summary_the_year_is_the_files(tmp_path):
    file = tmp_path / "console.log"
    lines = ["[#aaaaaa 1MiB/8MiB(1%) CN:1 DL:1MiB]", "12/30 10:00:40 [NOTICE] Download complete: /tmp/a"]
    file.write_text("\n".join([*lines, "aaaaaa|OK  |    1MiB/s|/tmp/a"]))
    written = datetime(2021, 1, 4, tzinfo=UTC).timestamp()
    os.utime(file, (written, written))
    importing = import_file(file, context=ENDS)
    (item,) = importing
    assert item.record.ended_at == datetime(2020, 12, 30, 10, 0, 40, tzinfo=UTC)
    assert any("the year is 2020" in each and "--start" in each for each in importing.report.assumptions)


def test_colours_of_a_terminal_do_not_hide_the_end_of_a_file():
    red = "\x1b[1;31m{}\x1b[0m"
    lines = [*summary("[#dddddd 50MiB/90MiB(55%) CN:2 DL:1MiB]"), f"02/06 10:01:15 [{red.format('NOTICE')}] "]
    lines[-1] += "Download complete: /tmp/d"
    record = run([*lines, f"dddddd|{red.format('OK')}  |   3.0MiB/s|/tmp/d"])[0][0].record
    assert record.ended_at == datetime(2024, 2, 6, 10, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize("format", ["auto", "aria2"])
def test_a_log_file_without_sizes_is_refused_with_what_to_keep(format):  # noqa: A002
    line = "2025-04-01 08:00:00.300000 [NOTICE] [RequestGroup.cc:1214] Download complete: /srv/x"
    with pytest.raises(InvalidValue, match=r"holds no sizes; keep what aria2c prints"):
        run([line], format=format)


def test_ends_come_from_the_context():
    with pytest.raises(InvalidValue, match="--destination: is needed"):
        run(LOG, ImportContext(source="a"))


def test_a_notice_of_the_old_year_before_a_summary_of_the_new_is_of_the_old():
    lines = ["12/31 23:59:50 [NOTICE] Downloading 1 item(s)"]
    lines += summary("[#aaaaaa 100MiB/400MiB(25%) CN:4 DL:10MiB ETA:30s]", at="Thu Jan  1 00:00:20 2026")
    lines += ["01/01 00:00:30 [NOTICE] Download complete: /tmp/a", *RESULTS, "aaaaaa|OK  |    10MiB/s|/tmp/a"]
    imported, refused, _ = run(lines)
    assert ([item.record.started_at for item in imported], refused) == (
        [datetime(2025, 12, 31, 23, 59, 50, tzinfo=UTC)],
        [],
    )


def test_a_torrent_ends_when_it_begins_to_seed():
    lines = ["02/06 10:00:00 [NOTICE] Downloading 1 item(s)"]
    lines += summary("[#aaaaaa 100MiB/400MiB(25%) CN:4 SD:2 DL:10MiB UL:1.0MiB(2.0MiB) ETA:30s]")
    lines += summary("[#aaaaaa SEED(0.3) CN:2 SD:0 UL:1.0MiB(300MiB)]", at="Tue Feb  6 10:00:45 2024")
    lines += summary("[#aaaaaa SEED(0.9) CN:2 SD:0 UL:1.0MiB(400MiB)]", at="Tue Feb  6 10:01:45 2024")
    lines += ["02/06 10:30:00 [NOTICE] Download complete: /tmp/a", *RESULTS, "aaaaaa|OK  |    10MiB/s|/tmp/a"]
    record = run(lines)[0][0].record
    assert record.ended_at == datetime(2024, 2, 6, 10, 0, 45, tzinfo=UTC)
    assert record.started_at == datetime(2024, 2, 6, 10, 0, 5, tzinfo=UTC)

"""Lines of FTP servers in other notations of xferlog, Pure-FTPd's own statistics, and times without a zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction
from tradewind_agent.importers import ImportContext

XFER = "Sun Mar  1 10:00:20 2026 20 192.0.2.61 64000000 /srv/a b _ o r ann ftp 0 * c"
STATS = "1772359220 69a40f6c.1b3 ann 192.0.2.61 {way} 64000000 20 /srv/run 2.h5"


@pytest.mark.parametrize(
    "line", [XFER.replace("Mar  1", "Mar 1"), XFER.replace(" ann ", " ann lee "), STATS.format(way="D")]
)
def test_line_of_an_ftp_server_is_read_in_each_notation(line):
    (row,), refused, report = run([line])
    ((plain,), _, _) = run([XFER])
    assert (refused, report.format, row.record.outcome) == ([], "xferlog", plain.record.outcome)
    assert row.record.ended_at == plain.record.ended_at == datetime(2026, 3, 1, 10, 0, 20, tzinfo=UTC)
    assert (row.record.source, row.record.destination) == ("alpha", "192.0.2.61")


def test_upload_to_pure_ftpd_goes_to_the_server():
    ((row,), _, _) = run([STATS.format(way="U")])
    assert (row.record.direction, row.record.destination) == (Direction.UPLOAD, "beta")


def test_file_name_that_looks_like_the_end_of_a_line_is_a_name():
    ((row,), _, _) = run([XFER.replace("/srv/a", "/srv/b _ i r x ftp 0 * c")])
    assert row.record.direction is Direction.DOWNLOAD


WGET = (
    "--{at}--  https://m.example.org/a\nHTTP request sent, awaiting response... 200 OK\n"
    "{at} (488 KB/s) - 'a' saved [10000000/10000000]"
)
RCLONE = (
    "{at} INFO  : \nTransferred: 1 MiB / 1 MiB, 100%, 50 KiB/s, ETA 0s\nTransferred: 1 / 1, 100%\nElapsed time: 20.0s"
)


@pytest.mark.parametrize(
    ("lines", "twice", "once"),
    [
        (XFER, "Sun Oct 25 02:30:20 2026", "Sun Oct 25 03:30:20 2026"),
        (WGET, "2026-10-25 02:30:20", "2026-10-25 03:30:20"),
        (RCLONE, "2026/10/25 02:30:20", "2026/10/25 03:30:20"),
    ],
)
def test_hour_that_the_clock_showed_twice_is_named(lines, twice, once):
    zone = ImportContext(source="alpha", destination="beta", timezone=ZoneInfo("Europe/Berlin"))
    for at, is_named in ((twice, True), (once, False)):
        text = lines.replace("Sun Mar  1 10:00:20 2026", at).replace("{at}", at)
        imported, _, report = run(text.split("\n"), zone)
        found = any("showed twice" in noted for noted in report.assumptions)
        assert (len(imported), found) == (1, is_named)

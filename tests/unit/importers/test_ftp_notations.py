"""Lines of FTP servers in other notations of xferlog, and Pure-FTPd's own statistics."""

from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction

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

"""Files of wget and the requests that they are of: by FTP, given up, or in a log whose newest line is first."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.transfer import Status

_FTP = [
    "           => 'a'",
    "Logging in as anonymous ... Logged in!",
    "==> SYST ... done.    ==> PWD ... done.",
    "==> TYPE I ... done.  ==> CWD not needed.",
    "==> SIZE a ... 400000",
    "==> PASV ... done.    ==> RETR a ... done.",
    "Length: 400000 (391K) (unauthoritative)",
    "",
]


@pytest.mark.parametrize("ended_at", ["10:00:05", "10:00:01", "09:00:15"])
@pytest.mark.parametrize("answers", [_FTP, ["==> RETR a ... done."], ["Longueur : 400000 (391K) (non certifiée)"]])
def test_file_by_ftp_is_read_in_the_second_of_its_request_and_where_the_clock_was_set_back(answers, ended_at):
    request, end = "--2026-03-01 10:00:05--  ftp://h.example.org/a", "(9.54 MB/s) - 'a' saved [400000]"
    imported, refused, _ = run([request, *answers, f"2026-03-01 {ended_at} {end}"], ENDS)
    assert ([each.record.outcome.bytes_moved for each in imported], refused) == ([400_000], [])


def _list_two(end: str) -> list[str]:
    lines = []
    for second, host in ((0, "north"), (10, "south")):
        lines += [f"--2026-03-01 10:00:{second:02}--  ftp://{host}.example.org/a", *_FTP]
        lines += [f"2026-03-01 10:00:{second + 5:02} (9.54 MB/s) - {end}", ""]
    return lines


@pytest.mark.parametrize(
    "end", ["'a' saved [400000]", "Read error at byte 40000/400000 (Connection reset). Giving up."]
)
def test_end_behind_the_request_of_another_file_is_refused(end):
    lines = _list_two(end)
    assert [each.record.source for each in run(lines, ENDS)[0]] == ["north.example.org", "south.example.org"]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert "north.example.org" not in {each.record.source for each in imported}
    assert "south.example.org" not in {each.record.source for each in imported}
    assert "sort the log by time" in refused[-1].reason


def test_file_that_was_given_up_before_its_first_byte_is_skipped():
    lines = [
        "--2026-03-01 10:00:00--  https://h.example.org/a",
        "HTTP request sent, awaiting response... 200 OK",
        "2026-03-01 10:00:05 (0.00 B/s) - Connection closed at byte 0. Giving up.",
        "--2026-03-01 10:00:06--  https://h.example.org/b",
        "HTTP request sent, awaiting response... 200 OK",
        "2026-03-01 10:00:09 (9.54 MB/s) - Connection closed at byte 20000000. Giving up.",
    ]
    imported, refused, report = run(lines, ENDS)
    assert [(each.record.outcome.status, each.record.outcome.bytes_moved) for each in imported] == [
        (Status.FAILED, 20_000_000)
    ]
    assert refused == []
    assert any("given up" in why for why in report.skipped)


@pytest.mark.parametrize("rate", ["19.1 MB/s", "19.1MB/s"])
def test_saved_file_that_is_written_otherwise_or_runs_into_a_request_is_refused(rate):
    saved = f"2026-03-01 10:00:20 ({rate}) - 'a' saved [400000000/400000000]"
    lines = ["--2026-03-01 10:00:00--  http://north.example.org/a", "200 OK"]
    following = ["--2026-03-01 11:00:00--  http://south.example.org/b", "200 OK"]
    end = "2026-03-01 11:00:20 (19.1 MB/s) - 'b' saved [400000000/400000000]"
    imported, (refused,), _ = run([*lines, saved + following[0], following[1], end], ENDS, format="wget")
    assert ([each.record.source for each in imported], refused.field) == (["south.example.org"], "row")


@pytest.mark.parametrize(
    "answer", ["ERROR 404: Not Found.", "FEHLER 503: Service Unavailable.", "erreur 403\u00a0: x", "错误 404：x"]
)
def test_file_that_the_server_did_not_give_is_counted(answer):
    request = "--2026-03-01 10:00:05--  https://h.example.org/a"
    imported, refused, report = run([request, f"2026-03-01 10:00:05 {answer}"], ENDS)
    assert (imported, refused, report.skipped) == ([], [], {"files that the server did not give": 1})

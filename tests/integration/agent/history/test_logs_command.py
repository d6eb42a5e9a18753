"""``tradewind logs``: folders and files uploaded, watched, and what is told of them."""

import gzip

from tests.integration.agent.support.command import run
from tests.unit.agent.records import lines


def test_a_folder_of_logs_is_uploaded_with_a_report(logged_in, service, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.ndjson").write_bytes(b"".join(lines(3)) + b'{"outcome": 1, "dataset": 1}\n')
    (logs / "b.ndjson.gz").write_bytes(gzip.compress(b"".join(lines(2, 4))))
    outcome = run("logs", "upload", str(logs), "--json", env=logged_in)
    assert outcome.code == 1, outcome.err  # for the row that could not be read
    assert (outcome.document["accepted"], outcome.document["refused"]) == (5, 1)
    first, second = outcome.document["files"]
    assert (first["format"], first["imported"], first["refused"]) == ("ndjson", 3, 1)
    assert second["imported"] == 2
    again = run("logs", "upload", str(logs), env=logged_in)
    assert "0 rejected" in again.out
    assert "5 known before" in again.out
    assert again.out.endswith("1 row could not be read and was not sent; the reasons are above\n")
    assert len(service.rows) == 5


def test_an_upload_of_which_nothing_is_accepted_ends_with_1_and_says_why(logged_in, service):
    service.refused_rows = {1, 2}
    outcome = run("logs", "upload", "-", env=logged_in, stdin=b"".join(lines(2)))
    assert outcome.code == 1
    assert "0 accepted, 2 rejected" in outcome.out
    assert "rejected 2 (rows 1, 2 of the upload): source: is refused" in outcome.out


def test_an_upload_of_which_some_is_accepted_ends_with_0(logged_in, service):
    service.refused_rows = {2}
    outcome = run("logs", "upload", "-", "--json", env=logged_in, stdin=b"".join(lines(2)))
    assert outcome.code == 0
    assert (outcome.document["accepted"], outcome.document["rejected"]) == (1, 1)


def test_an_upload_names_an_empty_folder(logged_in, tmp_path):
    (tmp_path / "empty").mkdir()
    outcome = run("logs", "upload", str(tmp_path / "empty"), env=logged_in)
    assert outcome.code == 2
    assert f"{tmp_path / 'empty'} is a folder without files" in outcome.error


def test_broken_rows_of_a_log_are_named_by_kind_with_the_first_of_them(env, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(lines(1)[0] + b'{"outcome": 1, "dataset": 1}\n' * 5)
    outcome = run("logs", "upload", str(log), "--dry-run", env=env)
    assert "1 record, 5 rows refused" in outcome.out
    assert "refused 5 (rows 2, 3, 4, 5, 6): " in outcome.out
    assert outcome.out.endswith("5 rows could not be read and would not be sent; the reasons are above\n")
    assert outcome.code == 1


def test_a_dry_run_of_an_upload_needs_no_service(env, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"".join(lines(3)))
    outcome = run("logs", "upload", str(log), "--dry-run", "--json", env=env)
    assert outcome.code == 0, outcome.err
    assert outcome.document["files"][0]["imported"] == 3
    assert "would be uploaded" in run("logs", "upload", str(log), "--dry-run", env=env).out


def test_logs_that_cannot_be_read_are_reported_and_the_others_go_on(logged_in, service, tmp_path):
    (tmp_path / "README").write_text("nothing to see here\n")
    (tmp_path / "log").write_bytes(lines(1)[0])
    outcome = run("logs", "upload", str(tmp_path / "README"), str(tmp_path / "log"), "--json", env=logged_in)
    assert outcome.code == 1
    assert "--format" in outcome.document["files"][0]["failure"]
    assert len(service.rows) == 1


def test_an_upload_without_a_terminal_reports_how_many_rows_are_through(logged_in, service):
    often = logged_in | {"TRADEWIND_PROGRESS": "0s"}
    outcome = run("logs", "upload", "-", env=often, stdin=b"".join(lines(3)))
    assert outcome.error.startswith("tradewind: uploading: 3 rows after ")


def test_a_watch_reports_what_it_has_done_when_there_is_news(logged_in, service, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.ndjson").write_bytes(b"".join(lines(3)))
    often = logged_in | {"TRADEWIND_PROGRESS": "0s"}
    outcome = run("logs", "watch", str(tmp_path / "logs"), "--once", env=often)
    told = outcome.err.splitlines()
    assert told[0] == "tradewind: 3 records read, 0 rows refused, 0 records taken by the service"
    assert told[-1] == "tradewind: 3 records read, 0 rows refused, 3 records taken by the service"
    assert len(set(told)) == len(told)
    assert run("logs", "watch", str(tmp_path / "logs"), "--once", env=often).err == ""


def test_a_watch_that_ends_names_what_it_has_not_read(logged_in, service, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.ndjson").write_bytes(b"".join(lines(3)))
    (tmp_path / "logs" / "README").write_text("nothing to see here\n")
    told = run("logs", "watch", str(tmp_path / "logs"), "--once", env=logged_in)
    assert told.code == 0, "what is no log is no failure of the watch"
    assert told.out.endswith("3 records taken by the service; not read, or in part: README\n")
    outcome = run("logs", "watch", str(tmp_path / "logs"), "--once", "--json", env=logged_in)
    assert outcome.code == 0
    (unread,) = outcome.document["not_read"]
    assert unread["failed"] is False
    assert unread["file"] == "README"
    assert unread["reason"].startswith("left alone: ")


def test_a_watch_of_a_log_that_cannot_be_read_fails(logged_in, service, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "transfers.log").symlink_to("/proc/self/mem")  # whose beginning nobody can read
    outcome = run("logs", "watch", str(tmp_path / "logs"), "--once", "--json", env=logged_in)
    assert outcome.code == 1
    (unread,) = outcome.document["not_read"]
    assert (unread["file"], unread["failed"]) == ("transfers.log", True)
    assert "cannot be read" in outcome.err


def test_a_log_of_nothing_but_chatter_and_an_empty_one_end_with_0(env, tmp_path):
    (tmp_path / "empty.log").touch()
    (tmp_path / "idle.log").write_text(
        '{"level":"info","msg":"There was nothing to transfer","time":"2026-01-02T03:04:05Z"}\nStopped the copy\n'
    )
    ends = ["--source", "a", "--destination", "b"]
    logs = [str(tmp_path / name) for name in ("empty.log", "idle.log")]
    outcome = run("logs", "upload", *logs, *ends, "--dry-run", env=env)
    assert outcome.code == 0, outcome.out
    assert "empty.log: empty, 0 records, 0 rows refused" in outcome.out
    assert "skipped 1 line: no messages of rclone" in outcome.out
    named = run("logs", "upload", logs[1], *ends, "--format", "aria2", "--dry-run", env=env)
    assert named.code == 1


def test_units_decimal_marks_and_aliases_are_options_of_an_upload(env, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("to;size;duration_s;cc\n192.0.2.7;2.500;30;2\n192.0.2.8;2.500;30;2\n")
    options = ["--source", "a", "--unit", "size=MB", "--decimal", "comma", "--alias", "192.0.2.*=pool"]
    outcome = run("logs", "upload", str(log), *options, "--dry-run", "--json", env=env)
    assert outcome.code == 0, outcome.out
    (file,) = outcome.document["files"]
    assert [(link["destination"], link["records"]) for link in file["links"]] == [("pool", 2)]
    assert {"column": "size", "unit": "MB a file", "evidence": "named by --unit"} in file["units"]
    for wrong in (["--unit", "size"], ["--decimal", "dot"], ["--alias", "x"], ["--start", "noon"]):
        outcome = run("logs", "upload", str(log), *wrong, "--dry-run", env=env)
        assert (outcome.code, wrong[0] in outcome.error) == (2, True), outcome.error

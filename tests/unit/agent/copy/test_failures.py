"""The failures of a copy in its closing line."""

from tradewind_agent.copy.reporting.failures import format_failures, list_failures, list_further_failures
from tradewind_agent.engine.jobs import FileFailure, TransferResult
from tradewind_agent.errors import RefusedByServer, StorageFailed

AGAIN = "run the same command again to go on with what is missing"
DROPPED = FileFailure("http://host/a", "the connection was dropped (tried 6 times)", is_retryable=True)
MISSING = FileFailure("http://host/b", "the server answered 404 Not Found")


def format_result(*failures: FileFailure, stopped: Exception | None = None) -> str:
    result = TransferResult(
        bytes_moved=1, files_done=1, files_skipped=0, failures=failures, duration_s=1.0, stopped=stopped
    )
    return format_failures(list_failures(result, lambda url: url.replace("http://host", "s3://data")))


def test_line_names_the_first_file_as_the_user_writes_it():
    assert format_result(MISSING) == "; 1 failed, first s3://data/b: the server answered 404 Not Found"


def test_failure_that_may_pass_is_answered_with_another_run():
    assert format_result(MISSING, DROPPED).endswith(AGAIN)
    assert AGAIN not in format_result(MISSING)


def test_stopped_copy_says_why_and_counts_the_files_that_failed_before():
    refused = RefusedByServer("no such class", retryable=False)
    assert format_result(stopped=refused) == "; stopped: no such class"
    assert format_result(MISSING, stopped=refused) == "; stopped: no such class; 1 failed"


def test_full_disk_is_answered_with_another_run():
    assert format_result(stopped=StorageFailed("no space is left; make room there")).endswith(AGAIN)


def test_further_failures_are_named_up_to_a_number():
    failures = list_failures(
        TransferResult(bytes_moved=0, files_done=0, files_skipped=0, failures=(MISSING,) * 13, duration_s=1.0), str
    )
    lines = list_further_failures(failures)
    assert len(lines) == 11
    assert lines[-1] == "2 more failed; --json lists all"

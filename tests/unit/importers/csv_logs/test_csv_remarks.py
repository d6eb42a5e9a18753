"""Remarks of a CSV log that are verdicts of a failure, and others that only have a word of one."""

import pytest

from tradewind_agent.history.importers.csv_logs.remarks import names_failure


@pytest.mark.parametrize(
    "text",
    [
        "FAILED", "FAILED: timeout", "failed (2 of 5 files)", "failed - 0 of 5 files", "failed, none of them arrived",
        "Error: timeout", "error: no space left on device", "Error 404", "error=ETIMEDOUT", "[error] no route to host",
        "aborted by user", "Transfer FAILED, rerun by hand", "transfer did fail", "Connection reset by peer",
        "No space left on device", "permission denied", "did not finish", "not complete", "killed", "cancelled",
        "timed out", "timeout", "timeout after 30 s", "incomplete: 3 of 5", "stopped at 50 %", "fehlgeschlagen",
        "500 Internal Server Error", "failed with exit code 0", "failed to open the file", "✗", "❌ failed",
    ],
)  # fmt: skip
def test_verdict_of_a_failure_is_one(text):
    assert names_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "no", "n", "N", "false", "0 failed", "0 errors", "errors: 0", "error 0", "Error: none", "error code 0",
        "failed: 0", "failed=0", "failure: none", "none failed", "error-free", "fail-safe copy", "failover to link 2",
        "failed over to the second link", "timeout=30", "timeout: 30", "timeout 30 s", "retry after timeout",
        "killed background job before", "disk failure at site B", "error logs of 2025", "no error", "ok after retry",
        "done, 2 errors corrected", "broken pipe earlier, resumed", "first try failed, second ok",
        "cancelled the other job", "interrupted once", "incomplete list of files", "copy of failed disk",
        "aborted run repeated", "Test of error handling", "denied list updated", "404 files", "450 files found",
    ],
)  # fmt: skip
def test_word_of_a_failure_among_others_is_none(text):
    assert not names_failure(text)

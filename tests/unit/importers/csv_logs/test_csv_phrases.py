"""What a cell means that holds a word of several languages, or a word with a reason behind it."""

import pytest

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_verdicts import NoTransfer
from tradewind_agent.history.importers.csv_words.cells import read_failure, read_word
from tradewind_agent.history.importers.csv_words.phrases import find_word
from tradewind_agent.history.importers.csv_words.remarks import names_failure


@pytest.mark.parametrize(
    "text",
    [
        "nicht erfolgreich",
        "niet geslaagd",
        "non riuscito",
        "não concluído",
        "nao concluido",
        "ohne Erfolg",
        "sans succès",
        "sin éxito",
        "Fertig mit Fehlern",
        "completado con errores",
        "beendet (Fehler)",
        "Beendet: Fehler 5",
        "Verbindung beendet",
        "Transfer nicht ok",
        "copied 3 of 5",
        "3 of 5 transferred",
        "transferred 1 of 3 parts",
        "fertig 50 %",
        "complete 50%",
        "OK (3 of 5)",
        "done: 2/3",
        "completed: failed",
        "ok (timeout)",
        "done; 2 failed",
        "finished: checksum mismatch",
        "ok, but checksum differs",
        "done (exit code 23)",
    ],
)
def test_success_that_a_text_limits_or_denies_is_none(text):
    assert find_word(text) is None
    with pytest.raises(InvalidValue, match="neither a success nor a failure"):
        read_word(text)


@pytest.mark.parametrize(
    "text",
    [
        "Terminé",
        "Erfolgreich!",
        "copied",
        "SUCCEEDED (2 retries)",
        "completed: 10 files",
        "OK (12.3 MB in 4 s)",
        "ok - 226 Transfer complete",
        "Transfer OK",
        "done (2 of 2 files)",
        "100 % done",
        "OK (no errors)",
        "completed (exit code 0)",
        "done: /data/north/run_7.tar",
        "copied file of host alpha, transfer complete",
    ],
)
def test_success_stays_one_with_what_is_usual_behind_it(text):
    assert find_word(text) is Status.SUCCEEDED


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("FAILED: timeout", Status.FAILED),
        ("failed (2 of 5)", Status.FAILED),
        ("Échec", Status.FAILED),
        ("abgebrochen", Status.CANCELLED),
        ("aborted - by user", Status.CANCELLED),
        ("skipped: not newer", NoTransfer.SKIPPED),
    ],
)
def test_other_words_mean_the_same_whatever_the_reason(text, verdict):
    assert find_word(text) is verdict


@pytest.mark.parametrize(
    "message",
    [
        "Verbindung vom Server beendet",
        "Upload nicht abgeschlossen",
        "fertig",
        "copied 3 of 5",
        "uploaded partial file",
        "done 50 %",
        "Upload complete but verify mismatch",
        "file incomplete, connection done",
    ],
)
def test_message_of_an_error_is_a_failure_in_any_language(message):
    assert read_failure(message) is Status.FAILED


@pytest.mark.parametrize("message", ["", "0 errors", "no error", "Transfer complete", "0"])
def test_message_that_there_was_no_error_is_none(message):
    assert read_failure(message) is Status.SUCCEEDED


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

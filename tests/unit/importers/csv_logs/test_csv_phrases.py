"""What a cell means that holds a word of several languages, or a word with a reason behind it."""

import pytest

from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_verdicts import NoTransfer
from tradewind_agent.history.importers.csv_words.cells import read_failure, read_word
from tradewind_agent.history.importers.csv_words.phrases import find_word


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

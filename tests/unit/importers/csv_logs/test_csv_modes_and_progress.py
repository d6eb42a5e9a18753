"""Rows of CSV logs whose mode says that nothing crossed the network, or whose progress says that they go on."""

import pytest

from tests.unit.importers.logs import run

ROWS = [
    "2026-03-01 10:00:00,2026-03-01 10:00:20,40000000,10,2",
    "2026-03-01 11:00:00,2026-03-01 11:00:20,50000000,10,2",
]


def read_sizes(title: str, *cells: str, status: str = ""):
    header = f"start,end,bytes,files,cc,{title}" + (",status" if status else "")
    rows = [f"{row},{cell}" + (f",{status}" if status else "") for row, cell in zip(ROWS, cells, strict=True)]
    imported, refused, _ = run([header, *rows])
    assert refused == []
    return [row.record.outcome.bytes_moved for row in imported]


@pytest.mark.parametrize(
    ("title", "unmoved", "moved"),
    [
        ("mode", "dry-run", "copy"),
        ("action", "server-side copy", "upload"),
        ("action", "Skip", "transfer"),
        ("operation", "dry run", "copy"),
        ("transfer_mode", "simulated", "binary"),
    ],
)
def test_row_whose_mode_moves_nothing_over_the_network_is_left_out(title, unmoved, moved):
    assert read_sizes(title, unmoved, moved) == [50_000_000]


@pytest.mark.parametrize("modes", [("active", "passive"), ("overwrite", "skip"), ("stat", "normal")])
def test_mode_of_another_meaning_leaves_no_row_out(modes):
    assert read_sizes("mode", *modes) == [40_000_000, 50_000_000]


@pytest.mark.parametrize(
    ("title", "good", "bad"),
    [
        ("errors", "2", "426 Connection closed; transfer aborted"),
        ("error description", "The operation completed successfully", "Access is denied"),
        ("interrupted", "never", "by user"),
        ("error message", "Transfer complete", "timeout"),
    ],
)
def test_text_of_a_failure_decides_and_that_of_a_success_is_none(title, good, bad):
    header = f"start,end,bytes,files,cc,status,{title}"
    imported, refused, _ = run([header, f"{ROWS[0]},complete,{good}", f"{ROWS[1]},complete,{bad}"])
    assert ([row.record.outcome.status.value for row in imported], refused) == (["succeeded", "failed"], [])


def test_row_without_errors_is_a_success():
    assert read_sizes("no_errors", "true", "true") == [40_000_000, 50_000_000]


@pytest.mark.parametrize(
    ("title", "cells"),
    [("progress", ("50%", "100%")), ("percent_complete", ("50.5", "100")), ("progress", ("0.5", "1.0"))],
)
def test_row_of_a_transfer_that_goes_on_is_left_out(title, cells):
    assert read_sizes(title, *cells) == [50_000_000]


def test_state_goes_before_progress():
    assert read_sizes("progress", "99%", "100%", status="completed") == [40_000_000, 50_000_000]


def test_progress_in_words_leaves_no_row_out():
    assert read_sizes("progress", "fine", "100%") == [40_000_000, 50_000_000]


def test_cell_in_quotes_behind_a_blank_holds_its_delimiters():
    imported, refused, _ = run(
        ["start, end, note, bytes, cc", '2026-03-01 10:00:00, 2026-03-01 10:00:20, "a, b", 400, 2']
    )
    assert ([row.record.outcome.bytes_moved for row in imported], refused) == ([400], [])

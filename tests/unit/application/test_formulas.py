"""Texts that a spreadsheet would run are marked in every file that the service writes."""

import csv
from io import StringIO

import pytest

from services.application.billing.usage import format_file
from services.application.shared.formulas import mark_formula


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_text_that_a_spreadsheet_would_run_is_marked_in_files(start: str) -> None:
    text = f"{start}HYPERLINK(1)"
    assert mark_formula(text) == f"'{text}"
    content = b"".join(format_file(["name"], [[text]])).decode()
    assert list(csv.reader(StringIO(content, newline=""))) == [["name"], [f"'{text}"]]


@pytest.mark.parametrize("text", ["", "a=b", "1", "'=1", "site-1"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert mark_formula(text) == text

"""Which version of a file an answer names."""

from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.local.identity import FileIdentity

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize("time", ["Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:01 GMT"])
def test_time_of_1970_that_all_versions_have_names_none(time: str):
    answered = FileIdentity.from_answer({"last-modified": time}, 10, now=NOW)
    assert (answered.last_modified, answered.validator) == (None, None)


def test_later_time_names_a_version():
    answered = FileIdentity.from_answer({"last-modified": "Mon, 05 Jan 1970 00:00:00 GMT"}, 10, now=NOW)
    assert answered.validator == "Mon, 05 Jan 1970 00:00:00 GMT"


def test_empty_tag_names_no_version():
    answered = FileIdentity.from_answer({"etag": '""', "last-modified": "Mon, 05 Jan 1970 00:00:00 GMT"}, 10, now=NOW)
    assert (answered.etag, answered.validator) == (None, "Mon, 05 Jan 1970 00:00:00 GMT")
    assert FileIdentity.from_answer({"etag": '""'}, 10, now=NOW).validator is None


@pytest.mark.parametrize(("date", "is_strong"), [("19:00:00", False), ("19:00:01", True)])
def test_tag_of_time_and_size_is_no_stronger_than_the_time(date: str, *, is_strong: bool):
    fields = {
        "last-modified": "Mon, 30 Nov 2026 19:00:00 GMT",
        "date": f"Mon, 30 Nov 2026 {date} GMT",
        "etag": f'"{1_796_065_200:x}-{300:x}"',
    }
    assert FileIdentity.from_answer(fields, 300).validator == (fields["etag"] if is_strong else None)
    assert FileIdentity.from_answer(fields, 301).validator == fields["etag"]
    assert FileIdentity.from_answer({**fields, "etag": '"other"'}, 300).validator == '"other"'


def test_tag_that_is_made_of_a_time_that_all_versions_have_names_none():
    fields = {"last-modified": "Thu, 01 Jan 1970 00:00:01 GMT", "etag": '"1-12c"'}
    answered = FileIdentity.from_answer(fields, 300, now=NOW)
    assert (answered.etag, answered.validator) == (None, None)
    assert FileIdentity.from_answer(fields, 301, now=NOW).validator == '"1-12c"'


@pytest.mark.parametrize(("day", "is_strong"), [("01 Dec", False), ("03 Dec", True)])
def test_tag_of_a_time_that_no_clock_has_had_counts_as_it_is(day: str, *, is_strong: bool):
    modified_at = datetime(2026, 12, int(day[:2]), tzinfo=UTC)
    fields = {
        "last-modified": f"{modified_at:%a}, {day} 2026 00:00:00 GMT",
        "date": "Mon, 30 Nov 2026 12:00:00 GMT",
        "etag": f'"{int(modified_at.timestamp()):x}-{300:x}"',
    }
    assert FileIdentity.from_answer(fields, 300, now=NOW).validator == (fields["etag"] if is_strong else None)

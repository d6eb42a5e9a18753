"""Entries of listings that no file can be: sizes, times and names out of all bounds."""

import json
from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.listing import parse_index
from tradewind_agent.engine.remote.xml_index import parse_multistatus
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.bucket_pages import parse_bucket_page

URL = Url.parse("http://host/data/")
IMPOSSIBLE_SIZES = ["9" * 19, "9" * 30, "9" * 5000]


def parse_json(text: str) -> IndexPage:
    return parse_index(URL, "application/json", text.encode())


def bucket(size: str) -> bytes:
    return f"<ListBucketResult><Contents><Key>data/a</Key><Size>{size}</Size></Contents></ListBucketResult>".encode()


@pytest.mark.parametrize("size", ["1e999", "-5", "NaN", "true", '"x"', "null", *IMPOSSIBLE_SIZES[:2]])
def test_impossible_size_in_json_is_unknown(size: str):
    (entry,) = parse_json(f'[{{"name": "a", "type": "file", "size": {size}}}]').entries
    assert (entry.name, entry.size_bytes) == ("a", None)


@pytest.mark.parametrize("size", ["5", "5.0", '"5"'])
def test_size_in_json_may_be_any_kind_of_number(size: str):
    (entry,) = parse_json(f'[{{"name": "a", "type": "file", "size": {size}}}]').entries
    assert entry.size_bytes == 5


@pytest.mark.parametrize("size", IMPOSSIBLE_SIZES)
@pytest.mark.parametrize(
    "row", ['<a href="a">a</a>   21-Nov-2026 03:58   {}\r\n', '<a href="a">a</a> 2026-11-21 03:58  {}P']
)
def test_impossible_size_in_html_is_unknown(row: str, size: str):
    page = f'<pre><a href="../">../</a>\r\n{row.format(size)}</pre><hr></body>\r\n</html>\r\n'
    (entry,) = parse_index(URL, "text/html", page.encode()).entries
    assert (entry.name, entry.size_bytes) == ("a", None)


@pytest.mark.parametrize("size", [*IMPOSSIBLE_SIZES, "²", "-1"])
def test_impossible_size_in_xml_is_unknown(size: str):
    (listed,) = parse_index(URL, "application/xml", bucket(size)).entries
    (stored,) = parse_bucket_page(URL, bucket(size), "data/").objects
    assert (listed.size_bytes, stored.size_bytes) == (None, None)
    properties = f"<href>/data/a</href><getcontentlength>{size}</getcontentlength>"
    answer = f"<multistatus><response>{properties}</response></multistatus>"
    (entry,) = parse_multistatus(URL, answer.encode()).entries
    assert entry.size_bytes is None


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_time_outside_the_calendar_is_unknown(time: str):
    (entry,) = parse_json(json.dumps([{"name": "a", "is_dir": False, "size": 1, "mod_time": time}])).entries
    assert entry.modified_at is None


def test_time_in_another_zone_is_the_same_instant():
    row = {"name": "a", "is_dir": False, "size": 1, "mod_time": "2026-11-21T05:58:00.5+02:00"}
    (entry,) = parse_json(json.dumps([row])).entries
    assert entry.modified_at == datetime(2026, 11, 21, 3, 58, tzinfo=UTC)


def test_tag_that_is_no_text_is_left_out():
    (entry,) = parse_json('[{"name": "a", "type": "file", "size": 1, "etag": 5}]').entries
    assert entry.etag is None


def test_json_nested_beyond_all_bounds_is_no_index():
    with pytest.raises(UnusableSource, match="JSON of an unknown form"):
        parse_json("[" * 200_000)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x\\ud800", "no disk can store"),
        (".a.tradewind-part", "unfinished copy"),
        (".a.tradewind-journal", "unfinished copy"),
    ],
)
def test_name_that_cannot_be_stored_is_left_out_and_reported(name: str, reason: str):
    row = '{{"name": "{}", "type": "file", "size": 1}}'
    page = parse_json(f"[{row.format('a')}, {row.format(name)}]")
    assert [entry.name for entry in page.entries] == ["a"]
    (omission,) = page.left_out
    assert reason in omission.reason


def test_link_with_reserved_characters_is_requested_as_it_is_linked():
    (entry,) = parse_index(URL, "text/html", b'<a href="a&amp;b;c.bin">x</a>').entries
    assert (entry.name, entry.target) == ("a&b;c.bin", "/data/a&b;c.bin")

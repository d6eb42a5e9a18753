import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.remote.manifest import parse_manifest
from tradewind_agent.errors import UnsafeName, UnusableSource

BASE = Url.parse("http://host/data/")
SUM = "ab" * 32


def test_lines_of_any_kind():
    text = f"""# a comment
one.bin
./sub/two three#.bin

https://other/deep/four.bin?x=1
{{"path": "five", "size_bytes": 5, "sha256": "{SUM.upper()}"}}
{{"path": "http://host/six"}}
"""
    entries = parse_manifest(text, BASE)
    assert [(str(entry.source), entry.path) for entry in entries] == [
        ("http://host/data/one.bin", "one.bin"),
        ("http://host/data/sub/two%20three%23.bin", "sub/two three#.bin"),
        ("https://other/deep/four.bin?x=1", "four.bin"),
        ("http://host/data/five", "five"),
        ("http://host/six", "six"),
    ]
    assert (entries[3].size_bytes, entries[3].checksum) == (5, Checksum("sha256", bytes.fromhex(SUM)))


def test_byte_order_mark_is_no_part_of_the_first_name():
    assert [entry.path for entry in parse_manifest("\ufeffa.bin\r\nb.bin\r\n", BASE)] == ["a.bin", "b.bin"]


@pytest.mark.parametrize(
    "line", ["../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "http://host/%2e%2e", '{"path": "../x"}', "a\\b"]
)
def test_paths_that_would_leave_the_folder_are_refused(line: str):
    with pytest.raises(UnsafeName):
        parse_manifest(line, BASE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no file"),
        ("a\na", "line 2 of the manifest names 'a' a second time"),
        ("ftp://host/x", "no http or https URL"),
        ("{", "line 1 of the manifest is no JSON"),
        ('{"file": "x"}', 'no JSON object with a "path"'),
        ('{"path": "x", "size_bytes": -1}', "whole number"),
        ('{"path": "x", "size_bytes": true}', "whole number"),
        ('{"path": "x", "sha256": "12"}', "64 hexadecimal"),
        ('{"path": "x", "checksum": "adler32:12"}', "8 hexadecimal"),
        ('{"path": "x", "checksum": "sum:12"}', "like md5"),
        ('{"path": "x", "checksum": 12}', "like md5"),
    ],
)
def test_lines_that_are_not_understood_are_named(text: str, reason: str):
    with pytest.raises(UnusableSource, match=reason):
        parse_manifest(text, BASE)


def test_relative_paths_need_a_base():
    with pytest.raises(UnusableSource, match="give the URL of the folder"):
        parse_manifest("a", None)


def test_unknown_fields_are_named_and_not_ignored():
    with pytest.raises(UnusableSource, match="line 1 of the manifest has the unknown field 'sha257'; known are path"):
        parse_manifest('{"path": "a", "sha257": "ab"}', BASE)


def test_only_a_line_feed_ends_a_line():
    names = ["one\u2028two", "a\x0cb", "n\x85l", "blank\u00a0"]
    text = "\n".join([*names, '{"path": "x\u2029y"}'])
    assert [entry.path for entry in parse_manifest(text, BASE)] == [*names, "x\u2029y"]

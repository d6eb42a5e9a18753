"""Command lines taken apart by what tools print of themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.movers.command_line import CommandLine, Grammar, parse, parse_help

RCLONE = """
Global Flags:
      --ask-password                         Allow prompt for password (default true)
      --bwlimit BwTimetable                  Bandwidth limit in KiB/s
  -c, --checksum                             Skip based on checksum
      --transfers int                        Number of file transfers to run in parallel (default 4)
  -v, --verbose count                        Print lots more stuff
"""
CURL = """
     --basic              Use HTTP Basic Authentication
 -o, --output <file>      Write to file instead of stdout
 -Z, --parallel           Perform transfers in parallel
     --parallel-max <num> Maximum concurrency for parallel transfers
 -s, --silent             Silent mode
"""
ARIA2 = """
 -d, --dir=DIR                The directory to store the downloaded file.
 -D, --daemon[=true|false]    Run as daemon.
 -j, --max-concurrent-downloads=N Set maximum number of parallel downloads
 -Z, --force-sequential[=true|false] Fetch URIs in the command-line sequentially
"""


def test_options_with_values_are_known_by_each_tools_own_help():
    assert parse_help(RCLONE, switch_types=("count",)).valued == {"bwlimit", "transfers"}
    assert parse_help(CURL).valued == {"output", "parallel-max"}
    assert parse_help(ARIA2).valued == {"dir", "max-concurrent-downloads"}


@pytest.mark.parametrize(
    ("help_text", "words", "options", "places"),
    [
        (RCLONE, "copy -vv a --transfers 4 b", {"verbose": ("", ""), "transfers": ("4",)}, ("copy", "a", "b")),
        (RCLONE, "copy --transfers=4 -c a b", {"transfers": ("4",), "checksum": ("",)}, ("copy", "a", "b")),
        (RCLONE, "copy a -- --b", {}, ("copy", "a", "--b")),
        (CURL, "-sZo file http://x -ofile2", {"silent": ("",), "parallel": ("",), "output": ("file", "file2")}, ("http://x",)),
        (CURL, "- -s", {"silent": ("",)}, ("-",)),
        (ARIA2, "-j5 -Z u1 u2", {"max-concurrent-downloads": ("5",), "force-sequential": ("",)}, ("u1", "u2")),
        (ARIA2, "--dir /x u1", {"dir": ("/x",)}, ("u1",)),
        (ARIA2, "-D u1", {"daemon": ("",)}, ("u1",)),
    ],
)  # fmt: skip
def test_words_are_options_values_or_places(help_text, words, options, places):
    parsed = parse(words.split(), parse_help(help_text, switch_types=("count",)))
    assert parsed.options == options
    assert parsed.places == places


def test_single_dash_may_start_long_option():
    parsed = parse(["-cc", "4", "-p", "2", "-pp", "a", "b"], Grammar(valued=frozenset({"cc", "p"}), single_dash=True))
    assert (parsed.options, parsed.places) == ({"cc": ("4",), "p": ("2",), "pp": ("",)}, ("a", "b"))


def test_the_last_of_several_values_counts():
    parsed = parse(["--transfers", "2", "--transfers", "3"], parse_help(RCLONE))
    assert (parsed.find_last("transfers"), parsed.parse_count("transfers"), parsed.parse_count("checkers")) == (
        "3",
        3,
        None,
    )
    assert parse(["--transfers", "many"], parse_help(RCLONE)).parse_count("transfers") is None


def test_our_options_go_before_a_double_dash():
    line = CommandLine("tool", ("copy", "a", "--", "-b"), {})
    assert line.insert_options(["--x"]) == ("tool", "copy", "a", "--x", "--", "-b")


@given(st.lists(st.text(max_size=6), max_size=8))
def test_any_words_can_be_taken_apart_and_none_is_lost(words):
    parsed = parse(words, parse_help(CURL))
    assert len(parsed.places) <= len(words)
    assert all(place in words for place in parsed.places)

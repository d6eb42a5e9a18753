"""Which command lines of curl are a list of files, and which are more than that."""

from pathlib import Path

import pytest

from tradewind_agent.movers.command_line import Grammar, parse
from tradewind_agent.movers.curl.file_list import parse_file_list, quote_value

GRAMMAR = Grammar(
    valued=frozenset({"output", "output-dir", "url", "header", "dump-header", "data", "continue-at", "config"}),
    names={"o": "output", "O": "remote-name", "s": "silent", "H": "header", "D": "dump-header", "d": "data",
           "C": "continue-at", "K": "config", "S": "show-error"},
)  # fmt: skip


def listed(*words):
    return parse_file_list(words, parse(words, GRAMMAR), GRAMMAR)


def test_a_list_keeps_the_users_own_options():
    found = listed("-sSO", "-H", "A: b", "--output-dir", "to", "-O", "http://x/a", "http://x/b?c=/d")
    assert [pair.address for pair in found.pairs] == ["http://x/a", "http://x/b?c=/d"]
    assert [pair.file for pair in found.pairs] == [Path("to/a"), Path("to/b")]
    assert found.words == ("--silent", "--show-error", "--header", "A: b", "--output-dir", "to", "--globoff")


def test_globs_and_names_of_the_users_own():
    globbed = listed("--remote-name-all", "http://x/[08-10]")
    assert [(str(pair.file), pair.name_line) for pair in globbed.pairs] == [
        ("08", "remote-name"),
        ("09", "remote-name"),
        ("10", "remote-name"),
    ]
    named = listed("-o", 'a "b"', "http://x/1", "-o", "c", "http://x/2")
    assert [pair.name_line for pair in named.pairs] == ['output = "a \\"b\\""', 'output = "c"']


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("-O", "http://x/a"), "one file"),
        (("-O", "-O", "-D", "h", "http://x/a", "http://x/b"), "your own --dump-header"),
        (("-O", "-O", "-d", "x=1", "http://x/a", "http://x/b"), "your own --data is not to be sent twice"),
        (("-O", "-O", "-C", "100", "http://x/a", "http://x/b"), "your own --continue-at"),
        (("-O", "http://x/a", "--next", "-O", "http://x/b"), "your own --next"),
        (("-K", "list"), "your own --config"),
        (("http://x/a", "http://x/b"), "names of its files"),
        (("-o", "one", "http://x/a", "http://x/b"), "names of its files"),
        (("-o", "same", "http://x/[1-2]"), "names of its files"),
        (("-o", "a", "-O", "http://x/a", "http://x/b"), "names of its files"),
        (("-O", "-O", "http://x/a/", "http://x/b"), "names of its files"),
        (("-O", "-O", "http://x/a", "http://y/a"), "names of its files"),
        (("-O", "-O", r"http://x/\[1", "http://x/b"), "plain list"),
    ],
)
def test_command_line_that_is_no_plain_list_stays_unchanged(words, refusal):
    found = listed(*words)
    assert (found.pairs, found.words) == ((), words)
    assert refusal in found.refusal


def test_a_value_of_the_configuration_stays_on_its_line():
    assert quote_value('a\noutput = "x\\y"\t\r') == r'"a\noutput = \"x\\y\"\t\r"'

"""What curl is told beside its command line, and where our own words go."""

import pytest

from tradewind_agent.movers.command_line import CommandLine, Grammar, collect_words
from tradewind_agent.movers.curl.configuration import add_reports, read_curl_words

GRAMMAR = Grammar(
    valued=frozenset({"output", "write-out", "config", "parallel-max", "header"}),
    names={"o": "output", "w": "write-out", "K": "config", "Z": "parallel", ":": "next", "q": "disable", "H": "header"},
)

CURLRC = """
# parallel-max = 9
parallel-max = 2
--header  "A: \\"b\\"\\tc"
-w one
write-out: two
parallel
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".curlrc").write_text(CURLRC)
    return tmp_path


def options(*words, **environment):
    return collect_words(read_curl_words(CommandLine("curl", words, environment), GRAMMAR)).options


def reporting(*words, **environment):
    """Its words, a report told by what the user has written before it."""
    said = add_reports(CommandLine("curl", words, environment), GRAMMAR).arguments
    return [word.partition("%{stderr}")[0] + "+" if "%{json}" in word else word for word in said]


def test_configuration_counts_as_user_setting(home):
    said = options("x", HOME=str(home))
    assert said["parallel-max"] == ("2",)
    assert said["header"] == ('A: "b"\tc',)
    assert said["write-out"] == ("one", "two")
    assert "parallel" in said


def test_last_option_wins(home, tmp_path):
    (tmp_path / "k").write_text("parallel-max = 4\n")
    said = options("--parallel-max", "3", "-K", str(tmp_path / "k"), HOME=str(home))
    assert said["parallel-max"] == ("2", "3", "4")


@pytest.mark.parametrize("first", ["-q", "-qZ", "--disable"])
def test_a_curl_that_is_to_read_no_configuration_has_none(home, first):
    assert "parallel-max" not in options(first, "x", HOME=str(home))
    assert "parallel-max" in options("x", first, HOME=str(home))


def test_the_first_configuration_there_is_counts(home, tmp_path):
    for name in ("CURL_HOME", "XDG_CONFIG_HOME"):
        (tmp_path / name).mkdir()
    xdg = tmp_path / "XDG_CONFIG_HOME"
    places = {"CURL_HOME": str(tmp_path / "CURL_HOME"), "XDG_CONFIG_HOME": str(xdg), "HOME": str(home)}
    assert options("x", **places)["parallel-max"] == ("2",)
    (xdg / ".curlrc").write_text("parallel-max=5")
    assert options("x", **places)["parallel-max"] == ("5",)
    (tmp_path / "CURL_HOME" / ".curlrc").write_text("parallel-max 6")
    assert options("x", **places)["parallel-max"] == ("6",)


def test_a_configuration_that_cannot_be_read_sets_nothing(tmp_path):
    assert options("-K", str(tmp_path), "-K", "-") == {"config": (str(tmp_path), "-")}


def test_the_report_comes_behind_what_is_written_anyway(home):
    assert reporting("x", HOME=str(home)) == ["x", "--write-out", "two+"]
    assert reporting("-w", "A", "x", HOME=str(home)) == ["-w", "A", "x", "--write-out", "A+"]


def test_each_part_of_a_line_writes_its_own():
    said = reporting("-w", "A", "x", "--next", "-w", "B", "y", "-:", "z")
    assert said == [
        *("-w", "A", "x", "--write-out", "A+", "--next"),
        *("-w", "B", "y", "--write-out", "B+", "-:", "z", "--write-out", "+"),
    ]


def test_a_next_that_is_a_value_or_an_address_begins_nothing():
    assert reporting("-H", "--next", "x") == ["-H", "--next", "x", "--write-out", "+"]
    assert reporting("-o", "out", "--", "--next") == ["-o", "out", "--write-out", "+", "--", "--next"]


def test_option_for_all_requests_is_added_to_each(home):
    line = CommandLine("curl", ("a", "--next", "-s", "b", "-:", "--", "c"), {})
    said = add_reports(line, GRAMMAR, ("--limit-rate", "9")).arguments
    assert [word for word in said if "%{json}" not in word and word != "--write-out"] == [
        *("a", "--limit-rate", "9"),
        *("--next", "-s", "b", "--limit-rate", "9"),
        *("-:", "--limit-rate", "9", "--", "c"),
    ]

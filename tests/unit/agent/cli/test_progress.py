"""Progress where there is no terminal."""

import pytest

from tradewind_agent.cli.progress import PlainLines, show_count, show_transfer
from tradewind_agent.cli.terminal import Terminal


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def printed():
    return []


def test_one_line_is_printed_per_interval_and_none_before_the_first_is_over(clock, printed):
    lines = PlainLines(printed.append, 10.0, clock)
    for second in range(35):
        clock.now_s = 100.0 + second
        lines.say_if_due(lambda second=second: f"second {second}")
    assert printed == ["second 10", "second 20", "second 30"]


def test_a_line_that_says_nothing_new_is_left_out(clock, printed):
    lines = PlainLines(printed.append, 10.0, clock, known="0 rows")
    for rows in (0, 0, 5, 5, 6):
        clock.now_s += 10
        lines.say_if_due(lambda rows=rows: f"{rows} rows")
    assert printed == ["5 rows", "6 rows"]


def test_text_is_formatted_only_when_it_is_printed(clock, printed):
    PlainLines(printed.append, 10.0, clock).say_if_due(lambda: pytest.fail("made"))


@pytest.mark.parametrize(
    ("terminal", "told"), [(Terminal(), True), (Terminal(json=True), False), (Terminal(quiet=True), False)]
)
def test_counts_and_transfers_are_reported_unless_a_program_queries_or_nobody_wants_them(
    terminal, told, capsys, monkeypatch
):
    monkeypatch.setenv("TRADEWIND_PROGRESS", "0s")
    with show_count(terminal, "uploading", "row") as count:
        count(20_000)
    with show_transfer(terminal) as show:
        assert (show is not None) == told
        if show is not None:
            show(250_000_000, 1_000_000_000, 3, 12)
    lines = capsys.readouterr().err.splitlines()
    if told:
        assert lines[0] == "tradewind: uploading: 20000 rows after 0 s"
        assert lines[1].startswith("tradewind: 250 MB of 1 GB (25 %), 3 of 12 files, ")
        assert lines[1].endswith("bit/s")
    assert len(lines) == (2 if told else 0)


def test_a_transfer_of_unknown_size_reports_no_share(capsys, monkeypatch):
    monkeypatch.setenv("TRADEWIND_PROGRESS", "0s")
    with show_transfer(Terminal()) as show:
        show(1000, 0, 1, 1)
    told = capsys.readouterr().err
    assert "%" not in told
    assert "1 of 1 file," in told

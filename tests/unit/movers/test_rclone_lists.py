"""When rclone's files are given to it as lists, a name a line, in several runs."""

import pytest

from tradewind_agent.movers.command_line import CommandLine, Grammar, parse
from tradewind_agent.movers.rclone import File, RcloneTask

GRAMMAR = Grammar(valued=frozenset(), names={})


@pytest.mark.parametrize(("name", "split"), [("a b", True), ("a\nb", False), ("a\rb", False)])
def test_a_name_of_two_lines_keeps_the_files_in_one_run(name, split):
    words = ("copy", "from", "to")
    task = RcloneTask(CommandLine("rclone", words, {}), parse(words, GRAMMAR), GRAMMAR, (File(name, 1), File("c", 1)))
    assert task.changes_live is split

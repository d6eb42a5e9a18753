"""When rclone's files are given to it as lists, a name a line, in several runs."""

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.movers.command_line import CommandLine, Grammar, parse
from tradewind_agent.movers.rclone.mover import Echo, ListedFile, RcloneMover, RcloneTask, _parse_stats_interval_s

GRAMMAR = Grammar(valued=frozenset(), names={})


def task_in(environment, files=None):
    words = ("copy", "from", "to")
    return RcloneTask(CommandLine("rclone", words, environment), parse(words, GRAMMAR), GRAMMAR, files)


@pytest.mark.parametrize(("name", "split"), [("a b", True), ("a\nb", False), ("a\rb", False)])
def test_a_name_of_two_lines_keeps_the_files_in_one_run(name, split):
    assert task_in({}, (ListedFile(name, 1), ListedFile("c", 1))).can_change_live is split


@pytest.mark.parametrize("name", ["EXCLUDE", "FILTER", "INCLUDE", "MAX_SIZE", "EXCLUDE_FROM"])
def test_filters_of_the_users_variables_keep_the_files_in_one_run(name):
    assert not task_in({f"RCLONE_{name}": "1"}).can_change_live


def test_a_list_that_the_users_variables_would_not_hold_for_is_refused():
    line = CommandLine("rclone", ("copy", "from", "to"), {"RCLONE_MAX_SIZE": "1M"})
    with pytest.raises(InvalidValue, match="your own RCLONE_MAX_SIZE would not hold for"):
        RcloneMover().build_task_of_files(line, (ListedFile("a", 1),))


def test_log_options_in_variables_hold(tmp_path):
    log = tmp_path / "log"
    variables = {"RCLONE_LOG_FILE": str(log), "RCLONE_USE_JSON_LOG": "true", "RCLONE_STATS": "5s"}
    task = task_in(variables | {"RCLONE_VERBOSE": "1", "RCLONE_SYSLOG": "false"})
    Echo(task.effective_options.find_last("log-file"))(b"heard")
    assert log.read_bytes() == b"heard"
    assert (task.is_on("use-json-log"), task.is_on("syslog")) == (True, False)
    assert _parse_stats_interval_s(task.effective_options) == 5.0
    assert _parse_stats_interval_s(task_in({"RCLONE_VERBOSE": "0"}).effective_options) is None

"""Whether a log ends within a run: its lines wait longer then, for tools may be silent for minutes."""

from collections.abc import Iterator
from datetime import UTC

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import ImportReport
from tradewind_agent.history.importers.rclone_logs.messages import read_messages
from tradewind_agent.history.importers.rclone_logs.runs import Run, split_runs
from tradewind_agent.history.importers.tools.aria2 import has_open_downloads
from tradewind_agent.history.importers.tools.iperf3 import has_open_test


def has_open_run(format_name: str, text: LogText) -> bool:
    """Return whether a last run of a log goes on, as far as its lines show it: of each process that writes into it."""
    lines = text.read_lines()
    if format_name == "rclone":
        return _is_open_run_of_rclone(lines)
    if format_name == "aria2":
        return has_open_downloads(lines)
    return format_name == "iperf3" and has_open_test(lines)


def _is_open_run_of_rclone(lines: Iterator[Line]) -> bool:
    found = split_runs(read_messages(lines, UTC, ImportReport(format="rclone")))
    last: dict[str, Run] = {}
    has_open_one = False
    for run in found:
        if isinstance(run, Run):
            has_open_one = has_open_one or (run.is_mixed and _goes_on(run))
            last[run.first.origin] = run
    return has_open_one or any(map(_goes_on, last.values()))


def _goes_on(run: Run) -> bool:
    try:
        return not run.is_over
    except InvalidValue:  # its statistics are damaged; who reads it refuses it
        return False

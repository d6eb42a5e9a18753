"""How much of a growing log is read at once: what belongs together stays together."""

from dataclasses import dataclass, field

from tradewind_agent.history.importers.csv_logs.rows import count_open_bytes
from tradewind_agent.history.importers.log_text import LogText
from tradewind_agent.history.importers.open_runs import has_open_run
from tradewind_agent.history.log_tail import HEAD_BYTES, MAX_PART_BYTES, LogFile, Part

RUN_FORMATS = frozenset({"rclone", "aria2", "aws", "azcopy", "wget", "htcondor", "iperf3"})
"""Formats whose records sum up a run of many lines: taken when the log has been quiet, all of it together."""

OPEN_RUN_S = 3600.0
"""So long a run that has not ended may be silent, as rclone is between two lines of ``--stats 10m``."""


@dataclass(slots=True)
class OpenRuns:
    """Remembers of each log whether it ends within a run, so that it is read for that only once it has grown."""

    _seen: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def is_to_wait(self, log_id: str, part: Part, format_name: str, silent_s: float, *, quiet_s: float) -> bool:
        """Return whether a part, which goes to the end of a log, waits for more lines of its last run."""
        if silent_s < quiet_s:
            return True
        return silent_s < OPEN_RUN_S and self._is_open(log_id, part, format_name)

    def _is_open(self, log_id: str, part: Part, format_name: str) -> bool:
        end, is_open = self._seen.get(log_id, (-1, False))
        if end != part.after.offset:
            with LogText(part.lines) as text:
                is_open = has_open_run(format_name, text)
            part.lines.seek(0)
            self._seen[log_id] = part.after.offset, is_open
        return is_open

    def forget_all_but(self, present: set[str]) -> None:
        """Forget logs that are gone, also those whose lines still waited."""
        for log_id in self._seen.keys() - present:
            del self._seen[log_id]


def explain_wait(format_name: str | None, quiet_s: float) -> str:
    """Return until when lines wait, and why, in words."""
    until = f"until the log was quiet for {quiet_s:g} s"
    if format_name not in RUN_FORMATS:
        return f"{until}: they may belong to others to come"
    return f"{until}: they sum up a run that may not be over; one that goes on waits for {OPEN_RUN_S:g} s"


def read_part(log: LogFile, format_name: str | None) -> Part | None:
    """Read the next part of a log, ``None`` where it has no more complete lines."""
    part = log.read_next_part(most_bytes=_choose_most_bytes(format_name, log.position.offset))
    return log.read_next_part() if part is not None and part.is_empty else part  # its line may be as long as a part


def _choose_most_bytes(format_name: str | None, offset: int) -> int | None:
    """Choose how many bytes to take: of a CSV log, first no more than the head that all later parts are read by."""
    if format_name in RUN_FORMATS:
        return None
    return HEAD_BYTES - offset if format_name == "csv" and offset < HEAD_BYTES // 2 else MAX_PART_BYTES


def end_before_open_row(log: LogFile, part: Part, *, is_last: bool) -> Part | None:
    """Return a part of a CSV log without the lines of a row whose quote is still open; ``None`` if it has no others.

    Parameters
    ----------
    is_last : nothing follows for the time being: a quote that is open at the end of the log is a stray one.
    """
    open_bytes = count_open_bytes(part.lines.read())
    part.lines.seek(0)
    if not open_bytes or (is_last and not log.has_more(part.after)):
        return part
    end = part.after.offset - open_bytes
    if end > part.start:
        return log.read_next_part(until=end)
    return part if open_bytes >= MAX_PART_BYTES // 2 else None

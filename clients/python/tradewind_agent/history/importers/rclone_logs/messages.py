"""Messages of rclone, from its JSON log and from its text log, in the shape that its JSON has."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.units import KIB
from tradewind_agent.history.importers.instants import attach_zone
from tradewind_agent.history.importers.json_messages import find_message
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.ports import ImportReport, RefusedRow, refuse_row
from tradewind_agent.history.importers.rclone_logs.evidence import STATISTICS, TEXT

Message = Mapping[str, object]

_KNOWN_WORDS = re.compile(
    r"(?:^|: )((?:Multi-thread )?(?:Copied|Moved) \(.*|Failed to copy.*|Skipped \w+ as --dry-run.*"
    r"|Not \w+ as --dry-run.*)$"
)
_SIZE = r"([\d.]+)\s*([kKMGTPE]?)i?(?:B|Bytes?)?"
_BYTES = re.compile(rf"Transferred:\s+{_SIZE} / {_SIZE}, .*/s")
_FILES = re.compile(r"Transferred:\s+(\d+) / (\d+),")
_OLD_BYTES = re.compile(rf"Transferred:\s+{_SIZE} \(.*/s\)$")
_OLD_FILES = re.compile(r"Transferred:\s+(\d+)$")
"""Before version 1.43 statistics had no totals."""
_ONE_LINE = re.compile(rf"(?:[\d/]+ [\d:]+ - )?\s*{_SIZE} / {_SIZE}, (?:\d+%|-), .*/s, ETA ")
_ERRORS = re.compile(r"Errors:\s+(\d+)")
_ELAPSED = re.compile(r"Elapsed time:\s+(\S.*)")
_INSIDE = re.compile(rf"Server Side (Copies|Moves):\s*(\d+) @ {_SIZE}")
_IN_FLIGHT = re.compile(r" \*\s.*%\s*/")
_MOST_LINES = 10_000
"""Lines of one message: statistics have a line a file in flight."""

NOT_IN_ORDER = "is older than a line before it; sort the log by time, such as by `tac` if the newest is first"

_SPAN = re.compile(r"([\d.]+)\s*(y|w|d|h|ms|m|s|µs)")
_SPAN_S = MappingProxyType(
    {"y": 365 * 86400.0, "w": 7 * 86400.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}
)
_POWERS = " KMGTPE"


@dataclass(slots=True)
class _Block:
    """A message of the text log with the lines that follow it."""

    line: Line
    message: dict[str, object]
    lines: list[str] = field(default_factory=list)

    def may_hold(self, text: str) -> bool:
        """Return whether a line belongs to this message; statistics behind words are of the screen (--progress)."""
        if STATISTICS.match(text) is not None:
            return not str(self.message["msg"]).strip()
        return TEXT.match(text) is None

    def to_message(self) -> tuple[Line, Message] | RefusedRow:
        """Return the message, with the statistics that its lines hold; its line has all of the text.

        Statistics from the last line to the first are refused: their message is the one behind them.
        """
        if _is_upside_down(self.lines):
            return refuse_row(self.line.number, InvalidValue("row", NOT_IN_ORDER), self.line.text)
        stats = _parse_statistics(self.lines)
        if not stats:
            return self.line, self.message
        return self.line._replace(text="\n".join([self.line.text, *self.lines])), {**self.message, "stats": stats}


def read_messages(
    lines: Iterable[Line], zone: tzinfo, report: ImportReport
) -> Iterator[tuple[Line, Message] | RefusedRow]:
    """Yield each message with its line, and the lines that are damaged; lines of others are skipped and counted.

    Parameters
    ----------
    zone : zone of the times in a text log, which have none.
    """
    blocks: dict[str, _Block] = {}
    for line in lines:
        text = line.text
        block = blocks.get(line.origin)
        if line.fault is None and block is not None and not text.startswith("{") and block.may_hold(text):
            if len(block.lines) < _MOST_LINES:
                block.lines.append(text)
            continue
        if block is not None:
            yield blocks.pop(line.origin).to_message()
        try:
            found = _read_line(line, zone, report)
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, text)
            continue
        if isinstance(found, _Block):
            blocks[line.origin] = found
        elif found is not None:
            yield line, found
    for block in blocks.values():
        yield block.to_message()


def _read_line(line: Line, zone: tzinfo, report: ImportReport) -> Message | _Block | None:
    """Return the message of a line, or the beginning of a block; ``None`` for lines of others, which are counted.

    Raises
    ------
    InvalidValue : it is damaged.
    """
    if line.fault is not None:
        raise line.fault
    if line.text.lstrip().startswith("{"):
        return find_message(line.text)
    if (found := TEXT.match(line.text)) is not None:
        return _Block(line, _parse_text(found, zone))
    if STATISTICS.match(line.text) is not None:  # on the screen, without a message
        return _Block(line, {"level": "info", "msg": ""}, [line.text])
    if line.text.strip():
        report.skip("no messages of rclone")
    return None


def _parse_text(found: re.Match[str], zone: tzinfo) -> dict[str, object]:
    """Return time, level and words of a line of the text log.

    Raises
    ------
    InvalidValue : its time does not exist.
    """
    rest = found["rest"]
    known = _KNOWN_WORDS.search(rest)
    message: dict[str, object] = {"level": found["level"].strip().lower(), "msg": known[1] if known else rest}
    if (moved := _ONE_LINE.match(rest)) is not None:  # of --stats-one-line, which leaves out the elapsed time
        message["stats"] = {"bytes": _parse_size(moved[1], moved[2]), "totalBytes": _parse_size(moved[3], moved[4])}
    if found["time"] is None:
        return message
    try:
        at = attach_zone(datetime.fromisoformat(found["time"].replace("/", "-").replace(" ", "T")), zone)
    except ValueError as impossible:
        raise InvalidValue("ended_at", f"does not exist: {found['time']!r} ({impossible})") from None
    return {**message, "time": at.isoformat()}


def _parse_statistics(lines: Iterable[str]) -> dict[str, object]:
    """Return what a block of statistics says, by the members of the JSON; empty for other lines."""
    stats: dict[str, object] = {}
    in_flight = 0
    for line in lines:
        if (moved := _BYTES.match(line)) is not None:
            stats["bytes"], stats["totalBytes"] = _parse_size(moved[1], moved[2]), _parse_size(moved[3], moved[4])
        elif (files := _FILES.match(line)) is not None:
            stats["transfers"], stats["totalTransfers"] = int(files[1]), int(files[2])
        elif (moved := _OLD_BYTES.match(line.rstrip())) is not None:
            stats["bytes"] = _parse_size(moved[1], moved[2])
        elif (files := _OLD_FILES.match(line.rstrip())) is not None:
            stats["transfers"] = int(files[1])
        elif (errors := _ERRORS.match(line)) is not None:
            stats["errors"] = int(errors[1])
        elif (inside := _INSIDE.match(line)) is not None:
            one = {"Copies": "Copy", "Moves": "Move"}[inside[1]]
            stats[f"serverSide{inside[1]}"] = int(inside[2])
            stats[f"serverSide{one}Bytes"] = _parse_size(inside[3], inside[4])
        elif (elapsed := _ELAPSED.match(line)) is not None:
            stats["elapsedTime"] = sum(float(value) * _SPAN_S[unit] for value, unit in _SPAN.findall(elapsed[1]))
        in_flight += _IN_FLIGHT.match(line) is not None
    if in_flight:
        stats["transferring"] = [{} for _ in range(in_flight)]
    return stats if "bytes" in stats else {}


def _is_upside_down(lines: Sequence[str]) -> bool:
    """Return whether statistics begin with the elapsed time, which is behind all others."""
    elapsed_at = next((place for place, line in enumerate(lines) if _ELAPSED.match(line)), None)
    moved_at = next((place for place, line in enumerate(lines) if _BYTES.match(line)), None)
    if elapsed_at is None or moved_at is None or moved_at < elapsed_at:
        return False
    return not any(_ELAPSED.match(line) for line in lines[moved_at:])


def _parse_size(number: str, power: str) -> int:
    """Return a size in bytes: rclone counts in powers of 1024, whichever suffix it writes."""
    return round(float(number) * float(KIB) ** _POWERS.index(power.upper() or " "))

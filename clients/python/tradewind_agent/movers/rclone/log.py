"""rclone's JSON log as it grows: its statistics for us, its messages for the user as they would have come."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.wire.base import BIGINT_MAX
from tradewind_agent.history.importers.fields import parse_number
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text
from tradewind_agent.movers.port import ToolResult
from tradewind_agent.movers.tail import LineTail

Echo = Callable[[bytes], object]


class RcloneLog:
    """The log of one run of rclone.

    Parameters
    ----------
    echo : gets each message, with its line end.
    as_json : whether the user wants JSON.
    stats_every_s : how often the user would see statistics; ``None`` for never.
    """

    def __init__(self, path: Path, echo: Echo, *, as_json: bool, stats_every_s: float | None) -> None:
        self._tail = LineTail(path)
        self._echo, self._as_json, self._stats_every_s = echo, as_json, stats_every_s
        self._echoed_s = 0.0
        self._held_back: Mapping[str, object] | None = None
        self.totals = ToolResult(0, 0, 0)
        self.has_statistics = False
        """Whether there were statistics at all."""

    def read(self) -> None:
        """Read the new messages; lines that are no messages of rclone go to the user unchanged."""
        for line in self._tail.read():
            try:
                self._take(find_message(line.decode("utf-8", "replace")))
            except InvalidValue:
                self._echo(line + b"\n")

    def close(self) -> None:
        """Tell the last statistics that were held back."""
        if self._held_back is not None and self._stats_every_s is not None:
            self._echo_message(self._held_back)

    def _take(self, message: Mapping[str, object]) -> None:
        stats = find_object(message, "stats")
        if not stats:
            self._echo_message(message)
            return
        moved, done, errors = (_read_count(stats, key) for key in ("bytes", "transfers", "errors"))
        self.totals, self.has_statistics = ToolResult(moved, done, errors), True
        elapsed_s = parse_number("elapsedTime", find_text(stats, "elapsedTime") or "0")
        self._held_back = message
        if self._stats_every_s is not None and elapsed_s - self._echoed_s >= self._stats_every_s:
            self._echoed_s, self._held_back = elapsed_s, None
            self._echo_message(message)

    def _echo_message(self, message: Mapping[str, object]) -> None:
        if self._as_json:
            self._echo(json.dumps(message).encode() + b"\n")
            return
        # As rclone writes it: 2024/05/01 12:00:00 ERROR : name: what happened
        at = find_text(message, "time")[:19].replace("-", "/").replace("T", " ")
        level = {"WARNING": "NOTICE"}.get(find_text(message, "level").upper(), find_text(message, "level").upper())
        about = find_text(message, "object")
        words = f"{at} {level:<6}: {about + ': ' if about else ''}{find_text(message, 'msg')}"
        self._echo(words.rstrip("\n").encode() + b"\n")


def _read_count(stats: Mapping[str, object], key: str) -> int:
    counted = parse_number(key, find_text(stats, key) or "0")
    if counted > BIGINT_MAX:
        raise InvalidValue(key, "no tool has moved so much")
    return max(int(counted), 0)

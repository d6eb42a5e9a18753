"""The JSON messages of s5cmd, one a line: for us what was moved, for the user the words that it has without them."""

import json
from collections.abc import Mapping

from tradewind_agent.history.importers.json_messages import find_object, find_text
from tradewind_agent.movers.object_stores.output import LineBuffer, MovedFiles
from tradewind_agent.movers.object_stores.places import is_object_place

_MOVES = ("cp", "mv")


class S5cmdOutput:
    """Reads the messages of s5cmd.

    Parameters
    ----------
    sizes_bytes : of the source by name: it does not state the size of what a store copies itself.
    is_read : whether it prints JSON; otherwise the user gets all as it is, and nothing is known.
    as_json : whether the user wants JSON.
    counts : whether what it prints is moved, which a dry run does not.
    """

    def __init__(self, sizes_bytes: Mapping[str, int], *, is_read: bool, as_json: bool, counts: bool) -> None:
        self.files = MovedFiles()
        self._sizes, self._is_read, self._as_json, self._counts = sizes_bytes, is_read, as_json, counts
        self._shown: list[str] = []
        self._totals: list[Mapping[str, object]] = []
        self._output, self._errors = LineBuffer(self._take_line), LineBuffer(self._take_line)

    @property
    def bytes_under_way(self) -> int:
        return self.files.result.bytes_moved

    @property
    def is_readable(self) -> bool:
        return self._is_read and self.files.is_readable

    def note_started(self) -> None:
        self.files.note_started()

    def read_output(self, chunk: bytes) -> bytes:
        if not self._is_read:
            return chunk
        self._output.add(chunk)
        if not chunk and self._totals:
            self._show_totals()
        return self._take_shown()

    def read_errors(self, chunk: bytes) -> bytes:
        if not self._is_read:
            return chunk
        self._errors.add(chunk)
        return self._take_shown()

    def _take_shown(self) -> bytes:
        shown, self._shown = self._shown, []
        return "".join(f"{line}\n" for line in shown).encode("utf-8", "surrogateescape")

    def _take_line(self, line: str) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            if line or self._as_json:  # its totals come between empty lines
                self._shown.append(line)
            return
        self._note(message)
        if self._as_json:
            self._shown.append(line)
        elif isinstance(message.get("success"), int) and not isinstance(message["success"], bool):
            self._totals.append(message)
        else:
            self._shown.append(_format_plainly(message) or line)

    def _note(self, message: Mapping[str, object]) -> None:
        if reason := find_text(message, "error") if isinstance(message.get("error"), str) else "":
            command = find_text(message, "command")
            self.files.add_failure(command, reason) if command else self.files.note_reason(reason)
        elif self._counts and message.get("success") is True and message.get("operation") in _MOVES:
            source, destination = find_text(message, "source"), find_text(message, "destination")
            size = find_object(message, "object").get("size", 0)  # left out where it is 0
            if is_object_place(source) and is_object_place(destination):
                size = self._sizes.get(source)
            self.files.add(destination, size if isinstance(size, int) else None)

    def _show_totals(self) -> None:
        """Show what ``--stat`` prints without JSON."""
        self._shown += ["", "Operation\tTotal\tError\tSuccess\t"]
        for row in self._totals:
            failed, done = (int(find_text(row, key) or "0") for key in ("error", "success"))
            self._shown.append(f"{find_text(row, 'operation')}\t\t{failed + done}\t{failed}\t{done}\t")
        self._shown.append("")
        self._totals = []


def _format_plainly(message: Mapping[str, object]) -> str:
    """Return a message as it is without JSON; empty for one that is not known."""
    operation, error = find_text(message, "operation"), message.get("error")
    if isinstance(error, str):
        command = find_text(message, "command").replace("\\", "\\\\").replace('"', '\\"')
        return f'ERROR "{command}": {error}' if command else f"ERROR {error}"
    if message.get("success") is True:
        places = (find_text(message, key) for key in ("source", "destination"))
        return " ".join(word for word in (operation, *places) if word)
    return ""

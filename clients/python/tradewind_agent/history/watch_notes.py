"""What a watch says of the logs it follows: each thing once; and which of them it has not read, with the reason."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tradewind.units import format_count


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A log that is skipped, or that has waiting lines, by its name.

    ``failed`` : it cannot be read, or no further: waiting does not help. A file that never was a log does not count.
    """

    file: str
    reason: str
    failed: bool = False


@dataclass(slots=True)
class WatchNotes:
    """Logs are known by device and inode; ``note`` is called with one line for what the user should know.

    ``not_read`` : by what was found at the last look at each log.
    """

    note: Callable[[str], None]
    not_read: dict[str, UnreadFile] = field(default_factory=dict)
    _last_notes: dict[str, str] = field(default_factory=dict)
    _assumed: dict[str, set[str]] = field(default_factory=dict)
    _held_back: dict[str, bool] = field(default_factory=dict)

    def note_once(self, file_id: str, line: str) -> None:
        """Say a thing about a log once, not at every look."""
        if self._last_notes.get(file_id) != line:
            self._last_notes[file_id] = line
            self.note(line)

    def note_assumption(self, file_id: str, file: str, assumption: str) -> None:
        """Say once what is taken for granted of a log, in whichever part."""
        assumed = self._assumed.setdefault(file_id, set())
        if assumption not in assumed:
            assumed.add(assumption)
            self.note(f"{file}: assumed {assumption}")

    def note_held_back(self, file_id: str, file: str, reason: str, count_lines: Callable[[], int]) -> None:
        """Say once how many lines wait, and for what; more of them may come until they are taken."""
        self.not_read[file_id] = UnreadFile(file, f"lines wait {reason}")
        if file_id not in self._held_back:
            self._held_back[file_id] = True
            held = count_lines()
            self.note(f"{file}: {format_count(held, 'line')} {'waits' if held == 1 else 'wait'} {reason}")

    def note_taken(self, file_id: str) -> None:
        """Forget what was held back of a log: all of it has been taken."""
        self._held_back.pop(file_id, None)

    def forget_all_but(self, present: set[str]) -> None:
        """Drop what is known of logs that are gone."""
        for memory in (self.not_read, self._last_notes, self._assumed, self._held_back):
            for file_id in memory.keys() - present:
                del memory[file_id]

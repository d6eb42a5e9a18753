"""The run of a tool of object stores: one start, and further ones with less at once where the store refuses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.object_stores.output import OutputReader
from tradewind_agent.movers.port import Command, RunSettings, ToolProgress, ToolResult
from tradewind_agent.movers.step_down import StepDown, is_own_failure


class StoreCommands(Protocol):
    """What a tool's run needs of its task."""

    @property
    def by_hand(self) -> Parameters: ...

    def open_reader(self) -> OutputReader: ...

    def make_command(
        self, parameters: Parameters | None, rate_bps: float | None, scratch: Path, reader: OutputReader, /
    ) -> Command:
        """Return a start with ``parameters``; ``None`` for those that the tool has by itself."""

    def sets(self, parameters: Parameters, /) -> bool:
        """Return whether ``parameters`` add anything to the user's own command line."""

    def count_files(self) -> int | None: ...

    def find_largest_bytes(self) -> int | None:
        """Return the size of the largest file that moves; ``None`` where it is not known."""


class StoreToolRun:
    """A run of a tool that cannot change while it runs.

    Parameters
    ----------
    default_streams : requests at once of the tool by itself.
    """

    is_over = False

    def __init__(self, task: StoreCommands, tuning: RunSettings, scratch: Path, *, default_streams: int) -> None:
        self._task, self._tuning, self._scratch = task, tuning, scratch
        self._reader = task.open_reader()
        self._running = tuning.parameters
        self._is_due = True
        self.step_down = StepDown(tuning.fixed, default_streams)

    @property
    def current_parameters(self) -> Parameters:
        used = self._task.by_hand if self.step_down.is_plain else self._running
        largest = self._task.find_largest_bytes()
        has_parts = used.part_bytes is not None and largest is not None and largest > used.part_bytes
        return Parameters(
            concurrency=used.concurrency,
            parallelism=used.parallelism,
            part_bytes=used.part_bytes if has_parts else None,
        )

    def prepare_next_command(self) -> Command | None:
        if not self._is_due:
            return None
        self._is_due = False
        self._running = self.step_down.cut_parameters(self._running)
        parameters = None if self.step_down.is_plain else self._running
        self._reader.note_started()
        return self._task.make_command(parameters, self._tuning.rate_bps, self._scratch, self._reader)

    def note_started(self, _pid: int, /) -> None:
        """Ignore the start of the process: nothing here needs its id."""

    def poll(self) -> None:
        """Ignore the time: output is read as it comes."""

    def note_finished(self, code: int, /) -> int:
        files = self._reader.files
        # Without a reason or a file it has not come to the files: its options or its configuration are wrong.
        has_moved = not self._reader.is_readable or self._reader.bytes_under_way > 0 or files.result.files_done > 0
        is_load = files.may_succeed_later or (has_moved and not files.has_reasons)
        is_ours = not self.step_down.is_plain and self._task.sets(self._running)
        if is_own_failure(code) and is_load and is_ours and self.step_down.lower(self._running):
            self._is_due = True
            return 0
        return code

    def measure_progress(self) -> ToolProgress:
        done, files = self._reader.files.result, self._task.count_files()
        left = None if files is None else max(files - done.files_done - done.files_failed, 0)
        return ToolProgress(self._reader.bytes_under_way, left)

    def retune(self, _chunks: Sequence[ChunkPlan], /) -> bool:
        return False

    def build_result(self) -> ToolResult | None:
        return self._reader.files.result if self._reader.is_readable else None

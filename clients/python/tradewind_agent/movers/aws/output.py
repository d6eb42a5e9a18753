r"""The output of ``aws s3``: ``upload: a to s3://b/k``, ``upload failed: …``, ``Completed 1.2 MiB/3 MiB (…)\r``."""

import re
from collections.abc import Callable

from tradewind.errors import InvalidUnit
from tradewind.units import parse_bytes
from tradewind_agent.movers.object_stores.output import LineBuffer, MovedFiles

_DONE = re.compile(r"(?:upload|download|copy|move): (?P<places>.+?) *", re.DOTALL)
_FAILED = re.compile(r"(?:upload|download|copy|move) failed: (?P<places>.+)", re.DOTALL)
_PROGRESS = re.compile(r"Completed ([\d.]+ \w+)/")
_JOINT = " to "

FindSize = Callable[[str, str], int | None]
"""Returns the size of a file by its source and destination as aws prints them; ``None`` where that cannot be."""


class AwsOutput:
    """Reads the output of aws, which the user sees as it is.

    Parameters
    ----------
    reports : whether the user lets it print what it moves.
    """

    def __init__(self, find_size: FindSize, *, reports: bool) -> None:
        self.files = MovedFiles()
        self._find_size, self._reports = find_size, reports
        self._completed_bytes = 0
        self._output, self._errors = (LineBuffer(self._take_line, b"\n\r") for _ in range(2))

    @property
    def bytes_under_way(self) -> int:
        return max(self._completed_bytes, self.files.result.bytes_moved)

    @property
    def is_readable(self) -> bool:
        return self._reports and self.files.is_readable

    def note_started(self) -> None:
        self._completed_bytes = 0
        self.files.note_started()

    def read_output(self, chunk: bytes) -> bytes:
        self._output.add(chunk)
        return chunk

    def read_errors(self, chunk: bytes) -> bytes:
        self._errors.add(chunk)
        return chunk

    def _take_line(self, line: str) -> None:
        if (progress := _PROGRESS.match(line)) is not None:
            self._completed_bytes = _parse_size(progress[1])
        elif (done := _DONE.fullmatch(line)) is not None:
            self._add(done["places"])
        elif (failed := _FAILED.match(line)) is not None:
            places, error, reason = failed["places"].partition(" An error occurred")
            self.files.add_failure(places, error + reason or places)
        elif "error" in line.lower() or line.startswith("warning:"):
            self.files.note_reason(line)

    def _add(self, places: str) -> None:
        """Note a file: " to " may stand in names too, so that the one counts where both parts make sense."""
        cuts = [at.start() for at in re.finditer(_JOINT, places)]
        for at in cuts:
            source, destination = places[:at], places[at + len(_JOINT) :]
            size = self._find_size(source, destination)
            if size is not None:
                self.files.add(destination, size)
                return
        self.files.add(places, None)


def _parse_size(text: str) -> int:
    try:
        return int(parse_bytes(text.replace(" ", "").replace("Bytes", "B")))
    except InvalidUnit:
        return 0

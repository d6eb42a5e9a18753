"""The body of an answer to a third-party copy: performance markers while it runs, and a line that says how it ended."""

import re

_BYTES = re.compile(r"Stripe Bytes Transferred:\s*(\d+)", re.IGNORECASE)
_INDEX = re.compile(r"Stripe Index:\s*(\d+)", re.IGNORECASE)
_END = re.compile(r"(success|failure|failed|aborted)\b:?\s*(.*)", re.IGNORECASE)
_LONGEST_LINE_BYTES = 64 * 1024


class CopyMarkers:
    """Reads markers as they arrive.

    Attributes
    ----------
    moved_bytes : of all stripes, by their last markers.
    succeeded : as the last line says; ``None`` before it.
    reason : behind a failure.
    """

    def __init__(self) -> None:
        self.moved_bytes = 0
        self.succeeded: bool | None = None
        self.reason = ""
        self._stripes: dict[int, int] = {}
        self._stripe = 0
        self._rest = b""

    def feed(self, data: bytes | memoryview) -> None:
        """Read the next bytes of the body."""
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        self._rest = self._rest[-_LONGEST_LINE_BYTES:]
        for line in lines:
            self._read(line.decode("utf-8", errors="replace").strip())

    def close(self) -> None:
        """Read what is left behind the last line break."""
        rest, self._rest = self._rest, b""
        self._read(rest.decode("utf-8", errors="replace").strip())

    def _read(self, line: str) -> None:
        if (index := _INDEX.fullmatch(line)) is not None:
            self._stripe = int(index[1])
        elif (moved := _BYTES.fullmatch(line)) is not None:
            self._stripes[self._stripe] = int(moved[1])
            self.moved_bytes = sum(self._stripes.values())
        elif line.lower() == "perf marker":
            self._stripe = 0
        elif (end := _END.fullmatch(line)) is not None:
            self.succeeded = end[1].lower() == "success"
            self.reason = end[2]

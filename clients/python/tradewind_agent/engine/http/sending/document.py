"""The body of a request that was made here, and is in memory."""

from collections.abc import Callable


class Document:
    """A body that is read once."""

    file_body = None
    follows_kernel = False

    def __init__(self, document: bytes) -> None:
        self._left = document

    @property
    def remaining_bytes(self) -> int:
        return len(self._left)

    @property
    def is_finished(self) -> bool:
        return not self._left

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        """Call ``wake``: a document is ready at all times."""
        wake()

    def read(self, most_bytes: int) -> bytes:
        block, self._left = self._left[:most_bytes], self._left[most_bytes:]
        return block

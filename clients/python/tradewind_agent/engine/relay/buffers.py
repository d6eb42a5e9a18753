"""Bytes that were received and are still to be sent: in memory while there are few, else in unnamed temporary files."""

from collections.abc import Callable, Iterator
from tempfile import SpooledTemporaryFile, gettempdir

from tradewind.units import MIB
from tradewind_agent.engine.local.local_files import to_storage_error

LONGEST_IN_MEMORY_BYTES = 16 * MIB
"""Longer units go to temporary files."""

_MEMORY_BYTES = 96 * MIB
"""For the units of all files together. With what connections and the interpreter take this stays below 256 MB."""

_SPOOLED_BYTES = 1024 * MIB
"""In temporary files, above which no further unit is requested."""

_UNKNOWN_BYTES = 8 * MIB
"""What a file of unknown length may take of the memory."""

_BLOCK_BYTES = MIB


class UnitBuffer:
    """The bytes of one unit; positions count from its beginning.

    Attributes
    ----------
    memory_bytes, spooled_bytes : what it takes of the limits.
    """

    def __init__(self, pool: "BufferPool", length: int | None, *, in_memory: bool) -> None:
        self._pool = pool
        held_bytes = _UNKNOWN_BYTES if length is None else length
        self.memory_bytes, self.spooled_bytes = (held_bytes, 0) if in_memory else (0, held_bytes)
        # With a maximum of 0 it would stay in memory however long it became.
        self._file = SpooledTemporaryFile(max_size=_UNKNOWN_BYTES if length is None else max(length, 1))  # noqa: SIM115
        if not in_memory:
            self._file.rollover()

    def write(self, position: int, data: memoryview | bytes) -> None:
        """Write ``data`` at ``position``.

        Raises
        ------
        StorageFailed, FileFault : the disk of temporary files refuses.
        """
        try:
            self._file.seek(position)
            self._file.write(data)
        except OSError as error:
            raise to_storage_error(error, f"a temporary file in {gettempdir()}") from error

    def read(self, position: int, length: int) -> bytes:
        """Return at most ``length`` bytes from ``position`` on.

        Raises
        ------
        StorageFailed, FileFault
        """
        try:
            self._file.seek(position)
            return self._file.read(length)
        except OSError as error:
            raise to_storage_error(error, f"a temporary file in {gettempdir()}") from error

    def read_blocks(self) -> Iterator[bytes]:
        """Yield all bytes in order."""
        position = 0
        while block := self.read(position, _BLOCK_BYTES):
            yield block
            position += len(block)

    def close(self) -> None:
        """Free what it takes."""
        self._file.close()
        self._pool.note_closed(self)


class BufferPool:
    """The buffers of all files of a transfer, within limits.

    A unit that is under way has a buffer from its request on, so that each answer can be taken in full: servers are
    never made to wait for one another.
    """

    def __init__(self, memory_bytes: int = _MEMORY_BYTES, spooled_bytes: int = _SPOOLED_BYTES) -> None:
        self._most_memory_bytes, self._most_spooled_bytes = memory_bytes, spooled_bytes
        self._memory_bytes = self._spooled_bytes = 0
        self._waiting: list[Callable[[], None]] = []
        self._open: set[UnitBuffer] = set()

    def has_room(self, length: int | None) -> bool:
        """Return whether another unit may be requested; one may be at all times."""
        if self._fits_memory(length):
            return True
        if self._goes_to_memory(length):
            return False
        return not self._spooled_bytes or self._spooled_bytes + (length or 0) <= self._most_spooled_bytes

    def make_buffer(self, length: int | None) -> UnitBuffer:
        """Return a buffer for ``length`` bytes, ``None`` where that is unknown; in memory if there is room.

        Raises
        ------
        StorageFailed, FileFault : no temporary file can be made.
        """
        in_memory = self._fits_memory(length)
        try:
            buffer = UnitBuffer(self, length, in_memory=in_memory)
        except OSError as error:
            raise to_storage_error(error, f"a temporary file in {gettempdir()}") from error
        self._memory_bytes += buffer.memory_bytes
        self._spooled_bytes += buffer.spooled_bytes
        self._open.add(buffer)
        return buffer

    def call_when_room(self, wake: Callable[[], None]) -> None:
        """Call ``wake``, once, when a buffer is closed."""
        self._waiting.append(wake)

    def note_closed(self, buffer: UnitBuffer) -> None:
        """Count a buffer as free, and wake who waits for room."""
        self._open.discard(buffer)
        self._memory_bytes -= buffer.memory_bytes
        self._spooled_bytes -= buffer.spooled_bytes
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def close(self) -> None:
        """Close what a run has left open, such as after a defect; nobody is woken."""
        self._waiting.clear()
        for buffer in tuple(self._open):
            buffer.close()

    @staticmethod
    def _goes_to_memory(length: int | None) -> bool:
        return length is None or length <= LONGEST_IN_MEMORY_BYTES

    def _fits_memory(self, length: int | None) -> bool:
        needed_bytes = _UNKNOWN_BYTES if length is None else length
        return self._goes_to_memory(length) and (
            not self._memory_bytes or self._memory_bytes + needed_bytes <= self._most_memory_bytes
        )

"""Split records into batches of bounded size, each identified by the hash of its content."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import zstandard

from tradewind import record_document
from tradewind.transfer import TransferRecord
from tradewind.units import MIB

if TYPE_CHECKING:
    from tradewind.wire.records import WireRecord

MAX_BATCH_ROWS = 20_000
MAX_BATCH_BYTES = 16 * MIB
"""Of NDJSON before compression: some 20,000 rows, about 1 MB on the network, a second's work for the service."""

_ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class LogBatch:
    """NDJSON compressed with zstd, and the SHA-256 of what was compressed."""

    compressed: bytes = field(repr=False)
    sha256: str
    rows: int

    @classmethod
    def of_ndjson(cls, content: bytes) -> "LogBatch":
        """Return a batch of complete lines, as the spool stores them."""
        compressed = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(content)
        return cls(compressed, hashlib.sha256(content).hexdigest(), content.count(b"\n"))


def to_ndjson_line(record: "WireRecord | TransferRecord | bytes") -> bytes:
    """Return one NDJSON line with its newline."""
    if isinstance(record, bytes):
        return record.rstrip(b"\r\n") + b"\n"
    return record_document.to_line(record) if isinstance(record, TransferRecord) else record.to_line()


def split_into_batches(
    records: "Iterable[WireRecord | TransferRecord | bytes]",
    *,
    max_rows: int = MAX_BATCH_ROWS,
    max_bytes: int = MAX_BATCH_BYTES,
) -> Iterator[LogBatch]:
    """Yield batches of at most ``max_rows`` rows and ``max_bytes`` bytes, whichever comes first; none for no records.

    Lines are compressed as they come; one line above ``max_bytes`` is a batch of its own.
    """
    building = _Building()
    for record in records:
        line = to_ndjson_line(record)
        if building.rows and (building.rows == max_rows or building.bytes + len(line) > max_bytes):
            yield building.close()
            building = _Building()
        building.add(line)
    if building.rows:
        yield building.close()


class _Building:
    """Builds a batch; holds only compressed bytes."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0
        self._hash = hashlib.sha256()
        self._compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
        self._parts: list[bytes] = []

    def add(self, line: bytes) -> None:
        self.rows += 1
        self.bytes += len(line)
        self._hash.update(line)
        if part := self._compressor.compress(line):
            self._parts.append(part)

    def close(self) -> LogBatch:
        self._parts.append(self._compressor.flush())
        return LogBatch(b"".join(self._parts), self._hash.hexdigest(), self.rows)

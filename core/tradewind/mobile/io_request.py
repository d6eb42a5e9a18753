"""Bytes of one read or write of the storage: worth changing only where the storage is the bottleneck of a transfer.

The mobile paper varied it from 1 to 64 KB with a storage that was not the bottleneck: throughput rose a little up to 8
or 16 KB and was flat from there on, and larger blocks took more energy (its figure 2, e and f).
"""

from tradewind.units import KIB, MIB

STORAGE_BOUND = 0.85
"""Share of busy time of the busiest disk above which the storage is the bottleneck."""
KNEE_BYTES = 16 * KIB
"""The paper's throughput rose up to this size."""
MAX_IO_BLOCK_BYTES = 4 * MIB
_STEP = 4


def is_storage_bottleneck(disk: float | None) -> bool:
    """Return whether the busiest disk's share of busy time, 0..1, makes it the bottleneck; false if unknown."""
    return disk is not None and disk >= STORAGE_BOUND


def advise_io_block_bytes(used_bytes: int | None, disk: float | None) -> int | None:
    """Return the block size to try next; ``None`` where another one would change nothing, or the used one is unknown.

    Advise fewer and larger requests: at least the knee, four times the used size, 4 MiB at most.
    """
    if used_bytes is None or not is_storage_bottleneck(disk):
        return None
    advised = min(max(KNEE_BYTES, _STEP * used_bytes), MAX_IO_BLOCK_BYTES)
    return advised if advised > used_bytes else None

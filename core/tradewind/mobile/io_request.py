"""Bytes of one read or write of the storage: worth a change only where the storage is what a transfer waits for.

The mobile paper varied it from 1 to 64 KB with a storage that was not the bottleneck: throughput rose a little up to 8
or 16 KB and was flat from there on, and larger blocks took more energy (its figure 2, e and f).
"""

from tradewind.units import KIB, MIB

STORAGE_BOUND = 0.85
"""Share of the time that the busiest disk works, above which it is what a transfer waits for."""
KNEE_BYTES = 16 * KIB
"""Up to here the paper's throughput rose."""
MAX_IO_BLOCK_BYTES = 4 * MIB
_STEP = 4


def storage_is_bottleneck(disk: float | None) -> bool:
    """By the busiest disk's share of busy time, 0..1; not where nobody knows it."""
    return disk is not None and disk >= STORAGE_BOUND


def advise_io_block_bytes(used_bytes: int | None, disk: float | None) -> int | None:
    """The block to try next; ``None`` where another one would change nothing, or none is known to have been used.

    Fewer and larger requests: at least the knee's, four times the one that was used, 4 MiB at most.
    """
    if used_bytes is None or not storage_is_bottleneck(disk):
        return None
    advised = min(max(KNEE_BYTES, _STEP * used_bytes), MAX_IO_BLOCK_BYTES)
    return advised if advised > used_bytes else None

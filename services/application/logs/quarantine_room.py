"""Room in the quarantine: rejected rows are stored up to a bound of each key and of the tenant.

Whoever may upload may also upload rubbish. Beyond the bound a row is still counted in its receipt, with its reason, but
its line is not stored: the receipt says how many. The bound of a key leaves room for the rows of other keys. Rows that
were in the quarantine and are rejected again need no room: each takes the place of the one that it was.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from uuid import UUID

from services.application.logs.ports import QuarantineRepository
from services.application.logs.rows import RejectedRow
from tradewind.units import MIB
from tradewind.wire.logs import ALREADY_STORED


class QuarantineUse(NamedTuple):
    """Rows in quarantine, and the size of their lines."""

    rows: int
    bytes: int


OF_KEY = QuarantineUse(rows=20_000, bytes=64 * MIB)
OF_TENANT = QuarantineUse(rows=100_000, bytes=256 * MIB)


class QuarantineRoom:
    """What one batch may still put into the quarantine; all its rows where it is not ``bounded``."""

    def __init__(self, quarantine: QuarantineRepository, *, bounded: bool = True) -> None:
        self._quarantine, self._bounded = quarantine, bounded
        self._left: QuarantineUse | None = None

    def add(self, rejected: Sequence[RejectedRow], *, batch_id: UUID) -> int:
        """Store as many of the rows as there is room for, and return how many there was none for.

        Rows that are stored already need no correction, and so no room.
        """
        rows = [row for row in rejected if row.reason != ALREADY_STORED]
        if not rows:
            return 0
        if not self._bounded:
            self._quarantine.add(rows, batch_id=batch_id)
            return 0
        if self._left is None:  # counted once, and only by batches that need it
            of_key, of_tenant = self._quarantine.measure(batch_id)
            self._left = QuarantineUse(
                min(OF_KEY.rows - of_key.rows, OF_TENANT.rows - of_tenant.rows),
                min(OF_KEY.bytes - of_key.bytes, OF_TENANT.bytes - of_tenant.bytes),
            )
        sizes = list(accumulate(_count_bytes(row) for row in rows))
        fitting = sum(size <= self._left.bytes for size in sizes[: max(self._left.rows, 0)])
        self._quarantine.add(rows[:fitting], batch_id=batch_id)
        taken = sizes[fitting - 1] if fitting else 0
        self._left = QuarantineUse(self._left.rows - fitting, self._left.bytes - taken)
        return len(rows) - fitting


def _count_bytes(row: RejectedRow) -> int:
    return len((row.raw or "").encode()) + len(row.reason)

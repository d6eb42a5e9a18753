"""Transfers that a log holds twice: brokers deliver a message again, and a log may be appended to itself.

A second record of a transfer would count its bytes twice, and both would seem to have run at once. Equal lines may also
be of two transfers, as where a client fetches a file over several connections: equal times in full seconds alone do not
show that lines are of one.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from tradewind_agent.history.importers.ports import ImportedRow, ImportReport, RefusedRow

REMEMBERED = 1 << 16
"""Transfers that are remembered; one that comes again after more of them is not recognised."""

SKIPPED = "transfers that are in the log twice"

_SAME_TIME_S = 2.0
"""By which the ends of lines differ that a program wrote at the same time."""


@dataclass(slots=True)
class RepeatedTransfers:
    """Sees which transfers of a log were there before.

    ``seen`` : the stretch in which each was read; a stretch is of lines that follow each other and ended at one time.
    """

    seen: OrderedDict[int, int] = field(default_factory=OrderedDict)
    stretch: int = 0
    ended_at: datetime | None = None

    def is_repeated(
        self, text: str, started_at: datetime, ended_at: datetime, *, is_unique: bool | None = None
    ) -> bool:
        """Return whether a transfer was read before.

        Parameters
        ----------
        text : the line of the transfer, or what identifies it in its program.
        is_unique : no two transfers have the same ``text`` and times; ``None`` if fractions of a second say so.
        """
        if self.ended_at is not None and abs((ended_at - self.ended_at).total_seconds()) > _SAME_TIME_S:
            self.stretch += 1
        self.ended_at = ended_at
        key = hash((text, started_at, ended_at))
        before = self.seen.get(key)
        if before is None:
            self.seen[key] = self.stretch
            if len(self.seen) > REMEMBERED:
                self.seen.popitem(last=False)  # a plain dictionary would search for its first one again and again
            return False
        is_one = ended_at.microsecond != 0 if is_unique is None else is_unique
        return is_one or before != self.stretch


def drop_repeated(
    items: Iterable[ImportedRow | RefusedRow], report: ImportReport, *, is_unique: bool | None = None
) -> Iterator[ImportedRow | RefusedRow]:
    """Yield rows without those that repeat an earlier one; rows without a ``text`` are left alone.

    Parameters
    ----------
    is_unique : as of `RepeatedTransfers.is_repeated`.
    """
    repeats = RepeatedTransfers()
    for item in items:
        if isinstance(item, RefusedRow) or not item.text:
            yield item
        elif repeats.is_repeated(item.text, item.record.started_at, item.record.ended_at, is_unique=is_unique):
            report.skip(SKIPPED)
        else:
            yield item

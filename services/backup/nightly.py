"""Copies at the same time of each day, the first one at once, for as long as it runs."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day

from services.backup.folder import Backup
from tradewind.errors import TradewindError

AGAIN_S = 3600.0
"""After a copy that failed."""
NAP_S = 60.0
"""It looks at the clock so often: one that is set, or a host that slept, puts no copy off for long."""


def find_next_copy_time(backups: Sequence[Backup], at: time_of_day, *, now: datetime) -> datetime:
    """When the next copy is to be made: now if there is none, else the next time that it is ``at`` after the newest.

    One that ended later than now, by a clock that was ahead, is passed over.
    """
    newest = max((each.ended_at for each in backups if each.ended_at <= now), default=None)
    if newest is None:
        return now
    same_day = datetime.combine(newest.date(), at, UTC)
    return same_day if same_day > newest else same_day + timedelta(days=1)


def copy_nightly(
    at: time_of_day,
    *,
    backups: Callable[[], Sequence[Backup]],
    make: Callable[[], None],
    failed: Callable[[TradewindError], None],
) -> None:
    """Make copies; one that fails is told, and tried again after an hour. Does not return."""
    while True:
        pause_s = NAP_S
        try:
            now = datetime.now(UTC)
            if find_next_copy_time(backups(), at, now=now) <= now:
                make()
        except TradewindError as error:
            failed(error)
            pause_s = AGAIN_S
        time.sleep(pause_s)

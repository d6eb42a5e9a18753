"""Copies at the same time of each day, the first one at once, for as long as it runs."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day

from services.backup.folder import Backup
from tradewind.errors import TradewindError

AGAIN_S = 3600.0
"""Pause after a copy that failed."""
NAP_S = 60.0
"""Time between two looks at the clock: a clock that is set, or a host that slept, does not delay a copy for long."""


def find_next_copy_time(backups: Sequence[Backup], at: time_of_day, *, now: datetime) -> datetime:
    """Return when the next copy is due: now if there is none, else the next time that it is ``at`` after the newest.

    A copy that ended later than now, by a clock that was ahead, is skipped.
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
    """Make copies; report one that fails and try it again after an hour. Does not return."""
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

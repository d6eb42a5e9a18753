"""Tasks that run by the clock."""

from datetime import timedelta
from typing import Any

from celery.schedules import crontab

SWEEP = "tradewind.sweep"
JOURNAL = "tradewind.journal_heartbeats"
QUOTES = "tradewind.journal_quotes"
ROLL_UP = "tradewind.roll_up"
REFRESH_USAGE = "tradewind.refresh_usage"
EXPORT = "tradewind.export"
RETAIN = "tradewind.retain"
END_LONG_READS = "tradewind.end_long_reads"

JOURNAL_EVERY_S = 2.0
"""Agents store what is not journalled yet, and pages show it no sooner."""

QUOTES_EVERY_S = 10.0
"""No page or call waits for stored quotes."""

ROLL_UP_EVERY_S = 10.0
"""Analysts see sums no sooner; pages sum the days that changed a moment ago themselves."""

REFRESH_USAGE_EVERY_S = 10.0
"""No page waits for it: it computes what changed itself, which takes longer the more has."""

END_LONG_READS_EVERY_S = 60.0
"""Transactions are ended after ten minutes."""

EXPORT_AT = crontab(hour="1", minute="20")
"""UTC: more than an hour after the end of a day, for agents that upload late."""

RETAIN_AT = crontab(hour="2", minute="40")
"""UTC: after the export of this night."""


def build_beat_schedule(*, sweep_every: timedelta) -> dict[str, dict[str, Any]]:
    """Return the schedule of ``celery beat``; a run that cannot start before the next one is dropped."""
    return {
        "sweep": {
            "task": SWEEP,
            "schedule": sweep_every,
            "options": {"expires": sweep_every.total_seconds()},
        },
        "journal": {
            "task": JOURNAL,
            "schedule": JOURNAL_EVERY_S,
            "options": {"expires": JOURNAL_EVERY_S},
        },
        "quotes": {
            "task": QUOTES,
            "schedule": QUOTES_EVERY_S,
            "options": {"expires": QUOTES_EVERY_S},
        },
        "roll up": {
            "task": ROLL_UP,
            "schedule": ROLL_UP_EVERY_S,
            "options": {"expires": ROLL_UP_EVERY_S},
        },
        "refresh usage": {
            "task": REFRESH_USAGE,
            "schedule": REFRESH_USAGE_EVERY_S,
            "options": {"expires": REFRESH_USAGE_EVERY_S},
        },
        "end long reads": {
            "task": END_LONG_READS,
            "schedule": END_LONG_READS_EVERY_S,
            "options": {"expires": END_LONG_READS_EVERY_S},
        },
        "export": {
            "task": EXPORT,
            "schedule": EXPORT_AT,
        },
        "retain": {
            "task": RETAIN,
            "schedule": RETAIN_AT,
        },
    }

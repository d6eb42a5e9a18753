"""What runs by the clock."""

from datetime import timedelta
from typing import Any

from celery.schedules import crontab

SWEEP = "tradewind.sweep"
JOURNAL = "tradewind.journal_heartbeats"
QUOTES = "tradewind.journal_quotes"
ROLL_UP = "tradewind.roll_up"
EXPORT = "tradewind.export"
RETAIN = "tradewind.retain"
END_LONG_READS = "tradewind.end_long_reads"

JOURNAL_EVERY_S = 2.0
"""Agents keep what is not journalled, and pages show it no sooner."""

QUOTES_EVERY_S = 10.0
"""Nobody waits for them."""

ROLL_UP_EVERY_S = 10.0
"""Analysts see it no sooner; pages make what changed a moment ago themselves."""

END_LONG_READS_EVERY_S = 60.0
"""Of what is ended after ten minutes."""

EXPORT_AT = crontab(hour="1", minute="20")
"""UTC: an hour after a day is over, for agents that upload late."""

RETAIN_AT = crontab(hour="2", minute="40")
"""UTC: when what was exported this night is."""


def beat_schedule(*, sweep_every: timedelta) -> dict[str, dict[str, Any]]:
    """The schedule of ``celery beat``; what could not start in time is dropped, the next one is as good."""
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

"""What runs by the clock."""

from datetime import timedelta
from typing import Any

SWEEP = "tradewind.sweep"


def beat_schedule(*, sweep_every: timedelta) -> dict[str, dict[str, Any]]:
    """The schedule of ``celery beat``; a sweep that could not start in time is dropped, the next one is as good."""
    return {
        "sweep": {
            "task": SWEEP,
            "schedule": sweep_every,
            "options": {"expires": sweep_every.total_seconds()},
        }
    }

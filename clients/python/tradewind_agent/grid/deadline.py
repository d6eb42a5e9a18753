"""Deadlines as users write them: ``6h`` from now, the next ``07:00``, or ``2026-11-29T07:00+01:00``."""

from datetime import UTC, datetime, time, timedelta, tzinfo

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.grid.schedule import LONGEST_WAIT
from tradewind.units import parse_seconds

EXAMPLES = "6h, 07:00 or 2026-11-29T07:00+01:00"
TOO_FAR = f"it must be within {LONGEST_WAIT.days} days"
_LONGEST_S = 366 * 86_400.0
"""Longer ones are no durations of a copy, and would leave the calendar."""


def parse_deadline(text: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Parse a deadline to an instant.

    Parameters
    ----------
    now : an instant, with a time zone.
    zone : of times without an offset; ``None`` is this host's own.

    Raises
    ------
    InvalidValue : no time, a local time that clocks skip or have twice, one that has passed, or one too far.
    """
    text = text.strip()
    try:
        deadline = now + timedelta(seconds=min(parse_seconds(text), _LONGEST_S))
    except InvalidUnit:
        deadline = _parse_instant(text, now, zone)
    if deadline <= now:
        raise InvalidValue("deadline", f"{text!r} has passed")
    if deadline > now + LONGEST_WAIT:
        raise InvalidValue("deadline", f"{text!r} is too far; {TOO_FAR}")
    return deadline.astimezone(UTC)


def _parse_instant(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    try:
        clock = time.fromisoformat(text)
    except ValueError:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidValue("deadline", f"{text!r} is no time; write it like {EXAMPLES}") from None
        if abs(at.year - now.year) > 1:
            raise InvalidValue("deadline", f"{text!r} is in another year; {TOO_FAR}") from None
        if "T" not in text.upper() and " " not in text:
            raise InvalidValue("deadline", f"{text!r} has no time of day; write it like {EXAMPLES}") from None
        return at if at.tzinfo is not None else _localize(at, zone)
    if clock.tzinfo is not None:
        raise InvalidValue("deadline", f"{text!r} has an offset and no date; write it like {EXAMPLES}")
    today = now.astimezone(zone).date()
    deadline = _localize(datetime.combine(today, clock), zone)
    return deadline if deadline > now else _localize(datetime.combine(today + timedelta(days=1), clock), zone)


def _localize(local: datetime, zone: tzinfo | None) -> datetime:
    """Return the instant of a local time.

    Raises
    ------
    InvalidValue : clocks skip it, or have it twice.
    """
    instants = [_to_instant(local.replace(fold=fold), zone) for fold in (0, 1)]
    if instants[0] == instants[1]:
        return instants[0]
    is_skipped = instants[0].astimezone(zone).replace(tzinfo=None) != local
    wrong = "is skipped as clocks go forward" if is_skipped else "comes twice as clocks go back; add its offset"
    raise InvalidValue("deadline", f"{local:%Y-%m-%d %H:%M} {wrong}")


def _to_instant(local: datetime, zone: tzinfo | None) -> datetime:
    return (local if zone is None else local.replace(tzinfo=zone)).astimezone(UTC)

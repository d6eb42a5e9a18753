"""Hourly prices and carbon intensities of a region, as instants: no time zone and no daylight saving in here.

Notation
--------
c(t)  the signal of a region: price, in its currency a kWh, or carbon intensity, gCO2 a kWh; constant within an hour
An hour that nobody stated is unknown: it is never filled in, and whatever depends on it is unknown too.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tradewind.errors import InvalidValue

HOUR = timedelta(hours=1)
MOST_HOURS = 20_000
"""Hours of one file: a little more than two years."""
MOST_PRICE_PER_KWH = 1e6
"""In any currency, of either sign: a mistake of units."""
MOST_CARBON_G_PER_KWH = 2_000.0
"""More than any plant emits (lignite: about 1,100 g/kWh, life cycle; IPCC AR5, annex III): a mistake of units."""
STEP_MINUTES = 15
"""Hours begin at full quarters of an hour: zones such as India's are half an hour off."""


class Signal(StrEnum):
    """What a series has a value of for each hour."""

    PRICE = "price"
    CARBON = "carbon"


class Hour(NamedTuple):
    """One hour of a region; ``None`` where a value is unknown. Prices may be negative."""

    starts_at: datetime
    price_per_kwh: float | None = None
    carbon_g_per_kwh: float | None = None

    def get_value(self, signal: Signal) -> float | None:
        return self.price_per_kwh if signal is Signal.PRICE else self.carbon_g_per_kwh


class Gap(NamedTuple):
    """Hours that are missing between two that are there; ``ends_at`` is the begin of the next known hour."""

    starts_at: datetime
    ends_at: datetime


def check_hours(hours: Sequence[Hour]) -> tuple[Hour, ...]:
    """Return the hours by their begin, if they are a series.

    Raises
    ------
    InvalidValue : names the row, counted from 0, and what is wrong: no value, a duplicate, hours that overlap or do not
        begin at a quarter of an hour, a carbon intensity that is negative or beyond any plant's.
    """
    if not hours:
        raise InvalidValue("hours", "must have an hour at least")
    if len(hours) > MOST_HOURS:
        raise InvalidValue("hours", f"must have at most {MOST_HOURS}, has {len(hours)}; upload it in parts")
    for i, hour in enumerate(hours):
        _check_hour(f"hours.{i}", hour)
    order = sorted(range(len(hours)), key=lambda i: hours[i].starts_at)
    for before, after in pairwise(order):
        step = hours[after].starts_at - hours[before].starts_at
        if not step:
            raise InvalidValue(f"hours.{max(before, after)}", f"is the same hour as hours.{min(before, after)}")
        if step < HOUR:
            reason = f"begins {step.seconds // 60} min after hours.{before}; a series is hourly, so average it by hours"
            raise InvalidValue(f"hours.{after}", reason)
    return tuple(hours[i] for i in order)


def _check_hour(field: str, hour: Hour) -> None:
    at = hour.starts_at
    if at.tzinfo is None:
        raise InvalidValue(f"{field}.starts_at", "has no time zone")
    if at.minute % STEP_MINUTES or at.second or at.microsecond:
        raise InvalidValue(f"{field}.starts_at", f"must be at a full quarter of an hour, got {at.isoformat()}")
    if hour.price_per_kwh is None and hour.carbon_g_per_kwh is None:
        raise InvalidValue(field, "has neither a price nor a carbon intensity; leave out hours that are unknown")
    if hour.price_per_kwh is not None and not abs(hour.price_per_kwh) <= MOST_PRICE_PER_KWH:
        reason = f"must be within -{MOST_PRICE_PER_KWH:g} and {MOST_PRICE_PER_KWH:g} a kWh, got {hour.price_per_kwh:g}"
        raise InvalidValue(f"{field}.price_per_kwh", reason)
    carbon = hour.carbon_g_per_kwh
    if carbon is not None and not 0 <= carbon <= MOST_CARBON_G_PER_KWH:
        reason = f"must be within 0 and {MOST_CARBON_G_PER_KWH:g} g/kWh, got {carbon:g}"
        raise InvalidValue(f"{field}.carbon_g_per_kwh", reason)


@dataclass(frozen=True)
class HourlySeries:
    """The known hours of a region, by their begin."""

    hours: tuple[Hour, ...]

    @classmethod
    def of(cls, hours: Iterable[Hour]) -> "HourlySeries":
        """Return the series of hours in any order."""
        return cls(tuple(sorted(hours, key=lambda hour: hour.starts_at)))

    @cached_property
    def _begins_s(self) -> list[float]:
        return [hour.starts_at.timestamp() for hour in self.hours]

    def find(self, at: datetime) -> Hour | None:
        """Return the hour that holds an instant; ``None`` if it is unknown."""
        i = bisect_right(self._begins_s, at.timestamp()) - 1
        return self.hours[i] if i >= 0 and at < self.hours[i].starts_at + HOUR else None

    def compute_integral(self, signal: Signal, start: datetime, duration_s: float) -> float | None:
        """Return ∫ c(t) dt from ``start`` on, in the signal's unit times s; ``None`` if a part of it is unknown."""
        start_s = start.timestamp()
        end_s = start_s + duration_s
        at_s, total = start_s, 0.0
        i = max(bisect_right(self._begins_s, start_s) - 1, 0)
        while True:
            if i >= len(self.hours) or not self._begins_s[i] <= at_s < self._begins_s[i] + HOUR.total_seconds():
                return None
            value = self.hours[i].get_value(signal)
            if value is None:
                return None
            until_s = min(end_s, self._begins_s[i] + HOUR.total_seconds())
            total += value * (until_s - at_s)
            if until_s >= end_s:
                return total
            at_s, i = until_s, i + 1

    def compute_mean(self, signal: Signal, start: datetime, end: datetime) -> float | None:
        """Return the mean over an interval, weighted by time; at an instant the value there; ``None`` if unknown."""
        duration_s = (end - start).total_seconds()
        if duration_s <= 0:
            hour = self.find(start)
            return None if hour is None else hour.get_value(signal)
        integral = self.compute_integral(signal, start, duration_s)
        return None if integral is None else integral / duration_s


NO_HOURS = HourlySeries(())

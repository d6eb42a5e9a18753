"""When a transfer starts, and at which pace: the least expected cost or carbon among starts that meet the deadline.

Notation
--------
B     bits to move
R     throughput of a pace, bit/s, log-normal: the predictive distribution of the model
T     B / R, duration, s
c(t)  price or carbon intensity of the hosts' electricity, weighted by the ends
P     power of the pace, W: expected energy over expected duration
K(s)  P · E[∫ c(t) dt from s to s + T]: what a start at s is expected to take
P(T ≤ D − s) = P(R ≥ B / (D − s)): probability that a start at s meets the deadline D

The expectation runs over quantiles of R. A start whose transfer may run into an unknown hour has no K, and is never
chosen as cheap or green.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from statistics import NormalDist

from tradewind.errors import InvalidValue
from tradewind.grid.hours import NO_HOURS, HourlySeries, Signal
from tradewind.prediction import BAND_Z, Interval
from tradewind.sla.kinds import Sla
from tradewind.units import BITS_PER_BYTE, JOULES_PER_KWH, format_probability

STEP = timedelta(minutes=15)
"""Between two starts that are compared."""
LONGEST_WAIT = timedelta(days=7)
WORTH_WAITING = 0.01
"""Share of what a start now takes that a later start has to save: nobody waits a day for less."""
QUANTILES = tuple((i + 0.5) / 19 for i in range(19))
"""Of throughput, over which costs are averaged; the lowest is that of 2.6 %."""

_STANDARD = NormalDist()


class When(StrEnum):
    """When a transfer starts."""

    NOW = "now"
    CHEAPEST = "cheapest"
    GREENEST = "greenest"

    @property
    def signal(self) -> Signal:
        return Signal.PRICE if self is When.CHEAPEST else Signal.CARBON


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A way to move the data: ``sla`` has it chosen. ``energy_j`` : expected of the hosts, J; ``None`` if unknown."""

    name: str
    sla: Sla
    throughput_bps: Interval
    energy_j: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridEnd:
    """One end of a transfer: its endpoint, and the hours of its region; without a region these are unknown."""

    endpoint: str
    region: str | None = None
    currency: str | None = None
    series: HourlySeries = NO_HOURS

    def knows(self, signal: Signal) -> bool:
        return any(hour.get_value(signal) is not None for hour in self.series.hours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One possible start.

    ``expected`` : cost or g of CO2 where the pace's energy is known, else a mean of the signal; ``None`` if unknown.
    ``probability`` : that the deadline is met.
    """

    at: datetime
    pace: Pace
    duration_s: float
    probability: float
    expected: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """The chosen start next to one now at the fastest pace, and why it was chosen.

    ``is_feasible`` : whether the deadline is met with the requested probability.
    """

    start: Start
    now: Start
    is_feasible: bool
    reason: str


def choose_start(
    when: When,
    total_bytes: int,
    paces: Sequence[Pace],
    ends: Sequence[GridEnd],
    *,
    now: datetime,
    deadline: datetime,
    confidence: float,
) -> StartPlan:
    """Return the start and the pace of a transfer.

    Parameters
    ----------
    paces : at least one, the fastest first.
    ends : ends whose region is unknown count for nothing; of the others each counts equally.
    confidence : with which the deadline must be met, if any start meets it so.

    Raises
    ------
    InvalidValue : no end has the signal, two ends have prices in different currencies, or the deadline is not ahead or
        too far.
    """
    signal = when.signal
    _check_deadline(now, deadline)
    known = [end for end in ends if end.knows(signal)]
    if not known:
        raise InvalidValue("--when", f"no end's region has a {signal} for any hour; see `tradewind regions`")
    if signal is Signal.PRICE and len({end.currency for end in known}) > 1:
        raise InvalidValue("--when", "the ends' prices are in different currencies, which cannot be added")
    knows_energy = all(pace.energy_j is not None for pace in paces)
    usable = paces if knows_energy else paces[:1]
    series = [end.series for end in known]

    def assess(at: datetime, pace: Pace) -> Start:
        return _assess(at, pace, bits=BITS_PER_BYTE * total_bytes, series=series, signal=signal, deadline=deadline)

    at_once = assess(now, usable[0])
    starts = [at_once, *(assess(at, pace) for at in _list_times(now, deadline) for pace in usable)]
    feasible = [start for start in starts if start.probability >= confidence]
    if not feasible:
        likeliest = max(starts, key=lambda start: start.probability)
        reason = f"no start meets the deadline with {format_probability(confidence)}; the likeliest one does with"
        reason += f" {format_probability(likeliest.probability)}"
        return StartPlan(start=likeliest, now=at_once, is_feasible=False, reason=reason)
    priced = [(start, start.expected) for start in feasible if start.expected is not None]
    if not priced:
        reason = f"no start in time has a known {signal} for all hours that the transfer may take"
        return StartPlan(start=feasible[0], now=at_once, is_feasible=True, reason=reason)
    least = min(expected for _, expected in priced)
    slack = WORTH_WAITING * abs(at_once.expected or 0.0)
    chosen = next(start for start, expected in priced if expected <= least + slack)
    return StartPlan(start=chosen, now=at_once, is_feasible=True, reason=_explain(chosen, at_once, signal))


def _check_deadline(now: datetime, deadline: datetime) -> None:
    if deadline <= now:
        raise InvalidValue("--deadline", "has passed")
    if deadline > now + LONGEST_WAIT:
        raise InvalidValue("--deadline", f"must be within {LONGEST_WAIT.days} days")


def _list_times(now: datetime, deadline: datetime) -> list[datetime]:
    """Return now and the full quarters of an hour before the deadline."""
    step_s = STEP.total_seconds()
    first = (now.timestamp() // step_s + 1) * step_s
    count = math.ceil((deadline.timestamp() - first) / step_s)
    return [now, *(datetime.fromtimestamp(first + i * step_s, UTC) for i in range(count))]


def _assess(
    at: datetime,
    pace: Pace,
    *,
    bits: int,
    series: Sequence[HourlySeries],
    signal: Signal,
    deadline: datetime,
) -> Start:
    durations_s = [bits / rate_bps for rate_bps in list_quantiles(pace.throughput_bps)]
    duration_s = sum(durations_s) / len(durations_s)
    left_s = (deadline - at).total_seconds()
    probability = pace.throughput_bps.compute_probability_above(bits / left_s) if bits else 1.0
    integral = _compute_mean_integral(at, durations_s, series, signal)
    expected: float | None = None
    if integral is not None and duration_s > 0:
        mean_signal = integral / duration_s
        expected = mean_signal if pace.energy_j is None else mean_signal * pace.energy_j / JOULES_PER_KWH
    return Start(at=at, pace=pace, duration_s=duration_s, probability=probability, expected=expected)


def _compute_mean_integral(
    at: datetime, durations_s: Sequence[float], series: Sequence[HourlySeries], signal: Signal
) -> float | None:
    """Return the mean over durations and ends of ∫ c(t) dt; ``None`` if a part of it is unknown."""
    integrals = [
        each.compute_integral(signal, at, max(duration_s, 1e-9)) for each in series for duration_s in durations_s
    ]
    known = [integral for integral in integrals if integral is not None]
    return sum(known) / len(known) if len(known) == len(integrals) else None


def list_quantiles(rate: Interval) -> list[float]:
    """Return the quantiles of a log-normal rate that costs are averaged over; of one without a band its mean alone."""
    if not 0 < rate.low < rate.high:
        return [rate.mean]
    log_sd = math.log(rate.high / rate.low) / (2 * BAND_Z)
    middle = math.log(rate.high * rate.low) / 2
    return [math.exp(middle + log_sd * _STANDARD.inv_cdf(quantile)) for quantile in QUANTILES]


def _explain(chosen: Start, at_once: Start, signal: Signal) -> str:
    name = "carbon" if signal is Signal.CARBON else "cost"
    if chosen.at == at_once.at and chosen.pace is at_once.pace:
        return f"no later start in time has a lower {name} by {WORTH_WAITING:.0%} or more"
    if at_once.expected is None:
        return f"the lowest {name} among starts in time; that of a start now is not known"
    if at_once.expected <= 0 or chosen.expected is None:
        return f"the lowest {name} among starts in time"
    return f"{1 - chosen.expected / at_once.expected:.0%} less {name} than a start now"

"""What a transfer was expected to reach, what it reached, and whether it met its SLA: values and words."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from services.admin.formatting.transfer_rows import read_sla
from services.application.transfers.repository import StoredTransfer
from tradewind.energy.measured import EnergyReading
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.sla.outcome import (
    MeteredEnergy,
    NoVerdict,
    compute_required_throughput_bps,
    explain_no_verdict,
    format_target,
    sum_metered_energy,
)
from tradewind.transfer import Status
from tradewind.units import BITS_PER_BYTE, format_bps, format_joules, format_measured_seconds, format_probability
from tradewind.wire.recommendations import WireInterval
from tradewind.wire.transfers import ExpectedOutcome, TransferState, TransferSummary

NONE = "–"

_WITHOUT_TARGET: Mapping[SlaKind, str] = MappingProxyType(
    {
        SlaKind.MAX_THROUGHPUT: "the most throughput",
        SlaKind.MIN_ENERGY: "the least energy",
        SlaKind.ENERGY_EFFICIENCY: "the most throughput a joule",
    }
)


class Row(NamedTuple):
    """A quantity: its promise, what was expected at the start with the 90 % interval, and what was reached."""

    name: str
    promised: str
    expected: str
    interval: str
    reached: str


class Outcome(NamedTuple):
    """How a transfer met its SLA.

    Attributes
    ----------
    verdict : met or missed; reached or not reached, where it could not be promised; or empty.
    why : a sentence.
    readings : one for each end that was metered.
    """

    sla: str
    verdict: str
    why: str
    rows: tuple[Row, ...]
    readings: tuple[str, ...]


def find_target_bps(known: StoredTransfer) -> float | None:
    """Return the mean throughput that an SLA of throughput or time needs, bit/s."""
    sla = read_sla(known)
    if sla is None:
        return None
    share_bps = None if known.expected is None else known.expected.target_bps
    return compute_required_throughput_bps(sla, total_bytes=known.summary.total_bytes, share_bps=share_bps)


def describe_outcome(known: StoredTransfer, default_basis: EnergyBasis) -> Outcome:
    """Return all that a page shows of a transfer, its samples aside.

    ``default_basis`` : by the power policies of its ends, for a transfer without an SLA.
    """
    sla, transfer = read_sla(known), known.summary
    basis = default_basis if sla is None else sla.energy_basis
    energy = sum_metered_energy(_list_readings(known), basis)
    return Outcome(
        sla=_format_sla(sla, known),
        verdict=_format_verdict(transfer),
        why=_explain(sla, known, energy),
        rows=_list_rows(sla, known, basis, energy),
        readings=tuple(
            f"{each.host}: {format_joules(each.total_j)} in all"
            + ("" if each.dynamic_j is None else f", {format_joules(each.dynamic_j)} above idle")
            + f" ({each.quality}, {each.method.replace('_', ' ')})"
            for each in known.energy
        ),
    )


def _format_sla(sla: Sla | None, known: StoredTransfer) -> str:
    if sla is None:
        return known.summary.sla.replace("_", " ") if known.summary.sla else "nothing"
    target, expected = _format_target(sla, known.expected), known.expected
    if expected is not None and expected.feasible is False:
        return f"{target}; could not be promised ({format_probability(expected.probability)})"
    return f"{target}, with a probability of {format_probability(sla.confidence)}"


def _format_verdict(transfer: TransferSummary) -> str:
    if transfer.agreement_kept is None:
        return ""
    if transfer.agreement_promised is False:
        return "reached" if transfer.agreement_kept else "not reached"
    return "met" if transfer.agreement_kept else "missed"


def _format_target(sla: Sla, expected: ExpectedOutcome | None) -> str:
    if sla.fraction is not None:
        rate_bps = expected.target_bps if expected is not None else None
        of = f"at least {sla.fraction:.0%} of the throughput that can be certified"
        return of if rate_bps is None else f"{of}: {format_bps(rate_bps)}"
    if sla.target is None:
        return _WITHOUT_TARGET[sla.kind]
    if sla.kind in (SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST):
        return f"{format_target(sla)} ({_format_basis(sla.energy_basis)})"
    return format_target(sla)


def _format_basis(basis: EnergyBasis) -> str:
    return "above idle" if basis is EnergyBasis.DYNAMIC else "total"


def _explain(sla: Sla | None, known: StoredTransfer, energy: MeteredEnergy) -> str:
    transfer = known.summary
    if sla is None:
        return "No recommendation was requested for it, so nothing was promised."
    promise = _format_promise(sla, known)
    if transfer.state is not TransferState.ENDED:
        return f"{promise}. Whether it is met is known at its end."
    if transfer.agreement_kept is not None:
        if transfer.status is Status.FAILED:
            return f"The transfer failed, which meets no target. {promise}."
        return f"{promise}; reached {_format_reached(sla, known, energy)}."
    return _explain_unjudged(sla, known, promise)


def _format_promise(sla: Sla, known: StoredTransfer) -> str:
    target = _format_target(sla, known.expected)
    if known.expected is not None and known.expected.feasible is False:
        return f"Requested {target}, which could not be promised ({format_probability(known.expected.probability)})"
    return f"Promised {target}"


def _explain_unjudged(sla: Sla, known: StoredTransfer, promise: str) -> str:
    readings = _list_readings(known)
    match explain_no_verdict(sla, readings, cancelled=known.summary.status is Status.CANCELLED):
        case NoVerdict.CANCELLED:
            return f"{promise}; the transfer was cancelled, so it is not judged."
        case NoVerdict.SHARE:
            return f"{promise}. That is a share of what the service expected itself, so it is not judged."
        case NoVerdict.NO_TARGET:
            return f"Requested {_format_target(sla, known.expected)}: there is no target that could be missed."
        case NoVerdict.NOT_METERED:
            return f"{promise}, but neither end was metered, so it cannot be judged."
        case NoVerdict.ONE_END:
            return f"{promise}. Only the {readings[0].host} was metered, and stayed below; the other end is not known."
        case NoVerdict.NO_BASE_POWER:
            return f"{promise}, but energy above idle is not known of both ends, so it cannot be judged."


def _format_reached(sla: Sla, known: StoredTransfer, energy: MeteredEnergy) -> str:
    """Return what was reached of the quantity that the SLA is about."""
    match sla.kind:
        case SlaKind.DEADLINE:
            return _format_seconds(known.duration_s)
        case SlaKind.ENERGY_AT_MOST:
            return _format_of_ends(energy.joules, format_joules, energy)
        case SlaKind.POWER_AT_MOST:
            return _format_of_ends(energy.compute_power_w(known.duration_s), _format_watts, energy)
        case _:
            return _format_bps(known.summary.throughput_bps)


def _format_of_ends(value: float | None, write: Callable[[float], str], energy: MeteredEnergy) -> str:
    """Return a value with the ends that it is of: one end and both ends are different quantities."""
    return NONE if value is None else f"{write(value)} ({' and '.join(energy.hosts)})"


def _list_rows(sla: Sla | None, known: StoredTransfer, basis: EnergyBasis, energy: MeteredEnergy) -> tuple[Row, ...]:
    transfer, expected = known.summary, known.expected
    predicted = None if expected is None else expected.predicted
    rate = None if predicted is None else predicted.throughput_bps
    kind = None if sla is None else sla.kind
    is_promised = sla is not None and (expected is None or expected.feasible is not False)
    promise = _format_target(sla, expected) if sla is not None and is_promised else NONE

    def of(*kinds: SlaKind) -> str:
        return promise if kind in kinds else NONE

    return (
        Row("Throughput", of(SlaKind.THROUGHPUT_AT_LEAST, SlaKind.MAX_THROUGHPUT),
            *_format_interval(rate, format_bps), _format_rate(transfer)),
        Row("Duration", of(SlaKind.DEADLINE),
            *_format_interval(_expect_duration(transfer, rate), _format_seconds), _format_seconds(known.duration_s)),
        Row(f"Energy, {_format_basis(basis)}",
            of(SlaKind.ENERGY_AT_MOST, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY),
            *_format_interval(None if predicted is None else predicted.energy_j, format_joules),
            _format_of_ends(energy.joules, format_joules, energy)),
        Row(f"Power, {_format_basis(basis)}", of(SlaKind.POWER_AT_MOST),
            *_format_interval(None if predicted is None else predicted.power_w, _format_watts),
            _format_of_ends(energy.compute_power_w(known.duration_s), _format_watts, energy)),
    )  # fmt: skip


def _format_interval(interval: WireInterval | None, write: Callable[[float], str]) -> tuple[str, str]:
    if interval is None:
        return NONE, ""
    return write(interval.mean), f"{write(interval.low)} to {write(interval.high)}"


def _expect_duration(transfer: TransferSummary, rate: WireInterval | None) -> WireInterval | None:
    """Return the expected time for the bytes to move, s."""
    if rate is None or rate.low <= 0:
        return None
    bits = BITS_PER_BYTE * transfer.total_bytes
    return WireInterval(mean=bits / rate.mean, low=bits / rate.high, high=bits / rate.low)


def _format_rate(transfer: TransferSummary) -> str:
    if transfer.state is TransferState.ENDED:
        return _format_bps(transfer.throughput_bps)
    return f"{_format_bps(transfer.throughput_bps)} in the last tick"


def _list_readings(known: StoredTransfer) -> list[EnergyReading]:
    return [EnergyReading(**dict(each)) for each in known.energy]


def _format_bps(value: float | None) -> str:
    return NONE if value is None else format_bps(value)


def _format_watts(value: float) -> str:
    return f"{value:.3g} W"


def _format_seconds(value: float | None) -> str:
    return NONE if value is None else format_measured_seconds(value)

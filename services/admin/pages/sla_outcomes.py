"""What a transfer was expected to reach, what it reached, and whether it kept what was agreed: figures and words."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from services.application.transfers.journal import JournalledTransfer
from tradewind.energy.measured import EnergyReading
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.sla.outcome import (
    MeteredEnergy,
    NoVerdict,
    explain_no_verdict,
    format_target,
    required_throughput_bps,
    sum_metered_energy,
)
from tradewind.transfer import Status
from tradewind.units import BITS_PER_BYTE, format_bps, format_joules, format_measured_seconds
from tradewind.wire.recommendations import WireInterval, WireSla
from tradewind.wire.transfers import ExpectedOutcome, TransferState, TransferSummary

NONE = "–"

_WITHOUT_TARGET: Mapping[SlaKind, str] = MappingProxyType(
    {
        SlaKind.MAX_THROUGHPUT: "the most throughput",
        SlaKind.MIN_ENERGY: "the least energy",
        SlaKind.ENERGY_EFFICIENCY: "the most bits a joule",
    }
)


class Row(NamedTuple):
    """One quantity: what was agreed of it, what was expected at the start with its 90 % interval, what was reached."""

    name: str
    agreed: str
    expected: str
    interval: str
    reached: str


class Outcome(NamedTuple):
    """``verdict`` : kept or missed; reached or not reached what could not be promised; or empty.

    ``why`` : in a sentence. ``readings`` : of each end that was metered.
    """

    agreement: str
    verdict: str
    why: str
    rows: tuple[Row, ...]
    readings: tuple[str, ...]


def agreement_of(known: JournalledTransfer) -> Sla | None:
    """What was asked for, where a recommendation was."""
    return None if known.enquiry is None else WireSla.model_validate(known.enquiry["sla"]).to_sla()


def agreed_bps(known: JournalledTransfer) -> float | None:
    """The mean throughput that the agreement needs, of those that are about throughput or time."""
    agreement = agreement_of(known)
    if agreement is None:
        return None
    share_bps = None if known.expected is None else known.expected.target_bps
    return required_throughput_bps(agreement, total_bytes=known.summary.total_bytes, share_bps=share_bps)


def outcome_of(known: JournalledTransfer) -> Outcome:
    """All that a page tells of a transfer beside its samples."""
    agreement, transfer = agreement_of(known), known.summary
    basis = EnergyBasis.TOTAL if agreement is None else agreement.energy_basis
    energy = sum_metered_energy(_readings(known), basis)
    return Outcome(
        agreement=_in_words(agreement, known),
        verdict=_verdict(transfer),
        why=_why(agreement, known, energy),
        rows=_rows(agreement, known, basis, energy),
        readings=tuple(
            f"{each.host}: {format_joules(each.total_j)} in all"
            + ("" if each.dynamic_j is None else f", {format_joules(each.dynamic_j)} above idle")
            + f" ({each.quality}, {each.method.replace('_', ' ')})"
            for each in known.energy
        ),
    )


def _in_words(agreement: Sla | None, known: JournalledTransfer) -> str:
    if agreement is None:
        return known.summary.sla.replace("_", " ") if known.summary.sla else "nothing"
    wanted, expected = _wanted(agreement, known.expected), known.expected
    if expected is not None and expected.feasible is False:
        return f"{wanted}; could not be promised ({expected.probability:.0%})"
    return f"{wanted}, with a probability of {agreement.confidence:.0%}"


def _verdict(transfer: TransferSummary) -> str:
    if transfer.agreement_kept is None:
        return ""
    if transfer.agreement_promised is False:
        return "reached" if transfer.agreement_kept else "not reached"
    return "kept" if transfer.agreement_kept else "missed"


def _wanted(agreement: Sla, expected: ExpectedOutcome | None) -> str:
    if agreement.fraction is not None:
        came_to = expected.target_bps if expected is not None else None
        of = f"at least {agreement.fraction:.0%} of the throughput that can be certified"
        return of if came_to is None else f"{of}: {format_bps(came_to)}"
    if agreement.target is None:
        return _WITHOUT_TARGET[agreement.kind]
    if agreement.kind in (SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST):
        return f"{format_target(agreement)} ({_of_basis(agreement.energy_basis)})"
    return format_target(agreement)


def _of_basis(basis: EnergyBasis) -> str:
    return "above idle" if basis is EnergyBasis.DYNAMIC else "total"


def _why(agreement: Sla | None, known: JournalledTransfer, energy: MeteredEnergy) -> str:
    transfer = known.summary
    if agreement is None:
        return "No recommendation was asked for it, so nothing was agreed."
    agreed = _agreed(agreement, known)
    if transfer.state is not TransferState.ENDED:
        return f"{agreed}. Whether it is kept is told by its end."
    if transfer.agreement_kept is not None:
        if transfer.status is Status.FAILED:
            return f"The transfer failed, which keeps no target. {agreed}."
        return f"{agreed}; reached {_deciding(agreement, known, energy)}."
    return _not_judged(agreement, known, agreed)


def _agreed(agreement: Sla, known: JournalledTransfer) -> str:
    wanted = _wanted(agreement, known.expected)
    if known.expected is not None and known.expected.feasible is False:
        return f"Asked for {wanted}, which could not be promised ({known.expected.probability:.0%})"
    return f"Agreed on {wanted}"


def _not_judged(agreement: Sla, known: JournalledTransfer, agreed: str) -> str:
    readings = _readings(known)
    match explain_no_verdict(agreement, readings, cancelled=known.summary.status is Status.CANCELLED):
        case NoVerdict.CANCELLED:
            return f"{agreed}; the transfer was cancelled, which tells nothing of it."
        case NoVerdict.SHARE:
            return f"{agreed}. That is a share of what the service expected itself, so it is not judged."
        case NoVerdict.NO_TARGET:
            return f"Asked for {_wanted(agreement, known.expected)}: there is no target that could be missed."
        case NoVerdict.NOT_METERED:
            return f"{agreed}, but neither end was metered, so it cannot be judged."
        case NoVerdict.ONE_END:
            return f"{agreed}. The {readings[0].host} alone was metered and stayed below; of both ends nobody can tell."
        case NoVerdict.NO_BASE_POWER:
            return f"{agreed}, but energy above idle was not told by both ends, so it cannot be judged."


def _deciding(agreement: Sla, known: JournalledTransfer, energy: MeteredEnergy) -> str:
    """The quantity that the agreement is about, as it was reached."""
    match agreement.kind:
        case SlaKind.DEADLINE:
            return _seconds(known.duration_s)
        case SlaKind.ENERGY_AT_MOST:
            return _of_ends(energy.joules, format_joules, energy)
        case SlaKind.POWER_AT_MOST:
            return _of_ends(energy.power_w(known.duration_s), _watts, energy)
        case _:
            return _bps(known.summary.throughput_bps)


def _of_ends(value: float | None, write: Callable[[float], str], energy: MeteredEnergy) -> str:
    """With the ends that it is of: those of one end and of both are different quantities."""
    return NONE if value is None else f"{write(value)} ({' and '.join(energy.hosts)})"


def _rows(
    agreement: Sla | None, known: JournalledTransfer, basis: EnergyBasis, energy: MeteredEnergy
) -> tuple[Row, ...]:
    transfer, expected = known.summary, known.expected
    predicted = None if expected is None else expected.predicted
    rate = None if predicted is None else predicted.throughput_bps
    kind = None if agreement is None else agreement.kind
    agreed = NONE if agreement is None else _wanted(agreement, expected)

    def of(*kinds: SlaKind) -> str:
        return agreed if kind in kinds else NONE

    return (
        Row("Throughput", of(SlaKind.THROUGHPUT_AT_LEAST, SlaKind.MAX_THROUGHPUT),
            *_told(rate, format_bps), _reached_rate(transfer)),
        Row("Duration", of(SlaKind.DEADLINE), *_told(_duration(transfer, rate), _seconds), _seconds(known.duration_s)),
        Row(f"Energy, {_of_basis(basis)}", of(SlaKind.ENERGY_AT_MOST, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY),
            *_told(None if predicted is None else predicted.energy_j, format_joules),
            _of_ends(energy.joules, format_joules, energy)),
        Row(f"Power, {_of_basis(basis)}", of(SlaKind.POWER_AT_MOST),
            *_told(None if predicted is None else predicted.power_w, _watts),
            _of_ends(energy.power_w(known.duration_s), _watts, energy)),
    )  # fmt: skip


def _told(interval: WireInterval | None, write: Callable[[float], str]) -> tuple[str, str]:
    if interval is None:
        return NONE, ""
    return write(interval.mean), f"{write(interval.low)} to {write(interval.high)}"


def _duration(transfer: TransferSummary, rate: WireInterval | None) -> WireInterval | None:
    """What the expected throughput makes of the bytes to move, s."""
    if rate is None or rate.low <= 0:
        return None
    bits = BITS_PER_BYTE * transfer.total_bytes
    return WireInterval(mean=bits / rate.mean, low=bits / rate.high, high=bits / rate.low)


def _reached_rate(transfer: TransferSummary) -> str:
    if transfer.state is TransferState.ENDED:
        return _bps(transfer.throughput_bps)
    return f"{_bps(transfer.throughput_bps)} in the last tick"


def _readings(known: JournalledTransfer) -> list[EnergyReading]:
    return [EnergyReading(**dict(each)) for each in known.energy]


def _bps(value: float | None) -> str:
    return NONE if value is None else format_bps(value)


def _watts(value: float) -> str:
    return f"{value:.3g} W"


def _seconds(value: float | None) -> str:
    return NONE if value is None else format_measured_seconds(value)

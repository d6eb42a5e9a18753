"""What a transfer was expected to reach, what it reached, and whether it kept what was agreed: figures and words."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from services.application.transfer_journal import Journalled
from tradewind.agreement import told
from tradewind.energy import Host
from tradewind.sla import EnergyBasis, Sla, SlaKind
from tradewind.transfer import Status
from tradewind.units import BITS_PER_BYTE, format_bps, format_joules
from tradewind.wire.recommendations import WireInterval, WireSla
from tradewind.wire.transfers import Expected, TransferState, TransferSummary

LONG_S = 120.0
"""Durations from here on are told in minutes, and from 60 times as much in hours."""

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
    """``verdict`` : kept, missed or empty; ``why`` : in a sentence. ``readings`` : of each end that was metered."""

    agreement: str
    verdict: str
    why: str
    rows: tuple[Row, ...]
    readings: tuple[str, ...]


def agreement_of(known: Journalled) -> Sla | None:
    """What was asked for, where a recommendation was."""
    return None if known.enquiry is None else WireSla.model_validate(known.enquiry["sla"]).to_sla()


def target_bps(known: Journalled) -> float | None:
    """The mean throughput that the agreement needs, of those that are about throughput or time."""
    agreement = agreement_of(known)
    if agreement is None:
        return None
    if agreement.fraction is not None:
        return None if known.expected is None else known.expected.target_bps
    if agreement.kind is SlaKind.DEADLINE and agreement.target:
        return BITS_PER_BYTE * known.summary.total_bytes / agreement.target
    return agreement.target if agreement.kind is SlaKind.THROUGHPUT_AT_LEAST else None


def outcome_of(known: Journalled) -> Outcome:
    """All that a page tells of a transfer beside its samples."""
    agreement, transfer = agreement_of(known), known.summary
    basis = EnergyBasis.TOTAL if agreement is None else agreement.energy_basis
    energy_j = _energy_j(known, basis)
    return Outcome(
        agreement=_in_words(agreement, known),
        verdict={True: "kept", False: "missed", None: ""}[transfer.agreement_kept],
        why=_why(agreement, known, energy_j),
        rows=_rows(agreement, known, basis, energy_j),
        readings=tuple(
            f"{each.host}: {format_joules(each.total_j)} in all"
            + ("" if each.dynamic_j is None else f", {format_joules(each.dynamic_j)} above idle")
            + f" ({each.quality}, {each.method.replace('_', ' ')})"
            for each in known.energy
        ),
    )


def _in_words(agreement: Sla | None, known: Journalled) -> str:
    if agreement is None:
        return known.summary.sla.replace("_", " ") if known.summary.sla else "nothing"
    return f"{_wanted(agreement, known.expected)}, with a probability of {agreement.confidence:.0%}"


def _wanted(agreement: Sla, expected: Expected | None) -> str:
    if agreement.fraction is not None:
        came_to = expected.target_bps if expected is not None else None
        of = f"at least {agreement.fraction:.0%} of the throughput that can be certified"
        return of if came_to is None else f"{of}: {format_bps(came_to)}"
    if agreement.target is None:
        return _WITHOUT_TARGET[agreement.kind]
    if agreement.kind in (SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST):
        return f"{told(agreement)} ({_of_basis(agreement.energy_basis)})"
    return told(agreement)


def _of_basis(basis: EnergyBasis) -> str:
    return "above idle" if basis is EnergyBasis.DYNAMIC else "total"


def _why(agreement: Sla | None, known: Journalled, energy_j: float | None) -> str:
    transfer = known.summary
    if agreement is None:
        return "No recommendation was asked for it, so nothing was agreed."
    wanted = _wanted(agreement, known.expected)
    if transfer.state is not TransferState.ENDED:
        return f"Agreed on {wanted}. Whether it is kept is told by its end."
    if transfer.agreement_kept is not None:
        if transfer.status is Status.FAILED:
            return f"The transfer failed, which keeps no target. Agreed on {wanted}."
        return f"Agreed on {wanted}; reached {_deciding(agreement, known, energy_j)}."
    return _not_judged(agreement, known, wanted)


def _not_judged(agreement: Sla, known: Journalled, wanted: str) -> str:
    transfer = known.summary
    if transfer.status is Status.CANCELLED:
        return f"Agreed on {wanted}; the transfer was cancelled, which tells nothing of it."
    if agreement.fraction is not None:
        return f"Agreed on {wanted}. That is a share of what the service expected itself, so it is not judged."
    if agreement.target is None:
        return f"Asked for {wanted}: there is no target that could be missed."
    hosts = [each.host for each in known.energy]
    if not hosts:
        return f"Agreed on {wanted}, but neither end was metered, so it cannot be judged."
    if len(hosts) < len(Host):
        return f"Agreed on {wanted}. The {hosts[0]} alone was metered and stayed below; of both ends nobody can tell."
    return f"Agreed on {wanted}, but energy above idle was not told by both ends, so it cannot be judged."


def _deciding(agreement: Sla, known: Journalled, energy_j: float | None) -> str:
    """The quantity that the agreement is about, as it was reached."""
    match agreement.kind:
        case SlaKind.DEADLINE:
            return _seconds(known.duration_s)
        case SlaKind.ENERGY_AT_MOST:
            return NONE if energy_j is None else format_joules(energy_j)
        case SlaKind.POWER_AT_MOST:
            return _watts(_power_w(energy_j, known.duration_s))
        case _:
            return _bps(known.summary.throughput_bps)


def _rows(agreement: Sla | None, known: Journalled, basis: EnergyBasis, energy_j: float | None) -> tuple[Row, ...]:
    transfer, expected = known.summary, known.expected
    predicted = None if expected is None else expected.predicted
    rate = None if predicted is None else predicted.throughput_bps
    kind = None if agreement is None else agreement.kind
    agreed = NONE if agreement is None else _wanted(agreement, expected)
    ends = " and ".join(each.host for each in known.energy)
    of_ends = f" ({ends})" if ends else ""

    def of(*kinds: SlaKind) -> str:
        return agreed if kind in kinds else NONE

    return (
        Row("Throughput", of(SlaKind.THROUGHPUT_AT_LEAST, SlaKind.MAX_THROUGHPUT),
            *_told(rate, format_bps), _reached_rate(transfer)),
        Row("Duration", of(SlaKind.DEADLINE), *_told(_duration(transfer, rate), _seconds), _seconds(known.duration_s)),
        Row(f"Energy, {_of_basis(basis)}", of(SlaKind.ENERGY_AT_MOST, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY),
            *_told(None if predicted is None else predicted.energy_j, format_joules),
            NONE if energy_j is None else format_joules(energy_j) + of_ends),
        Row(f"Power, {_of_basis(basis)}", of(SlaKind.POWER_AT_MOST),
            *_told(None if predicted is None else predicted.power_w, _watts),
            _watts(_power_w(energy_j, known.duration_s))),
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


def _energy_j(known: Journalled, basis: EnergyBasis) -> float | None:
    """Of the ends that told it on this basis together."""
    told_j = [each.dynamic_j if basis is EnergyBasis.DYNAMIC else each.total_j for each in known.energy]
    joules = [each for each in told_j if each is not None]
    return sum(joules) if joules else None


def _power_w(energy_j: float | None, duration_s: float | None) -> float | None:
    return None if energy_j is None or not duration_s else energy_j / duration_s


def _bps(value: float | None) -> str:
    return NONE if value is None else format_bps(value)


def _watts(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g} W"


def _seconds(value: float | None) -> str:
    if value is None:
        return NONE
    if value < LONG_S:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 60 * LONG_S else f"{value / 3600:.3g} h"

"""SLAs as users write them: ``max_throughput``, ``throughput_at_least=500Mbps``, ``deadline=2h``."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.units import parse_bps, parse_fraction, parse_joules, parse_seconds, parse_watts

_PARSE_TARGET: Mapping[SlaKind, Callable[[str], float]] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: parse_bps,
        SlaKind.ENERGY_AT_MOST: parse_joules,
        SlaKind.POWER_AT_MOST: parse_watts,
        SlaKind.DEADLINE: parse_seconds,
    }
)
_EXAMPLES = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: "throughput_at_least=500Mbps or throughput_at_least=90%",
        SlaKind.ENERGY_AT_MOST: "energy_at_most=4kJ",
        SlaKind.POWER_AT_MOST: "power_at_most=15W",
        SlaKind.DEADLINE: "deadline=2h",
    }
)


def parse_sla(text: str, *, confidence: float = DEFAULT_CONFIDENCE, energy_basis: EnergyBasis | None = None) -> Sla:
    """Parse ``KIND`` or ``KIND=VALUE``; only ``throughput_at_least`` takes a percentage.

    Without an energy basis the service takes that of the endpoints' power policy; without a service the total counts.

    Raises
    ------
    InvalidValue : an unknown kind, a value that is missing, too many or in no unit of its kind.
    """
    name, given, value = text.strip().partition("=")
    try:
        kind = SlaKind(name.strip().lower().replace("-", "_"))
    except ValueError:
        raise InvalidValue(
            "sla", f"unknown kind {name.strip()!r}; one of {', '.join(SlaKind)}{_suggest_kind(text)}"
        ) from None
    make_sla = partial(
        Sla,
        kind=kind,
        confidence=confidence,
        energy_basis=energy_basis or EnergyBasis.TOTAL,
        has_default_basis=energy_basis is None,
    )
    if kind not in _PARSE_TARGET:
        if given:
            raise InvalidValue("sla", f"{kind} takes no value")
        return make_sla()
    if not value.strip():
        raise InvalidValue("sla", f"{kind} needs a value, such as {_EXAMPLES[kind]}")
    try:
        if kind is SlaKind.THROUGHPUT_AT_LEAST and value.strip().endswith("%"):
            return make_sla(fraction=parse_fraction(value))
        return make_sla(target=_parse_target(kind, value.strip()))
    except InvalidValue as wrong:
        if wrong.field != "sla.target":
            raise
        raise InvalidValue(
            "sla", f"{kind}={value.strip()}: the target {wrong.reason}; such as {_EXAMPLES[kind]}"
        ) from None


def _suggest_kind(text: str) -> str:
    """Return a question that suggests a kind for a bare value, if one fits."""
    for kind, parse in _PARSE_TARGET.items():
        try:
            parse(text.strip())
        except InvalidUnit:
            continue
        return f"; did you mean {kind}={text.strip()}?"
    return ""


def _parse_target(kind: SlaKind, value: str) -> float:
    try:
        return _PARSE_TARGET[kind](value)
    except InvalidUnit:
        raise InvalidValue("sla", f"{kind} cannot be {value!r}; write it like {_EXAMPLES[kind]}") from None


def format_sla(sla: Sla) -> str:
    """Format one line that :func:`parse_sla` reads back; confidence and basis are in the request."""
    if sla.fraction is not None:
        return f"{sla.kind}={100 * sla.fraction:g}%"
    if sla.target is None:
        return str(sla.kind)
    unit = {SlaKind.THROUGHPUT_AT_LEAST: "bps", SlaKind.ENERGY_AT_MOST: "J", SlaKind.POWER_AT_MOST: "W"}
    return f"{sla.kind}={sla.target!r}{unit.get(sla.kind, 's')}"

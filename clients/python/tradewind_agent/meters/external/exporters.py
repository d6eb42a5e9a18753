"""Energy of a host as Scaphandre or Kepler export it for Prometheus.

Metric names are those of Scaphandre 1.0 (references, "Metrics available") and of Kepler's "Kepler Metrics", releases
0.10 and later, and those of its releases before. Of each the widest that is there counts: the platform, else packages
and memory. Zones within a package are part of it and not added.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.external.exposition import Sample, parse_samples
from tradewind_agent.meters.external.gauge import GaugeMeter
from tradewind_agent.meters.external.http_read import HttpReader
from tradewind_agent.meters.meter import Meter, MeterUnavailable
from tradewind_agent.meters.utilisation import HostCounters

RENEW_S = 1.0
COUNTER_S = 5.0
"""Five times the second for which Kepler shows a value: the energy of a shorter transfer may be that of before."""
SCAPHANDRE_RENEW_S = 2.5
"""Scaphandre renews its values only at a request that comes more than 2 s after the one before (its issue 434)."""
KEPLER_PLATFORM_S = 30.0
"""How long Kepler shows a power that it has from a management controller, by default."""
HOST_LABELS = ("node_name", "node", "nodename", "hostname", "host")
"""Labels that name a host in what several exporters have been collected to."""
EXPORTER_LABELS = ("instance", "exported_instance", "pod", "exported_pod", "job", "exported_job")
"""Labels that a collector adds to name an exporter; a restart may change them."""
_MICRO = 1e-6

SCAPHANDRE_ENERGY, SCAPHANDRE_POWER = "scaph_host_energy_microjoules", "scaph_host_power_microwatts"
KEPLER_PLATFORM, KEPLER_PACKAGE = "kepler_node_platform_joules_total", "kepler_node_package_joules_total"
KEPLER_DRAM, KEPLER_CPU = "kepler_node_dram_joules_total", "kepler_node_cpu_joules_total"
KEPLER_PLATFORM_POWER = "kepler_platform_watts"
SOCKETS, ENTIRE_HOST = "sockets only, the whole host's processes", "the whole host"


_Identity = tuple[str, frozenset[tuple[str, str]]]
"""Name and labels of a sample, without `EXPORTER_LABELS`."""


@dataclass(frozen=True, slots=True)
class Series:
    """What an exporter may have of a host: ``add_up`` makes one value of its samples, ``None`` where they are none.

    ``is_power`` : a gauge in W, else a counter in J; ``renew_s`` : how old a value becomes before the next request;
    ``late_s`` : how long the exporter itself shows one.
    """

    names: tuple[str, ...]
    add_up: Callable[[Sequence[Sample]], float | None]
    covers: str
    is_power: bool = False
    renew_s: float = 0.0
    late_s: float = 0.0


def _sum_of(*names: str, factor: float = 1.0) -> Callable[[Sequence[Sample]], float | None]:
    def add_up(samples: Sequence[Sample]) -> float | None:
        values = [sample.value for sample in samples if sample.name in names]
        total = factor * sum(values)
        return total if values and total > 0 else None  # a metric without a source is there with 0

    return add_up


def _add_zones(samples: Sequence[Sample]) -> float | None:
    """Sum the zones of processors: ``psys`` alone where it is, as it holds all others; else packages and memory."""
    zones = [(sample.labels.get("zone", "").lower(), sample.value) for sample in samples if sample.name == KEPLER_CPU]
    psys = [value for zone, value in zones if zone.startswith("psys")]
    parts = [value for zone, value in zones if zone.startswith(("package", "dram"))]
    total = sum(psys or parts)
    return total if total > 0 else None


def _find_largest(samples: Sequence[Sample]) -> float | None:
    """Return the largest: controllers report a server next to its parts."""
    values = [sample.value for sample in samples if sample.name == KEPLER_PLATFORM_POWER]
    return max(values, default=0.0) or None


SCAPHANDRE = (
    Series((SCAPHANDRE_ENERGY,), _sum_of(SCAPHANDRE_ENERGY, factor=_MICRO), SOCKETS, renew_s=SCAPHANDRE_RENEW_S),
    Series(
        (SCAPHANDRE_POWER,),
        _sum_of(SCAPHANDRE_POWER, factor=_MICRO),
        SOCKETS,
        is_power=True,
        renew_s=SCAPHANDRE_RENEW_S,
    ),
)
KEPLER = (
    Series((KEPLER_PLATFORM,), _sum_of(KEPLER_PLATFORM), ENTIRE_HOST),
    Series(
        (KEPLER_PLATFORM_POWER,),
        _find_largest,
        ENTIRE_HOST,
        is_power=True,
        renew_s=RENEW_S,
        late_s=KEPLER_PLATFORM_S,
    ),
    Series((KEPLER_CPU,), _add_zones, SOCKETS),
    Series((KEPLER_PACKAGE, KEPLER_DRAM), _sum_of(KEPLER_PACKAGE, KEPLER_DRAM), SOCKETS),
)
"""The widest first."""


@dataclass(slots=True)
class CounterMeter:
    """A counter of joules; it has the granularity of the exporter, up to some seconds.

    ``renew_s`` : how old a value becomes before the next request; 0 for a request at each reading.
    """

    read_j: Callable[[], float]
    description: str
    quality: EnergyQuality
    renew_s: float = 0.0
    base_w: float | None = None
    resolution_s: float = COUNTER_S
    _counted_j: float = field(default=0.0, init=False)
    _counted_s: float = field(default=-math.inf, init=False)

    @property
    def method(self) -> EnergyMethod:
        return EnergyMethod.METER

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy that the exporter has counted, J; a request that fails is repeated at the next reading."""
        if counters.at_s - self._counted_s >= self.renew_s:
            self._counted_s = -math.inf
            self._counted_j = self.read_j()
            self._counted_s = counters.at_s
        return self._counted_j


def open_exporter_meter(name: str, series: Sequence[Series], reader: HttpReader, path: str) -> Meter:
    """Return the meter of the first series that the exporter has.

    Raises
    ------
    MeterUnavailable : it has none, or those of several hosts, or cannot be read.
    """
    names = [each for one in series for each in one.names]
    samples = _read_samples(reader, path, names)
    for one in series:
        if one.add_up(samples) is None:
            continue

        first = _identify(samples, one.names)

        def read(chosen: Series = one, first: frozenset[_Identity] = first) -> float:
            found = _read_samples(reader, path, chosen.names)
            value = chosen.add_up(found)
            if value is None:
                raise MeterUnavailable(f"{reader.base_url}{path} has no {chosen.names[0]} any more")
            if _identify(found, chosen.names) != first:
                what = f"other samples of {chosen.names[0]} than at first"
                raise MeterUnavailable(f"{reader.base_url}{path} has {what}; start again to count these")
            return value

        quality = EnergyQuality.ASSUMED if _is_modelled(samples, one.names) else EnergyQuality.MEASURED
        description = f"{name}, {' + '.join(one.names)} of {reader.base_url}: {one.covers}"
        if one.is_power:
            return GaugeMeter(read, description, one.renew_s, one.late_s, quality)
        return CounterMeter(read, description, quality, one.renew_s)
    raise MeterUnavailable(f"{reader.base_url}{path} has none of {', '.join(names)} above 0")


def _identify(samples: Sequence[Sample], names: Sequence[str]) -> frozenset[_Identity]:
    return frozenset(
        (each.name, frozenset((label, text) for label, text in each.labels.items() if label not in EXPORTER_LABELS))
        for each in samples
        if each.name in names
    )


def _check_host(samples: Sequence[Sample], where: str) -> None:
    """Refuse samples of several hosts or of several exporters, or one that is there twice: their sum is no host's."""
    for kind, labels in (("hosts", HOST_LABELS), ("exporters", EXPORTER_LABELS)):
        for label in labels:
            found = sorted({sample.labels[label] for sample in samples if label in sample.labels})
            if len(found) > 1:
                listed = ", ".join(found[:3])
                raise MeterUnavailable(f"{where} has several {kind} ({listed}); name this host's own exporter")
    if len(_identify(samples, [sample.name for sample in samples])) < len(samples):
        raise MeterUnavailable(f"{where} has a sample twice; name this host's own exporter")


def _is_modelled(samples: Sequence[Sample], names: Sequence[str]) -> bool:
    """Return whether the exporter says that a model has made its values, as Kepler does in virtual machines."""
    sources = {sample.labels.get("source", "").lower() for sample in samples if sample.name in names}
    return any("model" in source or "estimat" in source for source in sources)


def _read_samples(reader: HttpReader, path: str, names: Sequence[str]) -> Sequence[Sample]:
    text = reader.get(path).decode("utf-8", "replace")
    samples = tuple(parse_samples(text, frozenset(names)))
    _check_host(samples, f"{reader.base_url}{path}")
    return samples

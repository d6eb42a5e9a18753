"""The trade-off of a cluster: throughput and energy of every certified setting, the Pareto front, and the tiers."""

import math
from collections.abc import Sequence

from services.admin.charts.style import COLOURS, Options, build_chart, build_log_axis, in_unit
from tradewind.model import LeafModel
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.partitions import format_tier_name
from tradewind.units import BITS_PER_BYTE, GB, MBIT

Point = tuple[float, float]
TIER_KINDS = (SlaKind.THROUGHPUT_AT_LEAST, SlaKind.ENERGY_AT_MOST)


def place(setting: PredictedSetting, idle_w: float = 0.0) -> Point | None:
    """Return the median throughput, Mbit/s, and the energy of a gigabyte, J; ``None`` without power above
    ``idle_w``.
    """
    if setting.log_power_mean is None:
        return None
    rate_bps, power_w = math.exp(setting.log_throughput_mean), math.exp(setting.log_power_mean) - idle_w
    return (rate_bps / MBIT, power_w * BITS_PER_BYTE * GB / rate_bps) if power_w > 0 else None


def find_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in both, the slowest and least demanding first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (-point[0], point[1])):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best[::-1]


def build_pareto_chart(leaf: LeafModel, confidence: float, basis: EnergyBasis) -> Options:
    """Draw the trade-off of a cluster with its SLA partitions at a confidence and on an energy basis."""
    is_dynamic = basis is EnergyBasis.DYNAMIC
    idle_w = (leaf.table.base_power_w or 0.0) if is_dynamic else 0.0
    certified = [point for each in leaf.table.settings if each.certified and (point := place(each, idle_w)) is not None]
    tiers = [each for each in leaf.partitions if each.confidence == confidence and each.energy_basis is basis]
    series: list[Options] = [
        {"type": "scatter", "name": "certified settings", "data": certified, "symbolSize": 6,
         "itemStyle": {"color": COLOURS[5], "opacity": 0.45}},
        {"type": "line", "name": "best of both", "data": find_front(certified), "symbol": "none", "step": False,
         "lineStyle": {"width": 2.5, "color": COLOURS[0]}, "itemStyle": {"color": COLOURS[0]}},
    ]  # fmt: skip
    for number, kind in enumerate(TIER_KINDS, start=1):
        marked = [
            {"name": format_tier_name(each), "value": point}
            for each in tiers
            if each.kind is kind and (point := place(each.setting, idle_w)) is not None
        ]
        series.append({
            "type": "scatter", "name": f"tiers: {kind.replace('_', ' ')}", "data": marked, "symbolSize": 13,
            "symbol": ("diamond", "triangle")[number - 1],
            "itemStyle": {"color": COLOURS[number], "borderColor": "#fff", "borderWidth": 1},
        })  # fmt: skip
    drawn = certified + [mark["value"] for each in series[2:] for mark in each["data"]]
    return build_chart(
        legend=[each["name"] for each in series],
        tooltip={"trigger": "item", "valueFormatter": in_unit("")},
        xAxis=build_log_axis("throughput, Mbit/s", [rate for rate, _ in drawn]),
        yAxis=build_log_axis("energy above idle, J/GB" if idle_w else "energy, J/GB", [energy for _, energy in drawn]),
        series=series,
    )

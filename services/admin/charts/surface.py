"""A cluster's surface over two parameters, and slices through it with the interval and the observed means."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from services.admin.charts.style import COLOURS, HEAT, NARROW_PX, Options, build_axis, build_chart, in_unit
from tradewind.model import LeafModel, ObservedSetting
from tradewind.parameters import Parameters
from tradewind.prediction import Interval, PredictedSetting, predict
from tradewind.units import GB, MBIT

AXIS_NAMES = {
    "concurrency": "files at once (concurrency)",
    "parallelism": "streams a file (parallelism)",
    "pipelining": "requests in flight (pipelining)",
    "cores": "cores",
    "frequency_hz": "CPU frequency, Hz",
    "io_block_bytes": "I/O block, B",
    "part_bytes": "parts of an object, B",
}
MOST_SLICES = 4

_UNCUT_LABELS: Options = {
    "axisLabel": {"lineHeight": 40},
    "nameTextStyle": {"lineHeight": 40},
    "nameGap": 26,
}
"""Without a line height, the library of three-dimensional charts cuts its labels."""


NARROWEST_PX = 400
"""Charts up to this width are seen from further away: their height stays."""

_SMALL_NAME: Options = {"nameGap": 18, "nameTextStyle": {"fontSize": 11, "lineHeight": 40}}
_LYING_SCALE: Options = {"orient": "horizontal", "left": "center", "right": "auto", "top": 0}
"""The colour scale above a surface, on a small screen."""


class SurfaceQuantity(StrEnum):
    """The quantity of a setting that is drawn."""

    THROUGHPUT = "throughput"
    ENERGY = "energy"
    POWER = "power"


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity in the unit that it is drawn in."""

    name: str
    unit: str

    @property
    def label(self) -> str:
        return f"{self.name}, {self.unit}"


MEASURES = {
    SurfaceQuantity.THROUGHPUT: Measure("throughput", "Mbit/s"),
    SurfaceQuantity.ENERGY: Measure("energy", "J/GB"),
    SurfaceQuantity.POWER: Measure("power", "W"),
}


@dataclass(frozen=True)
class SurfaceSlice:
    """A surface over ``across`` and ``along`` with all other parameters fixed.

    Parameters
    ----------
    fixed : value of each other axis of the lattice.
    """

    leaf: LeafModel
    shown: SurfaceQuantity
    across: str
    along: str
    fixed: dict[str, float]

    @classmethod
    def of(cls, leaf: LeafModel, shown: SurfaceQuantity, requested_values: dict[str, float]) -> "SurfaceSlice":
        """Return the cut along the first two axes that vary; other axes take the requested value, else the fastest
        setting's.
        """
        axes = leaf.lattice.axes
        varying = [each for each in axes if len(leaf.lattice.values[each]) > 1] or list(axes)
        across = varying[0]
        along = varying[1] if len(varying) > 1 else next((each for each in axes if each != across), across)
        fastest = max(leaf.table.settings, key=lambda each: (each.certified, each.log_throughput_mean)).parameters
        fixed = {}
        for name in axes:
            if name in (across, along):
                continue
            values = leaf.lattice.values[name]
            requested = requested_values.get(name)
            fixed[name] = requested if requested in values else float(getattr(fastest, name))
        return cls(leaf, shown, across, along, fixed)

    @property
    def measure(self) -> Measure:
        return MEASURES[self.shown]

    def list_settings(self) -> Iterator[tuple[float, float, PredictedSetting]]:
        """Yield the settings of the cut, with their values on its two axes."""
        for each in self.leaf.table.settings:
            if self._holds(each.parameters):
                yield *self._place(each.parameters), each

    def list_observed(self) -> Iterator[tuple[float, float, ObservedSetting]]:
        """Yield the observed means that lie in the cut."""
        for each in self.leaf.observed:
            if self._holds(each.parameters):
                yield *self._place(each.parameters), each

    def predict_interval(self, setting: PredictedSetting) -> Interval | None:
        """Return the predicted mean and its 90 % band in the measure's unit."""
        predicted = predict(setting, dataset_bytes=GB, base_power_w=self.leaf.table.base_power_w)
        if self.shown is SurfaceQuantity.THROUGHPUT:
            return predicted.throughput_bps.multiply(1 / MBIT)
        return predicted.energy_j if self.shown is SurfaceQuantity.ENERGY else predicted.power_w

    def compute_observed_mean(self, observed: ObservedSetting) -> float | None:
        """Return the observed mean in the measure's unit."""
        rate_bps = math.exp(observed.log_throughput_mean)
        if self.shown is SurfaceQuantity.THROUGHPUT:
            return rate_bps / MBIT
        if observed.power_w_mean is None or self.shown is SurfaceQuantity.POWER:
            return observed.power_w_mean
        return observed.power_w_mean * 8 * GB / rate_bps

    def _holds(self, parameters: Parameters) -> bool:
        return all(getattr(parameters, name) == value for name, value in self.fixed.items())

    def _place(self, parameters: Parameters) -> tuple[float, float]:
        return float(getattr(parameters, self.across)), float(getattr(parameters, self.along))


def build_solid_chart(cut: SurfaceSlice) -> Options:
    """Draw the surface in three dimensions by WebGL, with the observed means as points."""
    points = sorted(
        (
            (x, y, interval.mean)
            for x, y, each in cut.list_settings()
            if (interval := cut.predict_interval(each)) is not None
        ),
        key=lambda point: (point[1], point[0]),
    )
    shape = [len(cut.leaf.lattice.values[name]) for name in (cut.along, cut.across)]
    seen = [
        (x, y, value) for x, y, each in cut.list_observed() if (value := cut.compute_observed_mean(each)) is not None
    ]
    heights = [z for _, _, z in points]
    return {
        "tooltip": {"valueFormatter": in_unit(cut.measure.unit)},
        "visualMap": {
            **_scale(heights, cut.measure.unit), "dimension": 2, "seriesIndex": 0,
        },
        "xAxis3D": {"type": "log", "logBase": 2, "name": cut.across, **_UNCUT_LABELS},
        "yAxis3D": {"type": "log", "logBase": 2, "name": cut.along, **_UNCUT_LABELS},
        "zAxis3D": {"type": "value", "name": "", **_UNCUT_LABELS},
        "grid3D": {
            "viewControl": {"alpha": 22, "beta": -35, "distance": 265}, "right": 46, "top": -10, "bottom": 0,
            "boxWidth": 110, "boxDepth": 90, "boxHeight": 80, "light": {"ambient": {"intensity": 0.7}},
        },
        "series": [
            {"type": "surface", "name": "surface", "data": points, "dataShape": shape, "shading": "color",
             "wireframe": {"show": True}, "itemStyle": {"opacity": 0.85}},
            {"type": "scatter3D", "name": "observed", "data": seen, "symbolSize": 7,
             "itemStyle": {"color": COLOURS[1]}},
        ],
        "media": [
            {"query": {"maxWidth": NARROW_PX}, "option": {
                "grid3D": {"viewControl": {"distance": 285}, "right": 0, "top": 20}, "visualMap": _LYING_SCALE,
                "xAxis3D": _SMALL_NAME, "yAxis3D": _SMALL_NAME,
            }},
            {"query": {"maxWidth": NARROWEST_PX}, "option": {"grid3D": {"viewControl": {"distance": 330}}}},
        ],
    }  # fmt: skip


def build_heat_map(cut: SurfaceSlice) -> Options:
    """Draw the surface as a heat map, for browsers without WebGL."""
    xs, ys = (cut.leaf.lattice.values[name] for name in (cut.across, cut.along))
    cells = [
        (xs.index(x), ys.index(y), round(interval.mean, 3))
        for x, y, each in cut.list_settings()
        if (interval := cut.predict_interval(each)) is not None
    ]
    heights = [z for _, _, z in cells]
    return build_chart(
        tooltip={"valueFormatter": in_unit(cut.measure.unit)},
        grid={"left": 64, "right": 96, "top": 16, "bottom": 56},
        xAxis=build_axis(AXIS_NAMES[cut.across], values=[f"{x:g}" for x in xs]),
        yAxis=build_axis(AXIS_NAMES[cut.along], values=[f"{y:g}" for y in ys]),
        visualMap=_scale(heights, cut.measure.unit),
        series=[{"type": "heatmap", "name": cut.measure.name, "data": cells}],
    )


def _scale(heights: Sequence[float], unit: str) -> Options:
    """Return the colour scale next to a surface."""
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    return {
        "min": low, "max": high, "inRange": {"color": list(HEAT)}, "right": 0, "top": "middle", "precision": 0,
        "text": [unit, ""],
    }  # fmt: skip


def build_slice_chart(cut: SurfaceSlice) -> Options:
    """Draw lines over one parameter for a few values of the other, with the 90 % interval of the highest line."""
    lines: dict[float, list[tuple[float, Interval]]] = {}
    for x, y, setting in cut.list_settings():
        if (interval := cut.predict_interval(setting)) is not None:
            lines.setdefault(y, []).append((x, interval))
    chosen = _spread(sorted(lines), MOST_SLICES)
    series: list[Options] = []
    for number, y in enumerate(chosen):
        colour = COLOURS[number]
        name = f"{cut.along} {y:g}"
        line = [(x, interval.mean) for x, interval in lines[y]]
        series.append({
            "type": "line", "name": name, "data": line, "itemStyle": {"color": colour}, "symbol": "none",
        })  # fmt: skip
        observed = [(x, cut.compute_observed_mean(each)) for x, at, each in cut.list_observed() if at == y]
        series.append({
            "type": "scatter", "name": name, "itemStyle": {"color": colour}, "symbolSize": 8,
            "data": [(x, mean) for x, mean in observed if mean is not None],
        })  # fmt: skip
    band: list[Options] = []
    if chosen:
        best = max(chosen, key=lambda y: max(interval.mean for _, interval in lines[y]))
        band = _build_band(f"90 % interval of {cut.along} {best:g}", lines[best], COLOURS[chosen.index(best)])
    return build_chart(
        tooltip={"trigger": "axis", "valueFormatter": in_unit(cut.measure.unit)},
        legend=[*(f"{cut.along} {y:g}" for y in chosen), *(each["name"] for each in band[1:])],
        xAxis=build_axis(AXIS_NAMES[cut.across], type="log", logBase=2),
        yAxis=build_axis(cut.measure.label, min=0),
        series=[*series, *band],
    )


def _build_band(name: str, line: Sequence[tuple[float, Interval]], colour: str) -> list[Options]:
    """Return two stacked lines: the invisible lower end, and the filled width of the interval above it."""
    shared: Options = {
        "type": "line", "symbol": "none", "lineStyle": {"opacity": 0}, "stack": "band", "tooltip": {"show": False},
        "silent": True,
    }  # fmt: skip
    return [
        shared | {"name": "low", "data": [(x, interval.low) for x, interval in line]},
        shared
        | {
            "name": name,
            "itemStyle": {"color": colour, "opacity": 0.35},
            "data": [(x, interval.high - interval.low) for x, interval in line],
            "areaStyle": {"color": colour, "opacity": 0.14},
        },
    ]


def _spread(values: Sequence[float], most: int) -> list[float]:
    """Return at most so many of the values, with both ends."""
    if len(values) <= most:
        return list(values)
    return [values[round(n * (len(values) - 1) / (most - 1))] for n in range(most)]

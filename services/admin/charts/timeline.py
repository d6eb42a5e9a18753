"""A transfer over time: throughput and round trip of each tick, streams in use, and marks where a decision was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from services.admin.charts.style import COLOURS, LINE, Options, in_unit
from tradewind.units import MBIT
from tradewind.wire.transfers import TransferSample

THROUGHPUT, STREAMS, ROUND_TRIP, AGENT_POWER = "throughput, Mbit/s", "streams", "round trip, ms", "power here, W"
"""Power is that of the agent's host; expected power is that of all hosts that the logs meter."""


def count_streams(sample: TransferSample) -> int:
    """Return the streams of a tick, over all its chunks."""
    return sum((each.parameters.concurrency or 1) * (each.parameters.parallelism or 1) for each in sample.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A horizontal line in the throughput panel, Mbit/s: the expected value with its interval, or the promised one."""

    name: str
    value: float
    band: tuple[float, float] | None = None
    is_target: bool = False


def build_timeline(samples: Sequence[TransferSample], levels: Sequence[Level] = ()) -> Options:
    """Draw panels over the seconds since the first heartbeat, with a mark where parameters changed.

    Parameters
    ----------
    levels : horizontal lines in the throughput panel.
    """
    if not samples:
        return {}
    at_s = list(accumulate(each.interval_s for each in samples))  # clocks of agents may jump
    ticks = [(x, each) for x, each in zip(at_s, samples, strict=True) if each.sequence > 0]
    changes = [
        {"xAxis": x, "name": each.decision.kind} for x, each in zip(at_s, samples, strict=True) if each.decision.changed
    ]
    lines: dict[str, list[tuple[float, float]]] = {
        THROUGHPUT: [(x, each.throughput_bps / MBIT) for x, each in ticks],
        STREAMS: [(x, count_streams(each)) for x, each in zip(at_s, samples, strict=True)],
        ROUND_TRIP: [(x, 1e3 * each.rtt_s) for x, each in ticks if each.rtt_s is not None],
        AGENT_POWER: [(x, each.power_w) for x, each in ticks if each.power_w is not None],
    }
    across = {THROUGHPUT: levels}
    panels = [name for name in lines if name != AGENT_POWER or lines[name]]
    places = _PLACES[: len(panels)]
    return {
        "animation": False,
        "textStyle": {"fontFamily": "sans-serif"},
        "tooltip": {"trigger": "axis", "valueFormatter": in_unit("")},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "grid": [{"left": 70, "right": 24, "top": top, "height": height} for top, height in places],
        "xAxis": [_time(number, last=number == len(panels) - 1) for number in range(len(panels))],
        "yAxis": [
            _build_vertical_axis(number, name, lines[name], across.get(name, ())) for number, name in enumerate(panels)
        ],
        "series": [
            {"type": "line", "name": name, "data": lines[name], "xAxisIndex": number, "yAxisIndex": number,
             "symbolSize": 5, "step": "end" if name == STREAMS else False, "itemStyle": {"color": COLOURS[number]},
             "markLine": _build_marks(changes if name == THROUGHPUT else [], across.get(name, ())),
             "markArea": _build_bands(across.get(name, ()))}
            for number, name in enumerate(panels)
        ],
    }  # fmt: skip


_PLACES = ((16, 170), (220, 90), (344, 90), (468, 90))
_EXPECTED, _TARGET = COLOURS[2], COLOURS[4]
_ROOM = 1.08
"""Height of an axis relative to its highest value."""


def _build_vertical_axis(
    number: int, name: str, line: Sequence[tuple[float, float]], levels: Sequence[Level]
) -> Options:
    """Return a vertical axis that also covers the horizontal lines of its panel."""
    highest = max(
        [y for _, y in line] + [max(each.value, (each.band or (0.0, 0.0))[1]) for each in levels], default=0.0
    )
    reach = {"max": float(f"{_ROOM * highest:.2g}")} if levels and highest > 0 else {}
    return {"type": "value", "gridIndex": number, "name": name, "nameLocation": "middle", "nameGap": 48, "min": 0,
            "splitNumber": 3, "splitLine": {"lineStyle": {"color": LINE}}, **reach}  # fmt: skip


def _time(number: int, *, last: bool) -> Options:
    shown: Options = {"type": "value", "gridIndex": number, "axisLabel": {"show": last}, "splitLine": {"show": False}}
    return shown | (
        {"name": "seconds since the first heartbeat", "nameLocation": "middle", "nameGap": 28} if last else {}
    )


def _build_marks(changes: Sequence[Options], levels: Sequence[Level]) -> Options:
    """Return vertical lines where parameters changed, and the horizontal lines with their names."""
    across = [_level(each) for each in levels]
    return {
        "symbol": "none", "silent": True, "data": [*changes, *across], "label": {"show": False},
        "lineStyle": {"color": COLOURS[1], "type": "dashed", "opacity": 0.7},
    }  # fmt: skip


def _level(level: Level) -> Options:
    colour = _TARGET if level.is_target else _EXPECTED
    # keeps the two labels apart where their lines are close
    position = "insideStartBottom" if level.is_target else "insideEndTop"
    return {
        "yAxis": level.value, "name": level.name,
        "label": {"show": True, "formatter": level.name, "position": position, "color": colour},
        "lineStyle": {"color": colour, "type": "solid", "opacity": 1, "width": 1.5},
    }  # fmt: skip


def _build_bands(levels: Sequence[Level]) -> Options:
    """Return the shaded interval of the expected value."""
    bands = [[{"yAxis": each.band[0]}, {"yAxis": each.band[1]}] for each in levels if each.band is not None]
    return {"silent": True, "data": bands, "itemStyle": {"color": _EXPECTED, "opacity": 0.1}}

"""A transfer over time: throughput and round trip of each tick, streams in force, and where something was decided."""

from collections.abc import Sequence
from itertools import accumulate

from services.admin.charts.style import COLOURS, LINE, Options, in_unit
from tradewind.units import MBIT
from tradewind.wire.transfers import TransferSample

THROUGHPUT, STREAMS, ROUND_TRIP = "throughput, Mbit/s", "streams", "round trip, ms"
PANELS = (THROUGHPUT, STREAMS, ROUND_TRIP)


def streams(sample: TransferSample) -> int:
    """Streams of a tick, of all its chunks together."""
    return sum((each.parameters.concurrency or 1) * (each.parameters.parallelism or 1) for each in sample.chunks)


def timeline(samples: Sequence[TransferSample]) -> Options:
    """Three panels over the seconds since the first heartbeat; a mark stands where parameters were changed."""
    if not samples:
        return {}
    at_s = list(accumulate(each.interval_s for each in samples))  # clocks of agents may jump
    ticks = [(x, each) for x, each in zip(at_s, samples, strict=True) if each.sequence > 0]
    changes = [
        {"xAxis": x, "name": each.decision.kind} for x, each in zip(at_s, samples, strict=True) if each.decision.changed
    ]
    lines = {
        THROUGHPUT: [(x, each.throughput_bps / MBIT) for x, each in ticks],
        STREAMS: [(x, streams(each)) for x, each in zip(at_s, samples, strict=True)],
        ROUND_TRIP: [(x, 1e3 * each.rtt_s) for x, each in ticks if each.rtt_s is not None],
    }
    return {
        "animation": False,
        "textStyle": {"fontFamily": "sans-serif"},
        "tooltip": {"trigger": "axis", "valueFormatter": in_unit("")},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "grid": [{"left": 70, "right": 24, "top": top, "height": height} for top, height in _PLACES],
        "xAxis": [_time(number, last=number == len(PANELS) - 1) for number in range(len(PANELS))],
        "yAxis": [
            {"type": "value", "gridIndex": number, "name": name, "nameLocation": "middle", "nameGap": 48, "min": 0,
             "splitNumber": 3, "splitLine": {"lineStyle": {"color": LINE}}}
            for number, name in enumerate(PANELS)
        ],
        "series": [
            {"type": "line", "name": name, "data": line, "xAxisIndex": number, "yAxisIndex": number,
             "symbolSize": 5, "step": "end" if name == STREAMS else False, "itemStyle": {"color": COLOURS[number]},
             "markLine": _marks(changes) if name == THROUGHPUT else {}}
            for number, (name, line) in enumerate(lines.items())
        ],
    }  # fmt: skip


_PLACES = ((16, 170), (220, 90), (344, 90))


def _time(number: int, *, last: bool) -> Options:
    shown: Options = {"type": "value", "gridIndex": number, "axisLabel": {"show": last}, "splitLine": {"show": False}}
    return shown | (
        {"name": "seconds since the first heartbeat", "nameLocation": "middle", "nameGap": 28} if last else {}
    )


def _marks(changes: Sequence[Options]) -> Options:
    return {
        "symbol": "none", "silent": True, "data": list(changes), "label": {"show": False},
        "lineStyle": {"color": COLOURS[1], "type": "dashed", "opacity": 0.7},
    }  # fmt: skip

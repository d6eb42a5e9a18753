"""Throughput that codecs are expected to reach on paths of several rates."""

from services.admin.charts.style import COLOURS, Options, build_axis, build_chart, build_log_axis, in_unit
from services.application.advice.codec_outlook import RATES_BPS, CodecOutlook
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.units import MBIT

GZIP_6 = CodecSetting(Codec.GZIP, 6)
"""What users choose by default."""

MOST_LINES = 5


def build_rate_chart(found: CodecOutlook) -> Options:
    """Return a chart of expected throughput by path rate: of the advised codecs, of gzip -6, and raw."""
    advised = dict.fromkeys(setting for setting in found.best if setting is not None)
    shown = list(dict.fromkeys([*list(advised)[: MOST_LINES - 1], *([GZIP_6] if GZIP_6 in found.expected else [])]))
    lines = {"raw": found.raw_bps} | {str(setting): found.throughput_bps[setting] for setting in shown}
    return build_chart(
        legend=list(lines),
        tooltip={"trigger": "axis", "valueFormatter": in_unit("Mbit/s")},
        xAxis=build_axis("rate of the path, Mbit/s", values=[f"{rate / MBIT:g}" for rate in RATES_BPS]),
        yAxis=build_log_axis(
            "expected, Mbit/s", [value / MBIT for values in lines.values() for value in values], nameGap=48
        ),
        grid={"left": 70, "right": 24, "top": 44, "bottom": 56},
        series=[
            {
                "type": "line",
                "name": name,
                "data": [value / MBIT for value in values],
                "lineStyle": {"type": "dashed" if name == "raw" else "solid"},
                "itemStyle": {"color": COLOURS[-1] if name == "raw" else COLOURS[number % (len(COLOURS) - 1)]},
            }
            for number, (name, values) in enumerate(lines.items(), start=-1)
        ],
    )

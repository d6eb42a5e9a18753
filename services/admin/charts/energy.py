"""Where the energy of transfers goes."""

from collections.abc import Sequence
from typing import NamedTuple

from services.admin.charts.style import Options, build_axis, build_chart, in_unit
from tradewind.mobile.energy_split import EnergySplit

PARTS = ("base", "dynamic", "tail")


class Bar(NamedTuple):
    name: str
    split: EnergySplit


def build_energy_chart(bars: Sequence[Bar]) -> Options:
    """Draw a bar for each transfer with its base, dynamic and tail energy stacked."""
    return build_chart(
        legend=PARTS,
        tooltip={"trigger": "axis", "valueFormatter": in_unit("J")},
        xAxis=build_axis("", values=[bar.name for bar in bars], axisLabel={"interval": 0, "rotate": 30}),
        yAxis=build_axis("energy, J", min=0),
        grid={"left": 70, "right": 24, "top": 40, "bottom": 90},
        series=[
            {
                "type": "bar",
                "name": part,
                "stack": "energy",
                "data": [getattr(bar.split, f"{part}_j") for bar in bars],
                "barMaxWidth": 48,
            }
            for part in PARTS
        ],
    )

"""Where the energy of transfers goes."""

from collections.abc import Sequence
from typing import NamedTuple

from services.admin.charts.style import Options, axis, framed, in_unit
from tradewind.mobile.energy_split import EnergySplit

PARTS = ("base", "dynamic", "tail")


class Bar(NamedTuple):
    name: str
    split: EnergySplit


def stacked(bars: Sequence[Bar]) -> Options:
    """Draw a bar for each transfer with its base, dynamic and tail energy stacked."""
    return framed(
        legend=PARTS,
        tooltip={"trigger": "axis", "valueFormatter": in_unit("J")},
        xAxis=axis("", values=[bar.name for bar in bars], axisLabel={"interval": 0, "rotate": 30}),
        yAxis=axis("energy, J", min=0),
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

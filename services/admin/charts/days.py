"""What was moved day by day."""

from collections.abc import Sequence

from services.admin.charts.style import COLOURS, Options, build_axis, build_chart, in_unit
from services.application.monitoring.overview import Day, MeteredEnds
from tradewind.units import GB


def build_day_chart(days: Sequence[Day], ends: MeteredEnds | None) -> Options:
    """Draw the gigabytes of each day as bars, and the energy of a gigabyte, where it was metered, as a line.

    ``ends`` : at which the transfers were metered. Where they differ there is no line: it would go up and down with the
    share of transfers that were metered at both ends.
    """
    energy = [None if ends is None or day.j_per_byte is None else day.j_per_byte * GB for day in days]
    name = "energy, J/GB" if ends is None else f"energy of {ends.in_words}, J/GB"
    return build_chart(
        legend=("moved, GB", name),
        tooltip={"trigger": "axis", "valueFormatter": in_unit("")},
        xAxis=build_axis("", values=[day.day for day in days]),
        yAxis=[
            build_axis("moved, GB", min=0),
            build_axis("energy, J/GB", min=0, splitLine={"show": False}),
        ],
        grid={"left": 70, "right": 70, "top": 40, "bottom": 32},
        series=[
            {"type": "bar", "name": "moved, GB", "data": [day.bytes_moved / GB for day in days], "barMaxWidth": 36},
            {"type": "line", "name": name, "data": energy, "yAxisIndex": 1, "connectNulls": True,
             "itemStyle": {"color": COLOURS[1]}},
        ],
    )  # fmt: skip

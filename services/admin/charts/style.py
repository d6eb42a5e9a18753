"""What all charts share: colours, axes, and how values are written."""

from collections.abc import Sequence
from typing import Any

COLOURS = ("#0b4f6c", "#c2571a", "#2e7d4f", "#7a4fa3", "#a01c1c", "#5b6b75")
"""Distinguishable by most eyes, and dark enough on white."""

HEAT = ("#e8f1f6", "#9cc6da", "#4a95b6", "#0b6a8f", "#073b52")
LINE = "#d5dee4"
INK = "#16232c"

Options = dict[str, Any]


def in_unit(unit: str) -> Options:
    """Return a placeholder for a function that writes a number with three digits and its unit."""
    return {"$unit": unit}


def build_axis(name: str, *, values: Sequence[Any] | None = None, **more: Any) -> Options:
    """Return a value axis with its unit in the name, or an axis of categories."""
    kind = {"type": "value"} if values is None else {"type": "category", "data": list(values)}
    middle = {"nameLocation": "middle", "nameGap": 32, "nameTextStyle": {"color": INK}}
    return {"name": name, **kind, **middle, "splitLine": {"lineStyle": {"color": LINE}}, **more}


def build_chart(*, legend: Sequence[str] = (), **options: Any) -> Options:
    """Return a chart in the colours of the pages, as large as its element; ``legend`` : names that it lists, none if
    empty.
    """
    shared: Options = {
        "color": list(COLOURS),
        "textStyle": {"fontFamily": "sans-serif"},
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 64, "right": 24, "top": 44 if legend else 16, "bottom": 56},
        "legend": {"show": bool(legend), "top": 4, "type": "scroll", "data": list(legend)},
    }
    return shared | options

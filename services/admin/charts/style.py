"""What all charts share: colours, axes, and how values are written."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

COLOURS = ("#0b4f6c", "#c2571a", "#2e7d4f", "#7a4fa3", "#a01c1c", "#5b6b75")
"""Distinguishable by most eyes, and dark enough on white."""

HEAT = ("#e8f1f6", "#9cc6da", "#4a95b6", "#0b6a8f", "#073b52")
LINE = "#d5dee4"
INK = "#16232c"

NARROW_PX = 480
"""Charts up to this width are those of small screens."""

WIDTHS_PX = ((680, 450), (NARROW_PX, 270))
"""Widths up to which a legend may take several lines, and the room that the narrowest chart of each has for it."""

LEGEND_ROW_PX, LEGEND_MARK_PX, LETTER_PX = 20, 42, 7

DECADES_WITH_STEPS = 2.5
"""A logarithmic axis over fewer decades has marks between them too."""

ROUNDING = 1 + 1e-9

Options = dict[str, Any]


def in_unit(unit: str) -> Options:
    """Return a placeholder for a function that writes a number with three digits and its unit."""
    return {"$unit": unit}


def build_axis(name: str, *, values: Sequence[Any] | None = None, **more: Any) -> Options:
    """Return a value axis with its unit in the name, or an axis of categories."""
    kind = {"type": "value"} if values is None else {"type": "category", "data": list(values)}
    middle = {"nameLocation": "middle", "nameGap": 32, "nameTextStyle": {"color": INK}}
    return {"name": name, **kind, **middle, "splitLine": {"lineStyle": {"color": LINE}}, **more}


def build_log_axis(name: str, values: Iterable[float], **more: Any) -> Options:
    """Return a logarithmic axis that reaches as far as its values, with marks at 1, 2 and 5 of each decade."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    if not known:
        return build_axis(name, type="log", **more)
    marks = _list_marks(min(known), max(known))
    shown = {"customValues": marks}
    fitted: Options = {
        "min": marks[0],
        "max": marks[-1],
        "axisTick": shown,
        "axisLabel": shown,
        "minorTick": {"show": False},
    }
    return build_axis(name, type="log", **fitted, **more)


def _list_marks(low: float, high: float) -> list[float]:
    """Return round numbers from at most ``low`` to at least ``high``; fewer of them over many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high / low) < DECADES_WITH_STEPS else (1,)
    marks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    below = max((n for n, mark in enumerate(marks) if mark <= low * ROUNDING), default=0)
    above = min((n for n, mark in enumerate(marks) if mark * ROUNDING >= high), default=len(marks) - 1)
    return marks[below : max(above, below + 1) + 1]


def build_chart(*, legend: Sequence[str] = (), **options: Any) -> Options:
    """Return a chart in the colours of the pages, as large as its element.

    Parameters
    ----------
    legend : names that it lists, none if empty. Where they have no room in a line they take several.
    """
    shared: Options = {
        "color": list(COLOURS),
        "textStyle": {"fontFamily": "sans-serif"},
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 64, "right": 24, "top": 44 if legend else 16, "bottom": 56},
        "legend": {"show": bool(legend), "top": 4, "type": "scroll", "data": list(legend)},
    }
    chart = shared | options
    if legend and isinstance(chart["grid"], dict):
        chart["media"] = [
            {"query": {"maxWidth": width_px}, "option": _wrap_legend(legend, rows)}
            for width_px, room_px in WIDTHS_PX
            if (rows := _count_legend_rows(legend, room_px)) > 1
        ]
    return chart


def _wrap_legend(names: Sequence[str], rows: int) -> Options:
    return {
        "legend": {"show": True, "type": "plain", "top": 4, "bottom": "auto", "itemGap": 8, "data": list(names)},
        "grid": {"top": LEGEND_ROW_PX * rows + 24},
    }


def _count_legend_rows(names: Sequence[str], room_px: float) -> int:
    """Return the lines that a legend takes in a width."""
    rows, left_px = 1, room_px
    for name in names:
        width_px = LEGEND_MARK_PX + LETTER_PX * len(name)
        if width_px > left_px and left_px < room_px:
            rows, left_px = rows + 1, room_px
        left_px -= width_px
    return rows

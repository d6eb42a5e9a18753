"""What price books earn, side by side."""

from collections.abc import Mapping
from uuid import UUID

from services.admin.charts.style import COLOURS, Options, axis, framed, in_unit
from services.application.what_if import WhatIf

MOST_TIERS = 12


def revenues(what_if: WhatIf, names: Mapping[UUID, str], *, currency: str, in_force: str | None) -> Options:
    """Revenue of the tiers that earn most: the draft beside the book in force, where that is in the same currency."""
    shown = [each for each in what_if.tiers if each.draft.revenue or each.in_force.revenue][:MOST_TIERS][::-1]
    books = [("in this draft", [float(each.draft.revenue) for each in shown], COLOURS[1])]
    if in_force is not None:
        books.insert(0, (in_force, [float(each.in_force.revenue) for each in shown], COLOURS[0]))
    return framed(
        legend=tuple(name for name, _, _ in books),
        tooltip={"trigger": "axis", "valueFormatter": in_unit(currency)},
        xAxis=axis(f"revenue, {currency}", min=0),
        yAxis=axis("", values=[names.get(each.tier_id, str(each.tier_id)[:8]) for each in shown])
        | {"axisLabel": {"width": 190, "overflow": "truncate"}},
        grid={"left": 210, "right": 24, "top": 36, "bottom": 48},
        series=[
            {"type": "bar", "name": name, "data": values, "barMaxWidth": 18, "itemStyle": {"color": colour}}
            for name, values, colour in books
        ],
    )

"""What price books earn, next to each other."""

from collections.abc import Sequence

from services.admin.charts.style import COLOURS, Options, build_axis, build_chart, in_unit
from services.application.billing.what_if import WhatIf

MOST_TIERS = 8
NARROW_PX = 560


def build_revenue_chart(
    what_if: WhatIf, names: Sequence[tuple[str, str]], *, currency: str, current_name: str | None
) -> Options:
    """Draw the revenue of the tiers that earn most: the draft, and the current book where it has the same currency.

    Parameters
    ----------
    names : name, link and cluster of each tier.
    """
    earning = [
        (each, name)
        for each, name in zip(what_if.tiers, names, strict=True)
        if each.draft.revenue or each.current.revenue
    ]
    shown = earning[:MOST_TIERS][::-1]
    books = [("in this draft", [float(each.draft.revenue) for each, _ in shown], COLOURS[1])]
    if current_name is not None:
        books.insert(0, (current_name, [float(each.current.revenue) for each, _ in shown], COLOURS[0]))
    labels = ["\n".join(part for part in name if part) for _, name in shown]
    wide = build_chart(
        legend=tuple(name for name, _, _ in books),
        tooltip={"trigger": "axis", "valueFormatter": in_unit(currency)},
        xAxis=build_axis(f"revenue, {currency}", min=0),
        yAxis=build_axis("", values=labels) | {"axisLabel": {"width": 330, "overflow": "truncate", "lineHeight": 15}},
        grid={"left": 350, "right": 24, "top": 36, "bottom": 48},
        series=[
            {"type": "bar", "name": name, "data": values, "barMaxWidth": 14, "itemStyle": {"color": colour}}
            for name, values, colour in books
        ],
    )
    narrow = {"grid": {"left": 136}, "yAxis": {"axisLabel": {"width": 126}}}
    return wide | {"media": [*wide.get("media", ()), {"query": {"maxWidth": NARROW_PX}, "option": narrow}]}

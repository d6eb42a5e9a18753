"""Charts of a web page's connections, after the figures of the web transport paper: distributions, and a page over
time.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from services.admin.charts.style import COLOURS, Options, build_axis, build_chart, in_unit
from services.application.advice.connections import STEPS, Distributions
from tradewind.connections.rounds import FLD_TCP, RENO, Sender, Window
from tradewind.wire.connections import AnalysedPage, PageConnection

KB = 1e3
LEAST_KB = 0.1
"""Least value on a logarithmic axis, for connections that carried less."""

_COLOUR = {"encrypted": COLOURS[0], "plain": COLOURS[1], "HTTP/2": COLOURS[2], "mixed": COLOURS[3]}
_DASH = {"plain": "dashed", "HTTP/2": "dotted", "mixed": "dotted"}


def build_volume_chart(found: Distributions) -> Options:
    """Return the share of connections that carried no more than each volume (Fig. 3)."""
    in_kb = {name: [max(value / KB, LEAST_KB) for value in values] for name, values in found.volumes_bytes.items()}
    return _build_distribution(in_kb, "volume of a connection, kB", "connections, %", type="log")


def build_duration_chart(found: Distributions) -> Options:
    """Return the share of connections that lasted no longer than each time (Figs 9 and 10)."""
    return _build_distribution(found.durations_s, "duration of a connection, s", "connections, %")


def build_idle_share_chart(found: Distributions) -> Options:
    """Return the share of pages that were idle for no more than each share of their load (Fig. 7)."""
    in_percent = {name: [100 * value for value in values] for name, values in found.idle_shares.items()}
    return _build_distribution(in_percent, "idle, % of the load", "pages, %", min=0, max=100)


def build_concurrency_chart(found: Distributions) -> Options:
    """Return the share of pages with no more than so many connections receiving at once (Fig. 8)."""
    return _build_distribution(found.concurrencies, "effective concurrency", "pages, %", min=1)


def build_first_object_chart(found: Distributions) -> Options:
    """Return the largest first object of a connection by the round trip in which it was complete (Fig. 11).

    Two lines show what a window of ten segments lets through by then: doubled and tripled each round trip.
    """
    rtts = range(1, max(found.first_objects_bytes) + 1)
    seen = [found.first_objects_bytes.get(number) for number in rtts]
    names = "largest first object", "doubling", "tripling (FLD_TCP)"
    doubled, tripled = (_compute_sent_kb(Sender(growth=growth), len(rtts)) for growth in (RENO, FLD_TCP))
    return build_chart(
        legend=names,
        tooltip={"trigger": "axis", "valueFormatter": in_unit("kB")},
        xAxis=build_axis("round trip of the connection", values=list(rtts)),
        yAxis=build_axis("kB", type="log", nameGap=48, min=1),
        series=[
            {"type": "bar", "name": names[0], "data": [None if size is None else max(size / KB, 1) for size in seen],
             "barMaxWidth": 28},
            {"type": "line", "name": names[1], "data": doubled, "itemStyle": {"color": COLOURS[5]},
             "lineStyle": {"type": "dashed"}},
            {"type": "line", "name": names[2], "data": tripled, "itemStyle": {"color": COLOURS[1]},
             "lineStyle": {"type": "dotted"}},
        ],
    )  # fmt: skip


def build_connection_chart(load: AnalysedPage, *, most: int) -> Options:
    """Draw each connection of a page from its first request to its last byte, and the load event where the log has
    it.
    """
    numbered = [
        (f"{number}", max(each.opened_s, 0.0), each.opened_s + each.duration_s, _name_speech(each))
        for number, each in enumerate(load.connections, 1)
        if each.duration_s is not None and each.opened_s + each.duration_s > 0
    ]  # a request sent before the page began is drawn from the beginning
    shown = numbered[:most]
    last_s = max([load.load_s, *(ended_s for _, _, ended_s, _ in shown)])
    spoken = [name for name in _COLOUR if name in {speech for *_, speech in shown}]
    until = {"xAxis": load.load_s, "name": "load event"}
    return build_chart(
        legend=spoken,
        tooltip={"trigger": "item", "valueFormatter": in_unit("s")},
        xAxis=build_axis("seconds since the begin of the load", min=0, max=_round_up(last_s)),
        yAxis=build_axis("connection", values=[name for name, *_ in shown], inverse=True, nameGap=36),
        series=[
            {"type": "bar", "name": "first request", "stack": "time", "silent": True,
             "data": [opened_s for _, opened_s, _, _ in shown], "itemStyle": {"color": "transparent"},
             "markLine": {"symbol": "none", "silent": True, "data": [until] if load.load_told else [],
                          "label": {"formatter": "load event", "position": "insideEndTop"},
                          "lineStyle": {"color": COLOURS[4], "type": "dashed"}}},
            *({"type": "bar", "name": name, "stack": "time", "barMaxWidth": 18, "itemStyle": {"color": _COLOUR[name]},
               "data": [ended_s - opened_s if speech == name else None for _, opened_s, ended_s, speech in shown]}
              for name in spoken),
        ],
    )  # fmt: skip


def _round_up(value: float) -> float:
    """Return a value a little larger, rounded up to two digits, for the end of an axis."""
    if value < 1e-9:
        return 1.0
    digit = 10.0 ** (math.floor(math.log10(1.03 * value)) - 1)
    return round(digit * math.ceil(1.03 * value / digit), 12)


def _name_speech(connection: PageConnection) -> str:
    if connection.http_version == "HTTP/2":
        return connection.http_version
    return "encrypted" if connection.encrypted else "plain"


def _compute_sent_kb(sender: Sender, rounds: int) -> list[float]:
    """Return how much is sent by the end of each round, kB."""
    window, flights = Window.of(sender), list[float]()
    for _ in range(rounds):
        flights.append(window.window_bytes)
        window = window.acknowledge_flight(window.window_bytes, sender)
    return [sent / KB for sent in accumulate(flights)]


def _build_distribution(classes: Mapping[str, Sequence[float]], across: str, up: str, **x: Any) -> Options:
    """Return a chart of cumulative shares; ``x`` : more options of the horizontal axis."""
    return build_chart(
        legend=list(classes),
        tooltip={"trigger": "axis", "valueFormatter": in_unit("%")},
        xAxis=build_axis(across, **x),
        yAxis=build_axis(up, min=0, max=100, nameGap=40),
        series=[
            {"type": "line", "name": name, "step": "end", "symbol": "none",
             "data": [(value, 100 * step) for value, step in zip(values, STEPS, strict=True)],
             "itemStyle": {"color": _COLOUR.get(name, COLOURS[5])},
             "lineStyle": {"width": 2.5, "type": _DASH.get(name, "solid"), "color": _COLOUR.get(name, COLOURS[5])}}
            for name, values in classes.items()
        ],
    )  # fmt: skip

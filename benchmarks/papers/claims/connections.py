"""Claims of the web transport paper (004): windows, pages and connections."""

import random

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_printed,
    compare_property,
    compare_recovered,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.printed import find_printed_range
from tradewind.connections.advice import MAX_CONNECTIONS
from tradewind.connections.analysis import compute_effective_concurrency, compute_idle_s
from tradewind.connections.caching import classify_cache
from tradewind.connections.page_load import Interval
from tradewind.connections.rounds import (
    FLD_TCP,
    INITIAL_WINDOW_SEGMENTS,
    RENO,
    Sender,
    Window,
    WindowGrowth,
    count_rounds,
    send,
)
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE, MBIT
from tradewind_agent.transport.parameters import Parameters

SEED = 13
PAGES = "its pages, of the Alexa top 100 of its year, in Chrome over LTE and 3G"
FLOW_BYTES = 500_000
ROUNDING = 1e-9


def _list_sent(rounds: int, sender: Sender) -> list[float]:
    """Return the bytes sent after each of so many rounds without loss."""
    window, sent = Window.of(sender), []
    for _ in range(rounds):
        window = window.acknowledge_flight(window.window_bytes, sender)
        sent.append(window.sent_bytes)
    return sent


def check_windows(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    comparisons: list[Comparison] = []
    for name, growth, rounds in (("reno", RENO, values["rtts_500kB"][0]), ("fld", FLD_TCP, values["rtts_500kB"][1])):
        sender = Sender(initial_window_segments=values["iw"], segment_bytes=values["seg"], growth=growth)
        comparisons.append(compare_computed(f"{name}: round trips of 500 kB", rounds, count_rounds(FLOW_BYTES, sender)))
        printed_sums = values[f"{name}_cum"]
        ours = _list_sent(len(printed_sums), sender)
        comparisons.append(
            compare_cases(
                f"{name}: points of the curve",
                len(printed_sums),
                sum(a == b for a, b in zip(printed_sums, ours, strict=True)),
            )
        )
        comparisons.append(compare_computed(f"{name}: bytes after the last round", printed_sums[-1], ours[-1]))
    return make_finding(*comparisons)


def _build_path(setup: Claim, name: str) -> Path:
    each = setup.values[name]
    return Path(bandwidth_bps=each["eff"] * MBIT, rtt_s=2 * each["owd_ms"] / 1e3)


def check_filled_path(claim: Claim, claims: Claims) -> Finding:
    """Figure 1 counts without a bottleneck, as its text says; its own LTE path is one, which a few windows fill."""
    path = _build_path(claims["004-setup"], "LTE")
    rounds = claims["004-fig1"].values["rtts_500kB"][1]
    sender = Sender(growth=FLD_TCP)
    assert path.bdp_bytes is not None
    assert path.rtt_s is not None
    assert path.bandwidth_bps is not None
    at_line_rate = BITS_PER_BYTE * FLOW_BYTES / path.bandwidth_bps / path.rtt_s
    ours = send(FLOW_BYTES, sender, path).duration_s / path.rtt_s
    return make_finding(
        compare_recovered("LTE: bandwidth times round trip, bytes", claim.values["BDP_B"], path.bdp_bytes),
        compare_recovered(
            "LTE: round trips of 500 kB at its rate", claim.values["500kB_line_rate_RTTs"], at_line_rate, relative=0.001
        ),
        compare_property(
            "LTE: its rate alone takes 500 kB longer than figure 1", at_line_rate > rounds, source=Source.ARITHMETIC
        ),
        compare_property("LTE: FLD_TCP by our model takes no less than that", ours >= at_line_rate),
    )


def check_fld_tcp(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    sender = Sender(initial_window_segments=values["iw"], segment_bytes=1, growth=WindowGrowth(values["ss_factor"]))
    window, loaded = Window.of(sender), Parameters()
    for _ in range(4):
        window = window.acknowledge_flight(window.window_bytes, sender)
    return make_finding(
        compare_property(
            "our model and the kernel's settings are the same",
            (INITIAL_WINDOW_SEGMENTS, FLD_TCP.factor, FLD_TCP.below_bytes)
            == (loaded.initial_window_segments, loaded.growth_factor, loaded.threshold_bytes),
        ),
        compare_computed("initial window that the kernel gets, segments", values["iw"], loaded.initial_window_segments),
        compare_computed("growth that it gets", values["ss_factor"], loaded.growth_factor),
        compare_computed("threshold that it gets, bytes", values["threshold_B"], loaded.threshold_bytes),
        compare_computed(
            "window after four rounds, segments", values["iw"] * values["ss_factor"] ** 4, window.window_bytes
        ),
        compare_property(
            "beyond the threshold as Reno",
            FLD_TCP.find_factor(values["threshold_B"]) == RENO.factor,
            claimed=values["after"] == "reno",
        ),
    )


def check_setup(claim: Claim, _claims: Claims) -> Finding:
    lte = claim.values["LTE"]
    return make_finding_elsewhere(
        PAGES,
        [compare_printed("LTE: twice the one-way delay, ms", lte["rtt_min_ms"], 2 * find_printed_range(lte["owd_ms"]))],
    )


def check_of_its_pages(_claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere(PAGES)


def check_caches(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    classes = {"hit": "HIT from squid", "miss": "MISS from squid", "foreign": "HIT from elsewhere", "none": ""}
    ours = {name: classify_cache(header, "squid") for name, header in classes.items()}
    return make_finding_elsewhere(
        f"{PAGES}; what its proxy had already is of its users",
        [
            compare_printed(
                "objects from its proxy, %",
                values["squid"],
                find_printed_range(values["hit"]) + find_printed_range(values["miss"]),
            ),
            compare_printed(
                "objects from elsewhere, %",
                values["else"],
                find_printed_range(values["foreign"]) + find_printed_range(values["none"]),
            ),
            compare_computed(
                "classes of objects that our analysis distinguishes", len(classes), len(set(ours.values()))
            ),
        ],
    )


def check_page_classes(claim: Claim, _claims: Claims) -> Finding:
    """Check the sum of the shares; the paper does not say of how many loads they are."""
    total_pct = sum(claim.values.values())
    return make_finding_elsewhere(
        f"{PAGES}; which of them were encrypted is of their year",
        [compare_computed("sum of the classes, %", 100.0, total_pct, relative=ROUNDING, source=Source.ARITHMETIC)],
    )


def _make_page() -> tuple[float, list[list[Interval]]]:
    """Make intervals on whole milliseconds, by connection, so that counting milliseconds is exact."""
    draw = random.Random(SEED)
    connections = []
    for _ in range(6):
        begins = sorted(draw.sample(range(3000), 8))
        connections.append([(begin / 1e3, (begin + draw.randint(5, 120)) / 1e3) for begin in begins])
    return 3.2, connections


def _list_milliseconds(intervals: list[Interval]) -> set[int]:
    return {ms for begin, end in intervals for ms in range(round(begin * 1e3), round(end * 1e3))}


def check_net_transfer_time(_claim: Claim, _claims: Claims) -> Finding:
    """Compare our net transfer time with a count of the milliseconds of a made page in which an object is received."""
    load_s, connections = _make_page()
    received = [each for connection in connections for each in connection]
    counted_s = len([ms for ms in _list_milliseconds(received) if ms < load_s * 1e3]) / 1e3
    return make_finding(
        compare_recovered(
            "s of a page that something is received",
            counted_s,
            load_s - compute_idle_s(load_s, received),
            relative=ROUNDING,
        )
    )


def check_concurrency(_claim: Claim, _claims: Claims) -> Finding:
    _, connections = _make_page()
    each = [_list_milliseconds(connection) for connection in connections]
    counted = sum(map(len, each)) / len(set().union(*each))
    busy = [[(0.0, 1.0)], [(0.0, 0.5)]]
    return make_finding_elsewhere(
        PAGES,
        [
            compare_recovered(
                "connections that receive at once on a page",
                counted,
                compute_effective_concurrency(connections) or 0.0,
                relative=ROUNDING,
            ),
            compare_computed("of one and a half that are always busy", 1.5, compute_effective_concurrency(busy) or 0.0),
        ],
    )


def _compute_gain_s(path: Path, size_bytes: float) -> float:
    return (
        send(size_bytes, Sender(growth=RENO), path).duration_s
        - send(size_bytes, Sender(growth=FLD_TCP), path).duration_s
    )


def check_faster_pages(_claim: Claim, claims: Claims) -> Finding:
    """Check the direction of the difference, by the round model, for flows of sizes between 30 kB and the threshold."""
    sizes = [30_000 * 2**n for n in range(7)]
    gains = {
        name: sum(_compute_gain_s(_build_path(claims["004-setup"], name), size) for size in sizes)
        for name in ("LTE", "3G")
    }
    return make_finding_elsewhere(
        PAGES,
        [
            compare_property("FLD_TCP is faster over LTE, by the round model", gains["LTE"] > 0),
            compare_property("and over 3G", gains["3G"] > 0),
            compare_property("and saves more over 3G", gains["3G"] > gains["LTE"]),
        ],
    )


def check_shorter_connections(_claim: Claim, claims: Claims) -> Finding:
    """Check that no flow is slower by the round model, whatever its size."""
    gains = [
        _compute_gain_s(_build_path(claims["004-setup"], name), 1448.0 * n)
        for name in ("LTE", "3G")
        for n in range(1, 1400, 7)
    ]
    return make_finding_elsewhere(
        PAGES, [compare_property("no flow takes longer with FLD_TCP, by the round model", min(gains) >= -ROUNDING)]
    )


DOUBLED = 2
"""What the paper's words have a window of CUBIC do in slow start."""


def check_first_objects(claim: Claim, claims: Claims) -> Finding:
    path = _build_path(claims["004-setup"], "LTE")
    assert path.rtt_s is not None
    first = [_list_sent(2, Sender(growth=growth)) for growth in (RENO, FLD_TCP)]
    return make_finding_elsewhere(
        PAGES,
        [
            compare_printed("round trip of a bin, ms", claim.values["rtt_ms"], path.rtt_s * 1e3),
            compare_computed(
                "largest object of the first bin, bytes", claim.values["rtt1_B"], first[0][0], relative=0.05
            ),
            compare_computed(
                "window of the second round over the first, CUBIC",
                DOUBLED,
                (first[0][1] - first[0][0]) / first[0][0],
            ),
            compare_computed(
                "the same with FLD_TCP",
                claims["004-fld"].values["ss_factor"],
                (first[1][1] - first[1][0]) / first[1][0],
            ),
        ],
    )


def check_introduction(claim: Claim, _claims: Claims) -> Finding:
    least, most = claim.values["conns"]
    return make_finding_elsewhere(
        "figures of others, quoted",
        [compare_property("connections of a browser to one server, as we assume", least <= MAX_CONNECTIONS <= most)],
    )


CHECKS = {
    "004-fig1": check_windows,
    "004-fig1-bdp": check_filled_path,
    "004-fld": check_fld_tcp,
    "004-setup": check_setup,
    "004-fig4": check_caches,
    "004-fig5": check_page_classes,
    "004-nettime": check_net_transfer_time,
    "004-fig6": check_faster_pages,
    "004-fig7": check_of_its_pages,
    "004-fig8": check_concurrency,
    "004-fig9-10": check_shorter_connections,
    "004-fig11": check_first_objects,
    "004-intro": check_introduction,
}

"""Results of the web transport paper (004): pages in a real Chromium through a caching proxy, and flows on the wire.

Whether something holds for pages is judged over pages: the interval resamples these, not their loads. A page counts
once, by its median over several networks and protocols.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import median

from scipy.stats import bootstrap

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, Source, compare_gain, compare_measured, compare_property
from benchmarks.papers.form import Form, Rows
from benchmarks.papers.trials.page_trials import PAGES_DRAWN, DrawnPage, FirstRounds
from benchmarks.transport.cases import CUBIC, FLD
from benchmarks.transport.proxy import PageProtocol
from benchmarks.wan.runs import Row

Ground = tuple[str, PageProtocol]

NETWORKS = ("LTE", "3G")
GROUNDS: Sequence[Ground] = tuple(product(NETWORKS, PageProtocol))
NUMBERS = range(1, PAGES_DRAWN + 1)
DRAWN = f"ours are {PAGES_DRAWN} drawn at random with the sizes of its figure 3"
IDLE_POINTS = 0.15
RESAMPLES, LEVEL, SEED = 2000, 0.9, 1
WINDOW = 0.1
"""Tolerance, as a share of a round's bytes."""


def _list_pages(*grounds: Ground) -> list[DrawnPage]:
    return [DrawnPage(*ground, number) for ground in grounds for number in NUMBERS]


def _find_reduction(row: Row, figure: str) -> float:
    """Return how much less a figure of a page is with FLD_TCP: the difference of the medians of its loads."""
    cubic, fld = (median(row[f"{control}_{figure}_each"]) for control in (CUBIC, FLD))
    return float(cubic - fld)


def _find_reductions(rows: Rows, figure: str, grounds: Sequence[Ground]) -> list[float]:
    """Return the same page by page: the median over these grounds."""
    return [
        median(_find_reduction(rows[DrawnPage(*ground, number)], figure) for ground in grounds) for number in NUMBERS
    ]


def _compare_difference(what: str, of_pages: Sequence[float], *, scale: float = 1e3, unit: str = " ms") -> Comparison:
    """Compare a difference with 0, by its bootstrap interval over pages, nine in ten; the text gives it in ``unit``."""
    found = bootstrap(
        (of_pages,),
        median,
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        rng=SEED,
    ).confidence_interval
    middle, low, high = (f"{scale * value:.3g}" for value in (median(of_pages), found.low, found.high))
    text = f"{middle}{unit}, {low} to {high}; {len(of_pages)} pages"
    return compare_gain(f"{what} ({text})", float(found.low), float(found.high))


def _judge_net_transfer(_claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for network, protocol in GROUNDS:
        what = f"{network}, {protocol}: net transfer time of our pages is less by FLD_TCP"
        yield _compare_difference(what, _find_reductions(rows, "net_s", [(network, protocol)]))
    of_each = (_find_reductions(rows, "net_s", [(network, each) for each in PageProtocol]) for network in NETWORKS)
    yield _compare_difference(
        "it is more on 3G than on LTE", [on_3g - on_lte for on_lte, on_3g in zip(*of_each, strict=True)]
    )


def _judge_idle(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    usual = median(rows[page][f"{CUBIC}_idle_share"] for page in _ALL)
    claimed = claim.values["median_idle_frac"]
    yield compare_measured("share of the load that is idle, CUBIC, median", claimed, usual, absolute=IDLE_POINTS)
    more = [-less for less in _find_reductions(rows, "idle_share", GROUNDS)]
    yield _compare_difference("it is larger by FLD_TCP", more, scale=100, unit=" points")


def _judge_concurrency(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    several = [ground for ground in GROUNDS if PageProtocol.HTTP_2 not in ground]  # HTTP/2 has one connection
    usual = median(rows[page][f"{CUBIC}_concurrency"] for page in _list_pages(*several))
    bound = claim.values["most_pages_below"]
    what = f"most of our pages have fewer than {bound} by CUBIC (median {usual:.2f})"
    yield compare_property(what, usual < bound, source=Source.TESTBED)
    yield _compare_difference("it is less by FLD_TCP", _find_reductions(rows, "concurrency", several), scale=1, unit="")


def _judge_connections(_claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for network, protocol in GROUNDS:
        what = f"{network}, {protocol}: connections last less by FLD_TCP"
        yield _compare_difference(what, _find_reductions(rows, "connection_s", [(network, protocol)]))


def _judge_first_objects(claim: Claim, claims: Claims, rows: Rows) -> Iterator[Comparison]:
    row = rows[FirstRounds()]
    first, second = ({each: median(flow[n] for flow in row[each]) for each in (CUBIC, FLD)} for n in (0, 1))
    for control in (CUBIC, FLD):
        name = f"{control}: bytes on the wire in the first round trip"
        yield compare_measured(name, claim.values["rtt1_B"], first[control], relative=WINDOW)
    growth = {CUBIC: 2, FLD: claims["004-fld"].values["ss_factor"]}
    for control, factor in growth.items():
        name = f"{control}: bytes of the second over those of the first"
        yield compare_measured(name, factor, second[control] / first[control], relative=WINDOW)


_ALL = _list_pages(*GROUNDS)
FORMS: Mapping[str, Form] = {
    "004-fig6": Form(_ALL, _judge_net_transfer, substitute=DRAWN),
    "004-fig7": Form(_ALL, _judge_idle, substitute=DRAWN),
    "004-fig8": Form(_ALL, _judge_concurrency, substitute=DRAWN),
    "004-fig9-10": Form(_ALL, _judge_connections, substitute=DRAWN),
    "004-fig11": Form([FirstRounds()], _judge_first_objects),
}

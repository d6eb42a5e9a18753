"""Results of the web transport paper (004): pages in a real Chromium through a caching proxy, and flows on the wire.

Whether something holds for pages is judged over pages: these are drawn again for the interval, not their loads. What a
page has over several networks and protocols counts once, as its middle.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import median

from scipy.stats import bootstrap

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import By, Comparison, gained, measured, property_of
from benchmarks.papers.form import Form, Rows
from benchmarks.papers.trials.page_trials import PAGES_DRAWN, FirstRounds, Page
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
"""Of a round's bytes."""


def _pages(*grounds: Ground) -> list[Page]:
    return [Page(*ground, number) for ground in grounds for number in NUMBERS]


def _less(row: Row, figure: str) -> float:
    """How much less a figure of a page is by FLD_TCP: the difference of the medians of its loads."""
    cubic, fld = (median(row[f"{control}_{figure}_each"]) for control in (CUBIC, FLD))
    return float(cubic - fld)


def _less_each(rows: Rows, figure: str, grounds: Sequence[Ground]) -> list[float]:
    """The same page by page, of these grounds the middle one."""
    return [median(_less(rows[Page(*ground, number)], figure) for ground in grounds) for number in NUMBERS]


def _shown(what: str, of_pages: Sequence[float], *, scale: float = 1e3, unit: str = " ms") -> Comparison:
    """Whether a difference is above 0, by its bootstrap interval over pages, of nine in ten; told in a unit."""
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
    told = f"{middle}{unit}, {low} to {high}; {len(of_pages)} pages"
    return gained(f"{what} ({told})", float(found.low), float(found.high))


def _net_transfer(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for network, protocol in GROUNDS:
        what = f"{network}, {protocol}: net transfer time of our pages is less by FLD_TCP"
        yield _shown(what, _less_each(rows, "net_s", [(network, protocol)]))
    of_each = (_less_each(rows, "net_s", [(network, each) for each in PageProtocol]) for network in NETWORKS)
    yield _shown("it is more on 3G than on LTE", [on_3g - on_lte for on_lte, on_3g in zip(*of_each, strict=True)])


def _idle(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    usual = median(rows[page][f"{CUBIC}_idle_share"] for page in _ALL)
    claim = fact.values["median_idle_frac"]
    yield measured("share of the load that is idle, CUBIC, median", claim, usual, absolute=IDLE_POINTS)
    more = [-less for less in _less_each(rows, "idle_share", GROUNDS)]
    yield _shown("it is larger by FLD_TCP", more, scale=100, unit=" points")


def _concurrency(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    several = [ground for ground in GROUNDS if PageProtocol.HTTP_2 not in ground]  # which has one connection
    usual = median(rows[page][f"{CUBIC}_concurrency"] for page in _pages(*several))
    bound = fact.values["most_pages_below"]
    what = f"most of our pages have fewer than {bound} by CUBIC (median {usual:.2f})"
    yield property_of(what, usual < bound, by=By.TESTBED)
    yield _shown("it is less by FLD_TCP", _less_each(rows, "concurrency", several), scale=1, unit="")


def _connections(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for network, protocol in GROUNDS:
        what = f"{network}, {protocol}: connections last less by FLD_TCP"
        yield _shown(what, _less_each(rows, "connection_s", [(network, protocol)]))


def _first_objects(fact: Fact, facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[FirstRounds()]
    first, second = ({each: median(flow[n] for flow in row[each]) for each in (CUBIC, FLD)} for n in (0, 1))
    for control in (CUBIC, FLD):
        name = f"{control}: bytes on the wire in the first round trip"
        yield measured(name, fact.values["rtt1_B"], first[control], relative=WINDOW)
    growth = {CUBIC: 2, FLD: facts["004-fld"].values["ss_factor"]}
    for control, factor in growth.items():
        name = f"{control}: bytes of the second over those of the first"
        yield measured(name, factor, second[control] / first[control], relative=WINDOW)


_ALL = _pages(*GROUNDS)
FORMS: Mapping[str, Form] = {
    "004-fig6": Form(_ALL, _net_transfer, stands_for=DRAWN),
    "004-fig7": Form(_ALL, _idle, stands_for=DRAWN),
    "004-fig8": Form(_ALL, _concurrency, stands_for=DRAWN),
    "004-fig9-10": Form(_ALL, _connections, stands_for=DRAWN),
    "004-fig11": Form([FirstRounds()], _first_objects),
}

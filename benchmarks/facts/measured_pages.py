"""Results of the web transport paper (004): pages in a real Chromium through a caching proxy, and flows on the wire."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from scipy.stats import bootstrap

from benchmarks.facts.catalogue import Fact, Facts
from benchmarks.facts.finding import By, Comparison, measured, property_of
from benchmarks.facts.form import Form, Rows
from benchmarks.facts.page_trials import FirstRounds, Page
from benchmarks.transport.cases import CUBIC, FLD
from benchmarks.transport.proxy import Protocol
from benchmarks.wan.runs import Row

NETWORKS = ("LTE", "3G")
PAGES = {network: [Page(network, protocol) for protocol in Protocol] for network in NETWORKS}
IDLE_POINTS = 0.15
RESAMPLES, LEVEL, SEED = 2000, 0.9, 1
WINDOW = 0.1
"""Of a round's bytes."""


def _loads(rows: Iterable[Row], figure: str) -> list[Sequence[float]]:
    """A figure of each load by CUBIC, then by FLD_TCP, row by row."""
    return [row[f"{control}_{figure}_each"] for row in rows for control in (CUBIC, FLD)]


def _less(*loads: Sequence[float]) -> float:
    """How much less it is by FLD_TCP: the middle page's difference of medians."""
    cubic, fld = (map(median, loads[turn::2]) for turn in (0, 1))
    return float(median(map(operator.sub, cubic, fld)))


def _more(*loads: Sequence[float]) -> float:
    return -_less(*loads)


def _shown(
    what: str,
    loads: Sequence[Sequence[float]],
    difference: Callable[..., float],
    *,
    scale: float = 1e3,
    unit: str = " ms",
) -> Comparison:
    """Whether a difference is above 0 with all of its bootstrap interval, of nine in ten; told in a unit."""
    found = bootstrap(
        loads,
        difference,
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        rng=SEED,
    ).confidence_interval
    middle, low, high = (f"{scale * value:.3g}" for value in (difference(*loads), found.low, found.high))
    told = f"{middle}{unit}, {low} to {high}"
    return property_of(f"{what} ({told})", bool(found.low > 0), by=By.TESTBED)


def _net_transfer(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for network, pages in PAGES.items():
        for page in pages:
            what = f"{network}, {page.protocol}: net transfer time of our page is less by FLD_TCP"
            yield _shown(what, _loads([rows[page]], "net_s"), _less)
    loads = {network: _loads((rows[page] for page in pages), "net_s") for network, pages in PAGES.items()}
    of_lte = len(loads["LTE"])

    def more_s(*every: Sequence[float]) -> float:
        return _less(*every[of_lte:]) - _less(*every[:of_lte])

    yield _shown("it is more on 3G than on LTE", [*loads["LTE"], *loads["3G"]], more_s)


def _idle(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    every = [rows[page] for page in _ALL]
    shares = {control: median(row[f"{control}_idle_share"] for row in every) for control in (CUBIC, FLD)}
    claim = fact.values["median_idle_frac"]
    yield measured("share of the load that is idle, CUBIC, median", claim, shares[CUBIC], absolute=IDLE_POINTS)
    yield _shown("it is larger by FLD_TCP", _loads(every, "idle_share"), _more, scale=100, unit=" points")


def _concurrency(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    usual, bound = median(rows[page][f"{CUBIC}_concurrency"] for page in _ALL), fact.values["most_pages_below"]
    what = f"most loads of our one page have fewer than {bound} by CUBIC (median {usual:.2f})"
    yield property_of(what, usual < bound, by=By.TESTBED)
    several = [rows[page] for page in _ALL if page.protocol is not Protocol.HTTP_2]  # which has one connection
    yield _shown("it is less by FLD_TCP", _loads(several, "concurrency"), _less, scale=1, unit="")


def _connections(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for page in _ALL:
        what = f"{page.network}, {page.protocol}: connections last less by FLD_TCP"
        yield _shown(what, _loads([rows[page]], "connection_s"), _less)


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


_ALL = [page for pages in PAGES.values() for page in pages]
FORMS: Mapping[str, Form] = {
    "004-fig6": Form(_ALL, _net_transfer),
    "004-fig7": Form(_ALL, _idle),
    "004-fig8": Form(_ALL, _concurrency),
    "004-fig9-10": Form(_ALL, _connections),
    "004-fig11": Form([FirstRounds()], _first_objects),
}

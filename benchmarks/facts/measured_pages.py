"""Results of the web transport paper (004): pages in a real Chromium through a caching proxy, and flows on the wire."""

from collections.abc import Iterator, Mapping
from statistics import median

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
WINDOW = 0.1
"""Of a round's bytes."""


def _less_s(row: Row, figure: str) -> float:
    return float(row[f"{CUBIC}_{figure}"] - row[f"{FLD}_{figure}"])


def _net_transfer(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for network, pages in PAGES.items():
        for page in pages:
            saved_s = _less_s(rows[page], "net_s")
            what = f"{network}, {page.protocol}: net transfer time is less by FLD_TCP ({1e3 * saved_s:.0f} ms)"
            yield property_of(what, saved_s > 0, by=By.TESTBED)
    saved = {network: median(_less_s(rows[page], "net_s") for page in pages) for network, pages in PAGES.items()}
    yield property_of("it is more on 3G than on LTE", saved["3G"] > saved["LTE"], by=By.TESTBED)


def _idle(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    every = [rows[page] for pages in PAGES.values() for page in pages]
    shares = {control: median(row[f"{control}_idle_share"] for row in every) for control in (CUBIC, FLD)}
    claim = fact.values["median_idle_frac"]
    yield measured("share of the load that is idle, CUBIC, median", claim, shares[CUBIC], absolute=IDLE_POINTS)
    yield property_of(f"it is larger by FLD_TCP ({shares[FLD]:.3f})", shares[FLD] > shares[CUBIC], by=By.TESTBED)


def _connections(_fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for protocol in Protocol:
        of_protocol = [rows[Page(network, protocol)] for network in NETWORKS]
        saved_s = median(_less_s(row, "connection_s") for row in of_protocol)
        what = f"{protocol}: connections last less by FLD_TCP ({1e3 * saved_s:.0f} ms)"
        yield property_of(what, saved_s > 0, by=By.TESTBED)


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
    "004-fig9-10": Form(_ALL, _connections),
    "004-fig11": Form([FirstRounds()], _first_objects),
}

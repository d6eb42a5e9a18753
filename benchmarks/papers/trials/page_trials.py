"""Pages and flows by FLD_TCP and by CUBIC, for the web transport paper's figures 6 to 11.

The pages are drawn at random, 40 objects each, as large as the paper's connections were (its figure 3). They come from
a caching proxy over paths of the paper's LTE and 3G, into a real Chromium. The buffers are those of phones.
"""

from dataclasses import dataclass

from benchmarks.papers.catalogue import Facts
from benchmarks.papers.trial import Yard
from benchmarks.support.disturbance import watched
from benchmarks.transport.arena import LTE_PHONE, arena
from benchmarks.transport.cases import CUBIC, FLD, HSPA, LTE, PAGES, PageCase
from benchmarks.transport.installed import fld_tcp_installed
from benchmarks.transport.pages import connection_s, load_pages, net_s, row_of, typical_sizes
from benchmarks.transport.proxy import Protocol
from benchmarks.transport.wire import rounds
from benchmarks.wan.runs import Row

PAGES_DRAWN, LOADS = 6, 2
"""Loads of a page are by each congestion control, one first and one second. The paper has 11 of each of its pages: what
holds for pages, more of these tell, and loads of one page do not, however many."""

FLOW_BYTES, FLOWS = 120_000, 5


def case_of(network: str, protocol: Protocol) -> PageCase:
    path = {"LTE": LTE, "3G": HSPA}[network]
    return next(case for case in PAGES if case.protocol is protocol and case.flows.path == path)


@dataclass(frozen=True, slots=True)
class Page:
    """``network`` : LTE or 3G. ``number`` : the seed that it is drawn by; from 1."""

    network: str
    protocol: Protocol
    number: int

    @property
    def name(self) -> str:
        return f"{case_of(self.network, self.protocol).name}, number {self.number}"

    @property
    def sort(self) -> str:
        return "pages"

    def conditions(self, facts: Facts) -> str:  # noqa: ARG002 -- the paths are the transport benchmark's
        case = case_of(self.network, self.protocol)
        return f"{case.flows.path}; {case.flows.buffers}; {LOADS} loads"

    def measured(self, yard: Yard) -> Row:
        case = case_of(self.network, self.protocol)
        sizes = typical_sizes(self.number)
        with fld_tcp_installed():
            loads = load_pages(case, sizes, repeats=LOADS, seed=self.number, ahead=yard.ahead)
        row = dict(row_of(case, sizes, loads))
        for control, pages in loads.pages.items():
            row[f"{control}_net_s_each"] = [net_s(page) for page in pages]
            row[f"{control}_idle_share_each"] = [page.idle_share or 0.0 for page in pages]
            row[f"{control}_concurrency_each"] = [page.effective_concurrency or 0.0 for page in pages]
            row[f"{control}_connection_s_each"] = [connection_s(page) for page in pages]
        return row


@dataclass(frozen=True, slots=True)
class FirstRounds:
    """What leaves a server in the first two round trips of a flow, counted on the wire."""

    @property
    def name(self) -> str:
        return f"first rounds of {FLOW_BYTES} bytes over LTE"

    @property
    def sort(self) -> str:
        return "pages"

    def conditions(self, facts: Facts) -> str:  # noqa: ARG002 -- the path is the transport benchmark's
        return f"{LTE}; {LTE_PHONE}; {FLOWS} flows"

    def measured(self, yard: Yard) -> Row:
        controls = (FLD, CUBIC)
        with fld_tcp_installed(), arena(LTE, controls, buffers=LTE_PHONE, seed=yard.seed) as ground:
            with watched(ground.bed, ahead=yard.ahead) as told, ground.watched() as watch:
                for control in controls * FLOWS:
                    ground.fetch(control, [FLOW_BYTES])
            counted = {each: [rounds(flow, LTE.rtt_s)[:2] for flow in ground.flows(watch, each)] for each in controls}
        return {**counted, "disturbed": told.wrong}

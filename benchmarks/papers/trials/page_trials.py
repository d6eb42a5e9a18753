"""Load pages and send flows by FLD_TCP and by CUBIC, for the web transport paper's figures 6 to 11.

The pages are drawn at random, 40 objects each, as large as the paper's connections were (its figure 3). They come from
a caching proxy over paths of the paper's LTE and 3G, into a real Chromium. The buffers are those of phones.
"""

from dataclasses import dataclass

from benchmarks.papers.catalogue import Claims
from benchmarks.papers.trial import TrialSite
from benchmarks.support.disturbance import watch_disturbance
from benchmarks.transport.arena import LTE_PHONE, set_up_arena
from benchmarks.transport.cases import CUBIC, FLD, HSPA, LTE, PAGES, PageCase
from benchmarks.transport.installed import install_fld_tcp
from benchmarks.transport.pages import (
    compute_median_connection_s,
    draw_typical_sizes,
    load_pages,
    make_page_row,
    read_net_transfer_s,
)
from benchmarks.transport.proxy import PageProtocol
from benchmarks.transport.wire import split_into_rounds
from benchmarks.wan.runs import Row

PAGES_DRAWN, LOADS = 6, 2
"""Each page is loaded once first and once second by each congestion control.

The paper has 11 loads of each of its pages. More pages show what holds for pages; more loads of one page do not.
"""

FLOW_BYTES, FLOWS = 120_000, 5


def find_case(network: str, protocol: PageProtocol) -> PageCase:
    path = {"LTE": LTE, "3G": HSPA}[network]
    return next(case for case in PAGES if case.protocol is protocol and case.flows.path == path)


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """One drawn page over one network and protocol.

    ``network`` : LTE or 3G. ``number`` : the seed that it is drawn by; from 1.
    """

    network: str
    protocol: PageProtocol
    number: int

    @property
    def name(self) -> str:
        return f"{find_case(self.network, self.protocol).name}, number {self.number}"

    @property
    def source_part(self) -> str:
        return "pages"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- the paths are the transport benchmark's
        case = find_case(self.network, self.protocol)
        return f"{case.flows.path}; {case.flows.buffers}; {LOADS} loads"

    def measure(self, yard: TrialSite) -> Row:
        case = find_case(self.network, self.protocol)
        sizes = draw_typical_sizes(self.number)
        with install_fld_tcp():
            loads = load_pages(case, sizes, repeats=LOADS, seed=self.number, prioritised=yard.prioritised)
        row = dict(make_page_row(case, sizes, loads))
        for control, pages in loads.pages.items():
            row[f"{control}_net_s_each"] = [read_net_transfer_s(page) for page in pages]
            row[f"{control}_idle_share_each"] = [page.idle_share or 0.0 for page in pages]
            row[f"{control}_concurrency_each"] = [page.effective_concurrency or 0.0 for page in pages]
            row[f"{control}_connection_s_each"] = [compute_median_connection_s(page) for page in pages]
        return row


@dataclass(frozen=True, slots=True)
class FirstRounds:
    """The bytes that leave a server in the first two round trips of a flow, counted on the wire."""

    @property
    def name(self) -> str:
        return f"first rounds of {FLOW_BYTES} bytes over LTE"

    @property
    def source_part(self) -> str:
        return "pages"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- the path is the transport benchmark's
        return f"{LTE}; {LTE_PHONE}; {FLOWS} flows"

    def measure(self, yard: TrialSite) -> Row:
        controls = (FLD, CUBIC)
        with install_fld_tcp(), set_up_arena(LTE, controls, buffers=LTE_PHONE, seed=yard.seed) as ground:
            with (
                watch_disturbance(ground.bed, prioritised=yard.prioritised) as watch_of_machine,
                ground.capture() as capture,
            ):
                for control in controls * FLOWS:
                    ground.fetch(control, [FLOW_BYTES])
            counted = {
                each: [split_into_rounds(flow, LTE.rtt_s)[:2] for flow in ground.list_flows(capture, each)]
                for each in controls
            }
        return {**counted, "disturbed": watch_of_machine.disturbance}

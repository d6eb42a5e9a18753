"""The measured cases: paths like the paper's, with and without background traffic, and sizes of flows."""

from dataclasses import dataclass

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.transport.arena import AMPLE, HSPA_PHONE, LINUX, LTE_PHONE, Buffers
from benchmarks.transport.proxy import PageProtocol

FLD, CUBIC, RENO = "fld_tcp", "cubic", "reno"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsCase:
    """500 kB with bandwidth to spare, counted on the wire."""

    name: str
    buffers: Buffers
    path: PathSpec
    size_bytes: int


_WIDE = PathSpec(rate_bps=500e6, rtt_s=0.1)
ROUNDS = (
    RoundsCase(name="rounds, ample buffers", buffers=AMPLE, path=_WIDE, size_bytes=500_000),
    RoundsCase(name="rounds, Linux buffers", buffers=LINUX, path=_WIDE, size_bytes=500_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortFlowsCase:
    """Flows of several sizes, one after the other, alternating between the congestion controls.

    ``background`` : number of bulk downloads of another client by CUBIC, all the time.
    """

    name: str
    path: PathSpec
    buffers: Buffers
    background: int = 0


LTE, LTE_PEAK, HSPA = (
    PathSpec(rate_bps=25e6, rtt_s=0.026),
    PathSpec(rate_bps=100e6, rtt_s=0.026),
    PathSpec(rate_bps=7e6, rtt_s=0.05),
)
"""Rates and round trips of the paper's section 3: what LTE gave, its maximum, and what 3G gave.
"""

DEEP_QUEUE_OF_PRODUCTS = 4
"""In bandwidth-delay products; the radio networks' queues are several deep."""


def _deepen_queue(path: PathSpec) -> PathSpec:
    return PathSpec(
        rate_bps=path.rate_bps, rtt_s=path.rtt_s, queue_bytes=round(DEEP_QUEUE_OF_PRODUCTS * path.bdp_bytes)
    )


SHORT_FLOWS = (
    ShortFlowsCase(name="LTE peak", path=LTE_PEAK, buffers=LTE_PHONE),
    ShortFlowsCase(name="LTE", path=LTE, buffers=LTE_PHONE),
    ShortFlowsCase(name="3G", path=HSPA, buffers=HSPA_PHONE),
    ShortFlowsCase(name="LTE, bulk beside, deep queue", path=_deepen_queue(LTE), buffers=LTE_PHONE, background=1),
    ShortFlowsCase(name="3G, bulk beside, deep queue", path=_deepen_queue(HSPA), buffers=HSPA_PHONE, background=1),
    ShortFlowsCase(name="LTE, bulk beside", path=LTE, buffers=LTE_PHONE, background=1),
    ShortFlowsCase(name="3G, bulk beside", path=HSPA, buffers=HSPA_PHONE, background=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCase:
    """A page in a browser over one of the paths above.

    ``protocol`` : the browser requests the page by it from a caching proxy; without one, by HTTP/1.1 from our own
    server.
    """

    flows: ShortFlowsCase
    protocol: PageProtocol | None = None

    @property
    def name(self) -> str:
        return f"page, {self.flows.name}{'' if self.protocol is None else f', proxy, {self.protocol}'}"


_ALONE, _WITH_BULK = SHORT_FLOWS[1:3], SHORT_FLOWS[3:5]
PAGES = (
    *(PageCase(flows=flows) for flows in (*_ALONE, *_WITH_BULK)),
    *(PageCase(flows=flows, protocol=protocol) for flows in _ALONE for protocol in PageProtocol),
)
ENGINE = (*_ALONE, *_WITH_BULK)

SIZES_BYTES = (30_000, 50_000, 120_000, 250_000, 500_000, 1_000_000, 2_000_000)
QUICK_SIZES_BYTES = (50_000, 120_000, 500_000)

LONG_FLOW = ShortFlowsCase(name="long flow beside bulk", path=LTE, buffers=LINUX, background=1)
LONG_FLOW_BYTES, QUICK_LONG_FLOW_BYTES = 16_000_000, 10_000_000
"""Beyond the threshold."""

"""What a copy is asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tradewind.parameters import NO_CAPS, UNKNOWN_PARAMETERS, Caps, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind_agent.engine.http.early_sockets import USUAL_SOCKETS, EarlySockets
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.tuning.pace import SHARE_PATIENCE_S

MAX_THROUGHPUT = Sla(kind=SlaKind.MAX_THROUGHPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions:
    """What a copy is asked for.

    ``by_hand`` : parameters that the user sets; with concurrency, parallelism and pipelining no one recommends any. The
    service is still asked for a share, and what is set beyond it is cut.
    ``source``, ``destination`` : endpoint names; by default the host in the address and the name of this host.
    ``bandwidth_bps``, ``rtt_s`` : of the path where known; the RTT is timed otherwise.
    ``load`` : share of the path that others use, 0..1, where known.
    ``limits`` : caps on what may be recommended.
    ``tune`` : change the parameters while it runs, from a sample each tick; what is set by hand is only cut to a share.
    ``tick_s`` : between two samples; by default as the service asks, 5 s without one.
    ``share_patience_s`` : how long to wait for a share where a cap of the path is used up by others.
    ``resources`` : what the user limits of this host.
    ``apply_resources`` : limit what the plan recommends too; otherwise it is told as advice.
    ``listing`` : what to do with links, and with what cannot be read.
    ``resume`` : go on with the parts that an earlier run has left; otherwise they are fetched again.
    """

    sla: Sla = MAX_THROUGHPUT
    by_hand: Parameters = UNKNOWN_PARAMETERS
    source: str | None = None
    destination: str | None = None
    network: str | None = None
    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    load: float | None = None
    limits: Caps = NO_CAPS
    tune: bool = True
    tick_s: float | None = None
    share_patience_s: float = SHARE_PATIENCE_S
    resources: Limits = NO_LIMITS
    apply_resources: bool = False
    listing: ListingRules = REPORT_ALL
    resume: bool = True
    engine: EngineOptions = field(default_factory=EngineOptions)

    @property
    def rate_limit_bps(self) -> float | None:
        """The rate that the user permits at most, of the network and of the disk; ``None`` without a limit."""
        rates = (self.resources.nic_bps, self.resources.disk_bps)
        return min((rate for rate in rates if rate is not None), default=None)

    @contextmanager
    def connecting_early(self) -> Iterator["CopyOptions"]:
        """The same for a copy that is listed and run in this block: its connections begin while files are listed."""
        most = USUAL_SOCKETS if self.by_hand.concurrency is None else min(self.by_hand.streams, USUAL_SOCKETS)
        early = EarlySockets(most)
        try:
            yield replace(self, engine=replace(self.engine, early=early))
        finally:
            early.close()

"""The options of a copy."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tradewind.parameters import NO_CAPS, UNKNOWN_PARAMETERS, Caps, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind_agent.engine.http.early_sockets import USUAL_SOCKETS, EarlySockets
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.tuning.pace import SHARE_PATIENCE_S

MAX_THROUGHPUT = Sla(kind=SlaKind.MAX_THROUGHPUT, has_default_basis=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions:
    """The options of a copy, by whichever tool.

    ``by_hand`` : parameters that the user sets. With concurrency, parallelism and pipelining set, no recommendation is
    requested; the copy still claims a share, and what is set beyond the share is cut.
    ``source``, ``destination`` : endpoint names; by default the host in the address and the name of this host.
    ``labels`` : what the transfer belongs to, such as a project, for those who analyse transfers.
    ``bandwidth_bps``, ``rtt_s`` : of the path where known; otherwise the RTT is timed.
    ``load`` : share of the path that other traffic uses, 0..1, where known.
    ``limits`` : caps on what may be recommended.
    ``tune`` : change the parameters during the copy, by a sample each tick; what is set by hand is only cut to a share.
    ``tick_s`` : time between two samples; by default as the service requests, 5 s without a service.
    ``share_patience_s`` : how long to wait for a share of a path whose caps are used up.
    ``resources`` : limits that the user sets on this host.
    ``apply_resources`` : whether to apply recommended limits too, or to report them as advice; by default the cores
    are applied, since binding a process to them affects nobody else.
    ``limit_both_ends`` : whether the server is requested to use the same cores and frequency.
    ``explore_resources`` : take part in the experiment on cores and frequency, see `resources.resource_trials`.
    ``listing`` : what to do with links and unreadable files.
    ``resume`` : go on with the parts that an earlier run has left; otherwise fetch them again.
    """

    sla: Sla = MAX_THROUGHPUT
    by_hand: Parameters = UNKNOWN_PARAMETERS
    source: str | None = None
    destination: str | None = None
    network: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    load: float | None = None
    limits: Caps = NO_CAPS
    tune: bool = True
    tick_s: float | None = None
    share_patience_s: float = SHARE_PATIENCE_S
    resources: Limits = NO_LIMITS
    apply_resources: bool | None = None
    explore_resources: bool = False
    limit_both_ends: bool = False
    listing: ListingRules = REPORT_ALL
    resume: bool = True
    engine: EngineOptions = field(default_factory=EngineOptions)

    @property
    def rate_limit_bps(self) -> float | None:
        """The lower of the user's limits on network and disk rate, bit/s; ``None`` without a limit."""
        rates = (self.resources.nic_bps, self.resources.disk_bps)
        return min((rate for rate in rates if rate is not None), default=None)

    @contextmanager
    def connect_early(self) -> Iterator["CopyOptions"]:
        """Yield options for a copy that is listed and run in this block: it connects while files are listed."""
        most = USUAL_SOCKETS if self.by_hand.concurrency is None else min(self.by_hand.streams, USUAL_SOCKETS)
        early = EarlySockets(most)
        try:
            yield replace(self, engine=replace(self.engine, early=early))
        finally:
            early.close()

"""What stays the same while a transfer runs: its SLA, the plan it started with, and what was learned of its path."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from tradewind.dataset import ChunkKind
from tradewind.energy.ends import BOTH_ENDS, PowerByEnd
from tradewind.energy.measured import Host
from tradewind.errors import InvalidValue
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.prediction import compute_z
from tradewind.recommendation import ChunkPlan, CompactTable
from tradewind.sla.kinds import Sla
from tradewind.tiers.selection import compute_target_in_unit
from tradewind.tuning.expectation import Expectation
from tradewind.tuning.resources import ANY_RESOURCES, HostResources, find_nearest, list_alternatives


@dataclass(frozen=True)
class ChunkBasis:
    """One chunk: its recommended plan, its files, and the table of what each setting is expected to reach.

    Without a table, or with one that certifies nothing, the chunk's shape is unknown: it is tuned by search.
    """

    plan: ChunkPlan
    file_count: int
    total_bytes: int
    table: CompactTable | None = None
    _by_resources: dict[HostResources, Expectation] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def kind(self) -> ChunkKind:
        return self.plan.chunk

    @property
    def mean_file_bytes(self) -> float:
        return self.total_bytes / max(self.file_count, 1)

    @cached_property
    def expectation(self) -> Expectation | None:
        """Return the table prepared for lookups; ``None`` without a table."""
        if self.table is None or not self.table.predicted.settings:
            return None
        return Expectation(self.table.predicted)

    def expect(self, resources: HostResources) -> Expectation | None:
        """Return the table's settings with the resources nearest to these; ``None`` without a table."""
        if self.expectation is None or resources == ANY_RESOURCES:
            return self.expectation
        if (known := self._by_resources.get(resources)) is None:
            nearest = find_nearest(self._settings, resources)
            known = self.expectation
            if not all(map(nearest.includes, self._settings)):
                known = Expectation(self.expectation.table, nearest)
            self._by_resources[resources] = known
        return known

    def list_other_resources(self, resources: HostResources, adjustable: Collection[str]) -> tuple[HostResources, ...]:
        """Return the resources that the table knows and that a transfer with these may change to."""
        if not adjustable or self.table is None:
            return ()
        current = find_nearest(self._settings, resources)
        certified = [each.parameters for each in self.table.predicted.settings if each.certified]
        return list_alternatives(certified, current, adjustable)

    @cached_property
    def _settings(self) -> tuple[Parameters, ...]:
        return () if self.table is None else tuple(each.parameters for each in self.table.predicted.settings)

    def count_files_left(self, remaining_bytes: int, remaining_files: int, started: int = 0) -> int:
        """Return how many files ``remaining_bytes`` of this chunk may be, 1 … ``remaining_files`` (at least 1).

        ``started`` of them may be done but for their last bytes: a chunk is not left with fewer channels than these.
        """
        files = -(-remaining_bytes // max(int(self.mean_file_bytes), 1))
        return max(1, min(files + started, max(remaining_files, 1)))


@dataclass(frozen=True)
class Basis:
    """Everything that `begin` and `step` need in addition to the state and the sample.

    ``caps`` are those granted for the entire transfer: concurrency and streams are held by the sum over its chunks. A
    new grant is a new basis (``dataclasses.replace``); the next step obeys it. ``rate_limit_bps`` is what the user
    permits at most. ``adjustable`` : resources of `resources.ADJUSTABLE` that the agent can change while it runs.
    """

    sla: Sla
    chunks: tuple[ChunkBasis, ...]
    path: Path = UNKNOWN_PATH
    caps: Caps = NO_CAPS
    base_power_w: float | None = None
    rate_limit_bps: float | None = None
    adjustable: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.chunks:
            raise InvalidValue("chunks", "a transfer has at least one")
        if len({chunk.kind for chunk in self.chunks}) < len(self.chunks):
            raise InvalidValue("chunks", "has the same chunk twice")

    @cached_property
    def total_bytes(self) -> int:
        return sum(chunk.total_bytes for chunk in self.chunks)

    @cached_property
    def by_kind(self) -> dict[ChunkKind, ChunkBasis]:
        return {chunk.kind: chunk for chunk in self.chunks}

    @cached_property
    def target(self) -> float | None:
        """Return the SLA's target in bit/s, J a byte or W; ``None`` where it has none.

        A fraction is one of the highest certifiable throughput. Where nothing is certified, as on unknown paths, it is
        one of what the path carries: no setting exceeds that, so the fraction of the real maximum is met too.
        """
        certifiable = (
            chunk.table.predicted.find_certifiable_throughput_bps(self.sla.confidence)
            for chunk in self.chunks
            if self.sla.fraction is not None and chunk.table is not None
        )
        best = max((bps for bps in certifiable if bps is not None), default=self.ceiling_bps)
        return compute_target_in_unit(self.sla, dataset_bytes=self.total_bytes, certifiable_bps=best) or None

    @cached_property
    def z(self) -> float:
        """Return the standard normal quantile of the SLA's confidence."""
        return compute_z(self.sla.confidence)

    @cached_property
    def ceiling_bps(self) -> float | None:
        """Return the highest possible rate: the path's bandwidth or the user's limit; ``None`` if neither is known."""
        return self.path.limit_bandwidth(self.rate_limit_bps).bandwidth_bps

    @cached_property
    def loss_baseline(self) -> float:
        """Return the share of bytes that the path loses without congestion; without logs the path's own loss rate."""
        stated = [chunk.table.loss_baseline for chunk in self.chunks if chunk.table is not None]
        return max((loss for loss in stated if loss is not None), default=self.path.loss_rate or 0.0)

    @cached_property
    def bank_limit_bits(self) -> float | None:
        """Return the 95th percentile of past deficits of all chunks together; ``None`` without logs."""
        stated = [chunk.table.bank_limit_bits for chunk in self.chunks if chunk.table is not None]
        known = [bits for bits in stated if bits is not None]
        return sum(known) if known else None

    @cached_property
    def power_by_end(self) -> PowerByEnd:
        """Return the power of each end in the tables' history; empty where no table has it."""
        known = (chunk.table.power_by_end for chunk in self.chunks if chunk.table is not None)
        return max(known, key=len, default={})

    @cached_property
    def counted_ends(self) -> frozenset[Host]:
        """Return the ends whose power the target counts: those in the tables, or both where no table names any."""
        return frozenset(self.power_by_end) or BOTH_ENDS

    @cached_property
    def idle_power_w(self) -> float | None:
        """Base power of the metered hosts: as measured before this transfer, else as in the tables."""
        if self.base_power_w is not None:
            return self.base_power_w
        stated = (chunk.table.predicted.base_power_w for chunk in self.chunks if chunk.table is not None)
        return next((watts for watts in stated if watts is not None), None)

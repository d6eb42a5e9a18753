"""The request that a caller makes before a transfer, and the recommendation that answers it."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self
from uuid import UUID

from services.application.recommend.pricing import PriceQuote
from tradewind.cluster import LOAD_MAX
from tradewind.dataset import Chunk, ChunkKind, DataSet, SizeBin, classify_file, split_by_bdp
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.recommendation import Recommendation
from tradewind.sla.kinds import Sla
from tradewind.transfer import LinkKey
from tradewind.units import format_bps, format_count


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRequest:
    """What to move from where to where, and under which SLA.

    ``load`` : external load, if the caller knows it, 0 … 1; more than ``LOAD_MAX`` counts as ``LOAD_MAX``.
    ``weight`` : of this transfer where several share a cap. ``shared_with`` : how many transfers share one.
    ``rate_limit_bps`` : most that the user permits. ``key_id`` : of the caller.
    ``learned_streams`` : connections that a server at an end permits, as agents have learned.
    """

    link: LinkKey
    dataset: DataSet
    bins: tuple[SizeBin, ...]
    sla: Sla
    path: Path = UNKNOWN_PATH
    load: float | None = None
    caps: Caps = NO_CAPS
    weight: float = 1.0
    shared_with: int = 0
    rate_limit_bps: float | None = None
    key_id: UUID | None = None
    learned_streams: int | None = None

    def tighten(self, caps: Caps, shared_with: int) -> Self:
        """Return the same request within further caps, which it shares with so many live transfers."""
        return replace(self, caps=self.caps.tighten(caps), shared_with=shared_with)

    def limit_streams(self, learned_streams: int | None) -> Self:
        """Return the same request within what a server permits."""
        if learned_streams is None:
            return self
        caps = self.caps.tighten(Caps(streams=learned_streams))
        return replace(self, caps=caps, learned_streams=learned_streams)

    @property
    def caps_text(self) -> str:
        """Return what the rationale says of caps: transfers that share them, and what a server permits."""
        others, streams = self.shared_with, self.learned_streams
        sharing = f"; its caps are shared with {format_count(others, 'live transfer')}" if others else ""
        learned = f"; its server has refused more than {format_count(streams, 'connection')}" if streams else ""
        return sharing + learned

    def format_ceiling(self, path: Path, *, is_reached: bool) -> str:
        """Return what the rationale says of the ceiling: the user's limit, or the bandwidth once it is reached."""
        limit_bps, bandwidth_bps = self.rate_limit_bps, path.bandwidth_bps
        if limit_bps is not None and limit_bps < (bandwidth_bps or math.inf):
            return f"; limited to {format_bps(limit_bps)} by its user"
        return f"; the path carries {format_bps(bandwidth_bps)}" if is_reached and bandwidth_bps is not None else ""

    def __post_init__(self) -> None:
        if self.load is not None:
            object.__setattr__(self, "load", min(self.load, LOAD_MAX))

    def split_into_chunks(self, path: Path) -> tuple[Chunk, ...]:
        """Return chunks of small, medium and large files by the path's BDP; one chunk where the BDP is unknown.

        There is one chunk also where the caps do not leave each chunk a channel: chunks run at the same time.
        """
        bdp_bytes = path.bdp_bytes
        if bdp_bytes is None:
            return (Chunk(ChunkKind.WHOLE, self.dataset, None),)
        if len(self.bins) == 1:
            return (Chunk(classify_file(self.dataset.mean_file_bytes, bdp_bytes), self.dataset, None),)
        return split_by_bdp(self.bins, bdp_bytes, self.caps.channels)


class PricedRecommendation(NamedTuple):
    """A recommendation with its quote, and its chunks' compact tables as the JSON that is sent with it.

    ``quote`` : by the current price book, if there is one. ``link_id`` : the link whose own history answers.
    """

    recommendation: Recommendation
    table_json: dict[ChunkKind, bytes]
    quote: PriceQuote | None = None
    link_id: UUID | None = None

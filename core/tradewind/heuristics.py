"""Closed-form plans of the HTTP-services paper (002 §4), for paths without history and for agents without the service.

Notation (002 §4.1; sizes in bytes)::

    BDP   bandwidth-delay product of the path
    mean  mean file size of a chunk
    buf   TCP buffer of one stream
    cc, p, pp   concurrency, parallelism, pipelining; each chunk has its own and all chunks run together
"""

import math
from collections.abc import Sequence
from itertools import cycle, islice

from tradewind.dataset import Chunk, ChunkKind, DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.units import BITS_PER_BYTE

MAX_PIPELINING = 100
"""Cap on requests in flight, as in HARP's client; beyond it servers close the connection."""

MAX_PARALLELISM = 64
"""Cap on the streams of one file: beyond any tool's own (aria2 16, GridFTP servers 32 to 64)."""

DEFAULT_BUFFER_BYTES = 4 * 1024 * 1024
"""Socket buffer assumed where the path does not state it: Linux's auto-tuning ends at 4–6 MB by default."""

MAX_CHANNELS = 32
"""Channels used when nothing limits them: 002 §5 finds no gain beyond about 28."""

EFFICIENCY_STEP = 4
"""EE raises the channel count by four at a time (002 §4.3)."""

_SMALL_FIRST = (ChunkKind.SMALL, ChunkKind.MEDIUM, ChunkKind.LARGE, ChunkKind.WHOLE)


def compute_pipelining(bdp_bytes: float, mean_file_bytes: float) -> int:
    """Return the requests in flight that cover the round trip, pp = ⌈BDP/mean⌉ within 1 and 100 (002 §4.1)."""
    if mean_file_bytes <= 0:
        return MAX_PIPELINING
    return max(1, min(math.ceil(bdp_bytes / mean_file_bytes), MAX_PIPELINING))


def compute_parallelism(bdp_bytes: float, mean_file_bytes: float, buffer_bytes: float) -> int:
    """Return the streams that one file can use, p = max(min(⌈BDP/buf⌉, ⌈mean/buf⌉), 1), at most 64 (002 §4.1)."""
    usable = min(math.ceil(bdp_bytes / buffer_bytes), math.ceil(mean_file_bytes / buffer_bytes))
    return max(1, min(usable, MAX_PARALLELISM))


def _compute_bdp_bytes(path: Path) -> float:
    bdp = path.bdp_bytes
    if bdp is None:
        raise InvalidValue("path", "the closed-form rules need bandwidth_bps and rtt_s")
    return bdp


def _plan(chunk: Chunk, concurrency: int, path: Path) -> ChunkPlan:
    bdp, mean = _compute_bdp_bytes(path), chunk.dataset.mean_file_bytes
    return ChunkPlan(
        chunk.kind,
        chunk.max_file_bytes,
        Parameters(
            concurrency=concurrency,
            parallelism=compute_parallelism(bdp, mean, path.buffer_bytes or DEFAULT_BUFFER_BYTES),
            pipelining=compute_pipelining(bdp, mean),
        ),
    )


def _check_channels(channels: int) -> None:
    if channels < 1:
        raise InvalidValue("limits.concurrency", f"must be at least 1, got {channels}")


def plan_min_energy(chunks: Sequence[Chunk], path: Path, channels: int = MAX_CHANNELS) -> tuple[ChunkPlan, ...]:
    """MinE: from small to large, cc = min(⌈BDP/mean⌉, ⌈(available + 1)/2⌉) and available −= cc (002 §4.1).

    Small files get most channels, large ones as few as will do. One channel is kept back for each chunk to come, so
    that the sum exceeds ``channels`` only when there are more chunks than channels.

    Raises
    ------
    InvalidValue : bandwidth or RTT unknown, or no channel at all.
    """
    _check_channels(channels)
    bdp, available = _compute_bdp_bytes(path), channels
    plan = []
    ordered = sorted(chunks, key=lambda chunk: _SMALL_FIRST.index(chunk.kind))
    for to_come, chunk in zip(range(len(ordered) - 1, -1, -1), ordered, strict=True):
        needed = math.ceil(bdp / max(chunk.dataset.mean_file_bytes, 1.0))
        concurrency = max(1, min(needed, math.ceil((available + 1) / 2), available - to_come))
        available = max(available - concurrency, 0)
        plan.append(_plan(chunk, concurrency, path))
    return tuple(plan)


def plan_max_throughput(chunks: Sequence[Chunk], path: Path, channels: int = MAX_CHANNELS) -> tuple[ChunkPlan, ...]:
    """MaxThr: channels dealt round-robin Large–Medium–Small until they are gone (002 §4.2).

    No chunk gets more channels than it has files to fill them; what it cannot use goes round again.
    """
    _check_channels(channels)
    dealt = deal_channels(chunks, channels)
    return tuple(_plan(chunk, count, path) for chunk, count in zip(chunks, dealt, strict=True))


def deal_channels(chunks: Sequence[Chunk], channels: int) -> tuple[int, ...]:
    """Return the channels of each chunk when dealt Large–Medium–Small; dealt again by the same rule when a chunk is
    done.
    """
    order = sorted(range(len(chunks)), key=lambda i: -_SMALL_FIRST.index(chunks[i].kind))
    room = [chunk.dataset.file_count for chunk in chunks]
    count = [0] * len(chunks)
    round_robin = cycle(order)
    for _ in range(min(max(channels, len(chunks)), sum(room))):
        taker = next(i for i in islice(round_robin, len(order)) if count[i] < room[i])
        count[taker] += 1
    return tuple(count)


def compute_efficiency_weight(dataset: DataSet) -> float:
    """EE's weight of a chunk, log(1 + size) · log(1 + count) (SC'15, as cited by 002 §4.3)."""
    return math.log1p(dataset.total_bytes) * math.log1p(dataset.file_count)


def plan_energy_efficiency(chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[ChunkPlan, ...]:
    """EE's split of ``channels`` by weight, at least one each (002 §4.3); the level itself is searched online."""
    _check_channels(channels)
    weights = [compute_efficiency_weight(chunk.dataset) for chunk in chunks]
    total = sum(weights) or 1.0
    spare = max(channels - len(chunks), 0)
    shares = [1 + math.floor(spare * weight / total) for weight in weights]
    by_remainder = sorted(range(len(chunks)), key=lambda i: -(spare * weights[i] / total % 1))
    for i in by_remainder[: max(channels - sum(shares), 0)]:
        shares[i] += 1
    return tuple(_plan(chunk, share, path) for chunk, share in zip(chunks, shares, strict=True))


def list_efficiency_levels(max_channels: int) -> tuple[int, ...]:
    """Channel counts that EE tries for 5 s each: 1, 5, 9, … (002 §4.3)."""
    _check_channels(max_channels)
    return tuple(range(1, max_channels + 1, EFFICIENCY_STEP))


def compute_flexible_throughput_concurrency(target_bps: float, current_bps: float, current_concurrency: int) -> int:
    """FlexibleThr's jump: ⌈cc · target/current⌉ on the first short interval (002 §4.4), then +1 an interval.

    Raises
    ------
    InvalidValue : a current throughput that is not positive.
    """
    if not current_bps > 0:
        raise InvalidValue("throughput_bps", f"must be above 0, got {current_bps}")
    if current_bps >= target_bps:
        return current_concurrency
    return max(current_concurrency + 1, math.ceil(current_concurrency * target_bps / current_bps))


def plan_flexible_throughput(
    chunks: Sequence[Chunk], path: Path, target_bps: float, channels: int = MAX_CHANNELS
) -> tuple[ChunkPlan, ...]:
    """FlexibleThr from a cold start: as many of ``channels`` as the target needs at one window a round trip each.

    Channels go to small files first, as in MinE (002 §4.4).

    Raises
    ------
    InvalidValue : bandwidth or RTT unknown, or no channel at all.
    """
    _check_channels(channels)
    if path.rtt_s is None:
        raise InvalidValue("path", "the closed-form rules need bandwidth_bps and rtt_s")
    one_stream_bps = BITS_PER_BYTE * (path.buffer_bytes or DEFAULT_BUFFER_BYTES) / path.rtt_s
    reachable_bps = min(target_bps, channels * one_stream_bps)
    needed = compute_flexible_throughput_concurrency(reachable_bps, one_stream_bps, 1)
    return plan_min_energy(chunks, path, max(needed, len(chunks)))


def compute_bits_per_joule(throughput_bps: float, power_w: float) -> float:
    """Return the energy efficiency T/P, bits a joule (002 §3). Rank settings by this one."""
    return throughput_bps / power_w


def compute_throughput_per_joule(throughput_bps: float, energy_j: float) -> float:
    """Return the paper's other metric, T/E = T²/(P·8·bytes), bit/s a joule (002 §4.3): it ranks differently."""
    return throughput_bps / energy_j


def count_allowed_channels(caps: Caps = NO_CAPS) -> int:
    """Return the channels permitted by ``caps``: the stricter of concurrency and streams, else the default."""
    return min(caps.channels or MAX_CHANNELS, MAX_CHANNELS)

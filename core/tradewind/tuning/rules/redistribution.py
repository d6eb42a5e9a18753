"""Redistribution of the channels of finished chunks, and closing of slow streams."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from tradewind.parameters import Caps, Parameters
from tradewind.tuning.forecast import ActiveChunk
from tradewind.tuning.limits import compute_parallelism_limit
from tradewind.units import BITS_PER_BYTE

SLOW_SHARE = 0.25
"""A stream is slow below this share of the median of its siblings in other chunks."""


def redeal_streams(chunks: Sequence[ActiveChunk], streams: int) -> tuple[Parameters, ...]:
    """Return the current settings with channels added, up to ``streams`` in total.

    Each channel goes to the chunk with most bytes a channel.

        A chunk takes no more channels than it has files (Promc; 002 §4.2 deals again when a sub-group is done).
    """
    channels = [min(chunk.parameters.concurrency or 1, chunk.files_left) for chunk in chunks]
    widths = [chunk.parameters.parallelism or 1 for chunk in chunks]
    free = streams - sum(count * width for count, width in zip(channels, widths, strict=True))
    while True:
        takers = [i for i, chunk in enumerate(chunks) if channels[i] < chunk.files_left and widths[i] <= free]
        if not takers:
            break
        neediest = max(takers, key=lambda i: chunks[i].remaining_bytes / (channels[i] + 1))
        channels[neediest] += 1
        free -= widths[neediest]
    return tuple(replace(chunk.parameters, concurrency=count) for chunk, count in zip(chunks, channels, strict=True))


def widen_chunks(
    chunks: Sequence[ActiveChunk], settings: Sequence[Parameters], streams: int, *, caps: Caps, least_s: float
) -> tuple[Parameters, ...]:
    """Return the settings with up to ``streams`` streams: where no file waits for a channel, files get more streams.

    Each time one stream more to every file of the chunk with most bytes a stream. ``least_s`` : how long a chunk has to
    last still for it.
    """
    given = list(settings)
    free = streams - sum(setting.streams for setting in given)
    while takers := [
        i
        for i, chunk in enumerate(chunks)
        if chunk.files_left <= (given[i].concurrency or 1) <= free
        and (given[i].parallelism or 1) < compute_parallelism_limit(caps, 1)
        and BITS_PER_BYTE * chunk.remaining_bytes >= least_s * chunk.throughput_bps
    ]:
        neediest = max(takers, key=lambda i: chunks[i].remaining_bytes / given[i].streams)
        free -= given[neediest].concurrency or 1
        given[neediest] = replace(given[neediest], parallelism=(given[neediest].parallelism or 1) + 1)
    return tuple(given)


def drop_slow_streams(chunks: Sequence[ActiveChunk]) -> tuple[Parameters, ...]:
    """Return the current settings with one stream a file fewer where streams are far slower than in other chunks.

    Channels stay: a chunk of small files is slow by its nature, and would only be the last to end.
    """
    rates = [chunk.throughput_bps / chunk.parameters.streams for chunk in chunks]
    return tuple(_drop_slow(chunk, rates[i], [*rates[:i], *rates[i + 1 :]]) for i, chunk in enumerate(chunks))


def _drop_slow(chunk: ActiveChunk, rate_bps: float, others_bps: Sequence[float]) -> Parameters:
    parallelism = chunk.parameters.parallelism or 1
    if parallelism == 1 or not others_bps or rate_bps >= SLOW_SHARE * median(others_bps):
        return chunk.parameters
    return replace(chunk.parameters, parallelism=parallelism - 1)

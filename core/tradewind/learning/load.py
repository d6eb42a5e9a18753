"""External load of a transfer (paper 001 step 2, eq. 4), without letting a row's own throughput into its load.

Notation (one value a log row, all (n,) float arrays; NaN means not logged)
--------
BW         capacity of the path, bit/s
T_act      the row's own throughput, bit/s
T_known    mean rate of the other logged transfers at its two ends while it ran, bit/s
δ          capacity lost to retransmission and slow start, bit/s
T_unknown  BW − T_act − T_known − δ, not below 0, bit/s
ℓ          load, share of BW taken by others, 0 … 0.95

T_unknown of a row contains its T_act, so a surface given that row's own residual could read the answer off its input.
The load of a row is therefore made of its T_known and of T_unknown of rows that had ended before it began.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tradewind.cluster import LOAD_MAX
from tradewind.learning.known_bytes import KnownBytesCurve
from tradewind.units import BITS_PER_BYTE

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

BUSY_HOST = 0.85
"""Above this utilisation of CPU or disk the host, not the network, may have set the rate."""
RECENT_ROWS = 5
"""Rows of the link whose median residual stands for present unknown traffic."""
INITIAL_WINDOW_BYTES = 10 * 1460
"""TCP's first window, ten segments (RFC 6928)."""


@dataclass(frozen=True, slots=True)
class Load:
    """External load of n rows.

    Attributes
    ----------
    known_bps, unknown_bps : (n,) T_known and the row's own T_unknown, which must not become an input of a model.
    upper_bound : (n,) true where T_unknown is only an upper bound, because something else than the path was the limit.
    feature : (n,) ℓ, the load that models may use.
    present_unknown_bps : T_unknown after the last row, what a transfer that starts now has to expect.
    """

    known_bps: FloatArray
    unknown_bps: FloatArray
    upper_bound: BoolArray
    feature: FloatArray
    present_unknown_bps: float


def known_rate_bps(
    start_s: FloatArray,
    end_s: FloatArray,
    own_bytes: FloatArray,
    *,
    source: KnownBytesCurve,
    destination: KnownBytesCurve,
    both: KnownBytesCurve,
) -> FloatArray:
    """T_known = (ΔR_source + ΔR_destination − ΔR_both − own bytes) · 8 / duration.

    Parameters
    ----------
    start_s, end_s, own_bytes : (n,) of the rows, which must themselves be part of all three curves.
    source, destination : everything logged at that end, whatever the other end.
    both : everything logged between the two ends, in either direction, so that it counts once.

    Returns
    -------
    (n,) bit/s, not below 0. Other chunks of the same transfer count as known load. O((n + m) log m) for m breakpoints.
    """
    moved = source.between(start_s, end_s) + destination.between(start_s, end_s) - both.between(start_s, end_s)
    others: FloatArray = np.maximum(moved - own_bytes, 0.0)
    rate: FloatArray = others * BITS_PER_BYTE / (end_s - start_s)
    return rate


def congestion_bps(
    retransmitted_bytes: FloatArray,
    duration_s: FloatArray,
    throughput_bps: FloatArray,
    rtt_s: FloatArray,
    streams: FloatArray,
) -> FloatArray:
    """Capacity lost to congestion and slow start, δ = 8 · retransmitted / duration + slow-start deficit.

    A stream that ends up with window W = T · RTT / (8 · streams) starts with IW and doubles it each round, so in its
    n = log2(W / IW) rounds it sends about n · W − (W − IW) bytes less than at full rate; connections are kept open, so
    each pays once. What was not logged counts as no loss.
    """
    resent = np.nan_to_num(retransmitted_bytes)
    count = np.maximum(np.nan_to_num(streams, nan=1.0), 1.0)
    window = np.nan_to_num(throughput_bps * rtt_s) / BITS_PER_BYTE / count
    ratio: FloatArray = np.maximum(window / INITIAL_WINDOW_BYTES, 1.0)
    deficit = INITIAL_WINDOW_BYTES * (ratio * np.log2(ratio) - (ratio - 1.0))
    return (resent + count * deficit) * BITS_PER_BYTE / duration_s


def unknown_rate_bps(
    bandwidth_bps: FloatArray, throughput_bps: FloatArray, known_bps: FloatArray, congestion: FloatArray
) -> FloatArray:
    """T_unknown = BW − T_act − T_known − δ, not below 0; NaN where BW is not known."""
    residual: FloatArray = np.maximum(bandwidth_bps - throughput_bps - known_bps - congestion, 0.0)
    return residual


def is_upper_bound(
    *,
    bandwidth_bps: FloatArray,
    rtt_s: FloatArray,
    buffer_bytes: FloatArray,
    streams: FloatArray,
    utilisation: FloatArray,
    request_limit_bps: FloatArray,
) -> BoolArray:
    """Where the path may have been idle although the transfer was slow, so that T_unknown is too high.

    Either the host was the limit (the higher of CPU and disk utilisation above 0.85), or the socket windows were,
    8 · streams · buffer / RTT < BW, or the round trips between requests were. What was not logged raises no flag.
    """
    window_bps = BITS_PER_BYTE * np.nan_to_num(streams, nan=1.0) * buffer_bytes / rtt_s
    return np.asarray((utilisation > BUSY_HOST) | (window_bps < bandwidth_bps) | (request_limit_bps < bandwidth_bps))


def request_limit_bps(
    bandwidth_bps: FloatArray,
    rtt_s: FloatArray,
    mean_file_bytes: FloatArray,
    concurrency: FloatArray,
    pipelining: FloatArray,
) -> FloatArray:
    """Rate that the round trips between requests allow on an idle path, 8·cc·mean / (8·mean/BW + RTT/pp), bit/s.

    All (n,). Settings that were not logged count as 1; NaN where the path is not known.
    """
    files_at_once, in_flight = (np.maximum(np.nan_to_num(one, nan=1.0), 1.0) for one in (concurrency, pipelining))
    file_bits = BITS_PER_BYTE * mean_file_bytes
    rate: FloatArray = files_at_once * file_bits / (file_bits / bandwidth_bps + rtt_s / in_flight)
    return rate


def recent_unknown_bps(
    moment_s: FloatArray,
    end_s: FloatArray,
    unknown_bps: FloatArray,
    usable: BoolArray,
    *,
    before_any_bps: float = 0.0,
) -> FloatArray:
    """Median T_unknown of the last rows of the link that had ended at each moment, such as when a row began.

    Parameters
    ----------
    moment_s : (k,) where it is wanted.
    end_s, unknown_bps : (n,) of the link's rows.
    usable : (n,) rows that may be looked back at: unflagged and, while a model is judged, in the training set.
    before_any_bps : what stands in for moments that nothing usable precedes, such as the last release's value.

    Returns
    -------
    (k,) bit/s. Depends on neither the order of the rows nor, at a row's start, on its own throughput. O(n log n).
    """
    usable = usable & np.isfinite(unknown_bps)
    ends, residuals = end_s[usable], unknown_bps[usable]
    order = np.lexsort((residuals, ends))
    padded = np.concatenate([np.full(RECENT_ROWS, np.nan), residuals[order]])
    seen = np.searchsorted(ends[order], moment_s, side="right")
    result = np.full(len(moment_s), float(before_any_bps))
    some = seen > 0
    window = np.lib.stride_tricks.sliding_window_view(padded, RECENT_ROWS)
    result[some] = np.nanmedian(window[seen[some]], axis=1)
    return result


def load_of(bandwidth_bps: FloatArray, known_bps: FloatArray, unknown_bps: FloatArray) -> FloatArray:
    """`tradewind.cluster.load_share` of arrays: ℓ = (T_known + T_unknown) / BW within 0 … 0.95; 0 where BW is NaN."""
    share = np.nan_to_num((known_bps + unknown_bps) / bandwidth_bps)
    return np.clip(share, 0.0, LOAD_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRows:
    """What the load of a link's rows is computed from; all (n,), NaN where not logged.

    ``streams`` is cc · p; ``utilisation`` the higher of CPU and disk utilisation, 0 … 1; ``request_limit_bps`` is
    explained by the function of that name.
    """

    start_s: FloatArray
    end_s: FloatArray
    moved_bytes: FloatArray
    throughput_bps: FloatArray
    bandwidth_bps: FloatArray
    rtt_s: FloatArray
    buffer_bytes: FloatArray
    streams: FloatArray
    retransmitted_bytes: FloatArray
    utilisation: FloatArray
    request_limit_bps: FloatArray


def external_load(
    rows: LinkRows,
    *,
    source: KnownBytesCurve,
    destination: KnownBytesCurve,
    both: KnownBytesCurve,
    training: BoolArray | None = None,
    before_any_bps: float = 0.0,
) -> Load:
    """Load of all rows of one link.

    Parameters
    ----------
    source, destination, both : curves of known bytes, see `known_rate_bps`.
    training : (n,) rows whose residuals others may look back at; all if not given.
    before_any_bps : unknown traffic before the first usable row.
    """
    known = known_rate_bps(
        rows.start_s, rows.end_s, rows.moved_bytes, source=source, destination=destination, both=both
    )
    lost = congestion_bps(
        rows.retransmitted_bytes, rows.end_s - rows.start_s, rows.throughput_bps, rows.rtt_s, rows.streams
    )
    unknown = unknown_rate_bps(rows.bandwidth_bps, rows.throughput_bps, known, lost)
    flagged = is_upper_bound(
        bandwidth_bps=rows.bandwidth_bps,
        rtt_s=rows.rtt_s,
        buffer_bytes=rows.buffer_bytes,
        streams=rows.streams,
        utilisation=rows.utilisation,
        request_limit_bps=rows.request_limit_bps,
    )
    usable = ~flagged if training is None else ~flagged & training
    moments = np.append(rows.start_s, np.inf)
    recent = recent_unknown_bps(moments, rows.end_s, unknown, usable, before_any_bps=before_any_bps)
    feature = load_of(rows.bandwidth_bps, known, recent[:-1])
    return Load(known, unknown, flagged, feature, float(recent[-1]))

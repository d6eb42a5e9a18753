"""External load of a transfer (GreenDataFlow, eq. 4), without letting a row's own throughput into its load.

Notation (one value a log row, all (n,) float arrays; NaN means not logged)
--------
BW         capacity of the path, bit/s
T_act      the row's own throughput, bit/s
T_known    mean rate of the other logged transfers at its two ends while it ran, bit/s
δ          capacity lost to retransmission and slow start, bit/s
T_unknown  BW − T_act − T_known − δ, not below 0, bit/s
ℓ          load, share of BW taken by others, 0 … 0.95

T_unknown of a row contains its T_act, so a surface given that row's own residual could read the answer off its input.
The load of a row is therefore made of its T_known and of T_unknown of rows that had ended before it started.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tradewind.cluster import LOAD_MAX
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.units import BITS_PER_BYTE

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

BUSY_HOST = 0.85
"""Above this utilisation of CPU or disk the host, not the network, may have set the rate."""
START_UP_SHARE = 0.1
"""Most of an idle path's capacity that a transfer's start may cost before its residual says more of it than of others.

The cost is reckoned for doubling windows, the fastest that TCP opens them; at twice that cost, as with delayed
acknowledgements, the load of an idle path comes out at no more than this."""
START_UP_ROUND_TRIPS = 2
"""Before the first byte: one to connect, one to ask."""
RECENT_ROWS = 5
"""Rows of the link that are looked back at for present unknown traffic.

Each gives an upper bound: a slow setting leaves capacity unused that a faster one, a little earlier or later, shows to
have been free. So the lowest are nearest the truth; the very lowest may be a broken row with too high a throughput."""
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
    present_unknown_bps : T_unknown after the last row, what a transfer that starts now has to expect; NaN if not known.
    """

    known_bps: FloatArray
    unknown_bps: FloatArray
    upper_bound: BoolArray
    feature: FloatArray
    present_unknown_bps: float


def compute_known_rate_bps(
    start_s: FloatArray,
    end_s: FloatArray,
    own_bytes: FloatArray,
    *,
    source: LoadTimeline,
    destination: LoadTimeline,
    both: LoadTimeline,
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
    moved = (
        source.compute_bytes_between(start_s, end_s)
        + destination.compute_bytes_between(start_s, end_s)
        - both.compute_bytes_between(start_s, end_s)
    )
    others: FloatArray = np.maximum(moved - own_bytes, 0.0)
    rate: FloatArray = others * BITS_PER_BYTE / (end_s - start_s)
    return rate


def compute_congestion_bps(
    retransmitted_bytes: FloatArray,
    duration_s: FloatArray,
    throughput_bps: FloatArray,
    rtt_s: FloatArray,
    streams: FloatArray,
) -> FloatArray:
    """Return the capacity lost to congestion and to the start, δ = 8 · (retransmitted + start-up) / duration.

    What was not logged counts as no loss.
    """
    lost_bytes = np.nan_to_num(retransmitted_bytes) + np.nan_to_num(
        estimate_start_up_bytes(throughput_bps, rtt_s, streams)
    )
    return lost_bytes * BITS_PER_BYTE / duration_s


def estimate_start_up_bytes(rate_bps: FloatArray, rtt_s: FloatArray, streams: FloatArray) -> FloatArray:
    """Return the bytes by which new connections fall short of a rate until their windows carry it.

    Two round trips pass before the first byte. A stream whose share of the rate needs window W = rate · RTT / (8 ·
    streams) starts with IW and doubles it each round, so in its n = log2(W / IW) rounds it sends about
    n · W − (W − IW) bytes less than at that rate; connections are kept open, so each pays once.

    Returns
    -------
    (n,) bytes, a lower bound: losses, delayed acknowledgements and TLS make it more. NaN where RTT was not logged.
    """
    count = np.maximum(np.nan_to_num(streams, nan=1.0), 1.0)
    window = rate_bps * rtt_s / BITS_PER_BYTE / count
    ratio = np.maximum(window / INITIAL_WINDOW_BYTES, 1.0)
    slow_start = INITIAL_WINDOW_BYTES * (ratio * np.log2(ratio) - (ratio - 1.0))
    fallen_short: FloatArray = count * (START_UP_ROUND_TRIPS * window + slow_start)
    return fallen_short


def compute_unknown_rate_bps(
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
    moved_bytes: FloatArray,
) -> BoolArray:
    """Return where the path may have been idle although the transfer was slow, so that T_unknown is too high.

    Either the host was the limit (the higher of CPU and disk utilisation above 0.85), or the socket windows were,
    8 · streams · buffer / RTT < BW, or the round trips between requests were, or the transfer was so short that its
    start would have cost more than a tenth of the capacity. What was not logged raises no flag, and none but the
    first depends on how fast the transfer was: else slow ones alone would be looked back at.
    """
    window_bps = BITS_PER_BYTE * np.nan_to_num(streams, nan=1.0) * buffer_bytes / rtt_s
    start_bytes = estimate_start_up_bytes(bandwidth_bps, rtt_s, streams)
    return np.asarray(
        (utilisation > BUSY_HOST)
        | (window_bps < bandwidth_bps)
        | (request_limit_bps < bandwidth_bps)
        | (start_bytes > START_UP_SHARE * (start_bytes + moved_bytes))
    )


def compute_request_limit_bps(
    bandwidth_bps: FloatArray,
    rtt_s: FloatArray,
    mean_file_bytes: FloatArray,
    concurrency: FloatArray,
    pipelining: FloatArray,
) -> FloatArray:
    """Return the rate that the round trips between requests allow on an idle path, 8·cc·mean / (8·mean/BW + RTT/pp),
    bit/s.

    All (n,). Settings that were not logged count as 1; NaN where the path is not known.
    """
    files_at_once, in_flight = (np.maximum(np.nan_to_num(one, nan=1.0), 1.0) for one in (concurrency, pipelining))
    file_bits = BITS_PER_BYTE * mean_file_bytes
    rate: FloatArray = files_at_once * file_bits / (file_bits / bandwidth_bps + rtt_s / in_flight)
    return rate


def compute_recent_unknown_bps(
    moment_s: FloatArray,
    end_s: FloatArray,
    unknown_bps: FloatArray,
    usable: BoolArray,
    *,
    before_any_bps: float = np.nan,
) -> FloatArray:
    """T_unknown at each moment, such as when a row started: the lowest but one of the last rows that had ended.

    Parameters
    ----------
    moment_s : (k,) where it is wanted.
    end_s, unknown_bps : (n,) of the link's rows.
    usable : (n,) rows that may be looked back at: unflagged and, while a model is judged, in the training set.
    before_any_bps : what stands in for moments that nothing usable precedes, such as the last release's value; NaN if
        nothing is known.

    Returns
    -------
    (k,) bit/s; of a single row its own. Depends on neither the order of the rows nor, at a row's start, on its own
    throughput. O(n log n).
    """
    usable = usable & np.isfinite(unknown_bps)
    ends, residuals = end_s[usable], unknown_bps[usable]
    order = np.lexsort((residuals, ends))
    padded = np.concatenate([np.full(RECENT_ROWS, np.nan), residuals[order]])
    seen = np.searchsorted(ends[order], moment_s, side="right")
    result = np.full(len(moment_s), float(before_any_bps))
    some = seen > 0
    window = np.lib.stride_tricks.sliding_window_view(padded, RECENT_ROWS)
    lowest_first = np.sort(window[seen[some]], axis=1)  # NaN comes last
    result[some] = np.where(np.isfinite(lowest_first[:, 1]), lowest_first[:, 1], lowest_first[:, 0])
    return result


def compute_load(bandwidth_bps: FloatArray, known_bps: FloatArray, unknown_bps: FloatArray) -> FloatArray:
    """`tradewind.cluster.compute_load_share` of arrays, ℓ = (T_known + T_unknown) / BW in 0 … 0.95; 0 for BW NaN."""
    share = np.nan_to_num((known_bps + unknown_bps) / bandwidth_bps)
    return np.clip(share, 0.0, LOAD_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRows:
    """What the load of a link's rows is computed from; all (n,), NaN where not logged.

    ``streams`` is cc · p, cc no more than there are files; ``utilisation`` the higher of CPU and disk utilisation,
    0 … 1; ``request_limit_bps`` is explained by `compute_request_limit_bps`.
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


def compute_external_load(
    rows: LinkRows,
    *,
    source: LoadTimeline,
    destination: LoadTimeline,
    both: LoadTimeline,
    training: BoolArray | None = None,
    before_any_bps: float = np.nan,
) -> Load:
    """Load of all rows of one link.

    Parameters
    ----------
    source, destination, both : curves of known bytes, see `compute_known_rate_bps`.
    training : (n,) rows whose residuals others may look back at; all if not given.
    before_any_bps : unknown traffic before the first usable row; NaN if not known, which counts as none.
    """
    known = compute_known_rate_bps(
        rows.start_s, rows.end_s, rows.moved_bytes, source=source, destination=destination, both=both
    )
    lost = compute_congestion_bps(
        rows.retransmitted_bytes, rows.end_s - rows.start_s, rows.throughput_bps, rows.rtt_s, rows.streams
    )
    unknown = compute_unknown_rate_bps(rows.bandwidth_bps, rows.throughput_bps, known, lost)
    flagged = is_upper_bound(
        bandwidth_bps=rows.bandwidth_bps,
        rtt_s=rows.rtt_s,
        buffer_bytes=rows.buffer_bytes,
        streams=rows.streams,
        utilisation=rows.utilisation,
        request_limit_bps=rows.request_limit_bps,
        moved_bytes=rows.moved_bytes,
    )
    usable = ~flagged if training is None else ~flagged & training
    moments = np.append(rows.start_s, np.inf)
    recent = compute_recent_unknown_bps(moments, rows.end_s, unknown, usable, before_any_bps=before_any_bps)
    feature = compute_load(rows.bandwidth_bps, known, np.nan_to_num(recent[:-1]))
    return Load(known, unknown, flagged, feature, float(recent[-1]))

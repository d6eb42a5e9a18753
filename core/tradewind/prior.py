"""Throughput to expect on a path that no log has seen: the closed-form prior mean and a table made of it.

Notation (rates bit/s, sizes bytes)::

    BW, RTT, buf, loss   of the path            ℓ      external load, 0..1
    r                    rate of one stream     T_SC   start cost of a file, s
    cc, p, pp            setting                mean   mean file size

    r = min(8·buf/RTT, 1.2·8·MSS/(RTT·√loss))                                  (window; Mathis et al. 1997)
    T = min(BW(1 − ℓ), cc·p·r, 8·cc·mean / (8·mean/(p·r) + T_SC/pp))           (pipe; windows; round trips per file)
"""

import math
from collections.abc import Iterable, Mapping

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.heuristics import DEFAULT_BUFFER_BYTES
from tradewind.parameters import NO_CAPS, Caps, Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.selection import SettingTable
from tradewind.units import BITS_PER_BYTE

MSS_BYTES = 1460
"""Payload of an Ethernet segment without options."""

MATHIS_CONSTANT = 1.2
"""C of Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", for delayed acks off."""

PRIOR_LOG_SD = 0.7
"""Spread of the prior on the log scale: a factor of two either way. A judgement, not a measurement."""

STREAM_COST = 1e-3
"""Relative cost of one more stream, so that of settings equal in the model the smaller one is preferred."""

_LATTICE = Lattice(
    {
        "concurrency": (1, 2, 4, 8, 12, 16, 24, 32),
        "parallelism": (1, 2, 4, 8),
        "pipelining": (1, 2, 4, 8, 16, 32),
    }
)


def stream_rate_bps(path: Path) -> float:
    """Rate of one stream: its window a round trip, and the Mathis bound where loss is known; infinite without RTT."""
    if path.rtt_s is None:
        return math.inf
    window = BITS_PER_BYTE * (path.buffer_bytes or DEFAULT_BUFFER_BYTES) / path.rtt_s
    if not path.loss_rate:
        return window
    return min(window, MATHIS_CONSTANT * BITS_PER_BYTE * MSS_BYTES / (path.rtt_s * math.sqrt(path.loss_rate)))


def throughput_bps(path: Path, dataset: DataSet, parameters: Parameters, load: float = 0.0) -> float:
    """Prior mean of the throughput of ``dataset`` at ``parameters`` under external load 0 ≤ ℓ < 1, bit/s.

    Raises
    ------
    InvalidValue : neither bandwidth nor RTT of the path is known, so that nothing bounds the rate.
    """
    stream = stream_rate_bps(path)
    pipe = (path.bandwidth_bps or math.inf) * (1 - load)
    if not math.isfinite(min(stream, pipe)):
        raise InvalidValue("path", "nothing is known of it: give bandwidth_bps, or rtt_s, or both")
    stream = min(stream, pipe)
    streams_a_file = parameters.parallelism or 1
    files = min(parameters.concurrency or 1, dataset.file_count)
    file_bits = BITS_PER_BYTE * max(dataset.mean_file_bytes, 1.0)
    start_s = (path.rtt_s or 0.0) / max(parameters.pipelining or 1, 1)
    file_s = file_bits / min(streams_a_file * stream, pipe) + start_s
    return min(pipe, files * streams_a_file * stream, files * file_bits / file_s)


def settings(caps: Caps = NO_CAPS) -> Iterable[Parameters]:
    """The prior's lattice of settings within ``caps``."""
    return (setting for setting in _LATTICE.settings() if caps.allow(setting))


def table(path: Path, dataset: DataSet, caps: Caps = NO_CAPS, load: float = 0.0) -> SettingTable:
    """The prior as a table: every permitted setting with the prior mean and spread; power is unknown.

    Nothing in it is certified, so no SLA is promised on it.
    """
    return SettingTable(settings=tuple(_prior_setting(path, dataset, setting, load) for setting in settings(caps)))


def _prior_setting(path: Path, dataset: DataSet, setting: Parameters, load: float) -> PredictedSetting:
    mean = throughput_bps(path, dataset, setting, load) * (1 - STREAM_COST * math.log2(setting.streams))
    return PredictedSetting(
        parameters=setting,
        log_throughput_mean=math.log(mean),
        log_throughput_sd=PRIOR_LOG_SD,
        certified=False,
    )


def transferred(
    neighbours: Mapping[Parameters, list[tuple[float, PredictedSetting, float]]],
    path: Path,
    dataset: DataSet,
    load: float,
) -> SettingTable:
    """Table of an unseen path from tables of its neighbours: prior of the new path times their residual.

    Parameters
    ----------
    neighbours : for each setting, (weight > 0, the neighbour's entry, log of the neighbour's own prior mean).

    Notes
    -----
    log T_new(x) = log prior_new(x) + Σ w·(log T_nb(x) − log prior_nb(x)) / Σ w; the variance is the neighbours' plus
    their disagreement plus half of the prior's, so that the interval is wider than any neighbour's.
    """
    return SettingTable(
        settings=tuple(
            _transferred_setting(setting, entries, math.log(throughput_bps(path, dataset, setting, load)))
            for setting, entries in neighbours.items()
        )
    )


def _transferred_setting(
    setting: Parameters, entries: list[tuple[float, PredictedSetting, float]], log_prior: float
) -> PredictedSetting:
    total = sum(weight for weight, _, _ in entries)
    residuals = [(weight, entry.log_throughput_mean - own_prior) for weight, entry, own_prior in entries]
    residual = sum(weight * value for weight, value in residuals) / total
    disagreement = sum(weight * (value - residual) ** 2 for weight, value in residuals) / total
    own = sum(weight * entry.log_throughput_sd**2 for weight, entry, _ in entries) / total
    power = [(weight, entry.log_power_mean) for weight, entry, _ in entries if entry.log_power_mean is not None]
    log_power = sum(weight * value for weight, value in power) / sum(w for w, _ in power) if power else None
    return PredictedSetting(
        parameters=setting,
        log_throughput_mean=log_prior + residual,
        log_throughput_sd=math.sqrt(own + disagreement + PRIOR_LOG_SD**2 / 2),
        log_power_mean=log_power,
        log_power_sd=0.0 if log_power is None else PRIOR_LOG_SD,
        certified=False,
    )

"""Throughput to expect on a path that no log has seen: the closed-form prior mean and a table made of it.

Notation (rates bit/s, sizes bytes)::

    BW, RTT, buf, loss   of the path            ℓ      external load, 0..1
    r                    rate of one stream     T_SC   start cost of a file, s
    cc, p, pp            setting                mean   mean file size

    r = min(8·buf/RTT, 1.2·8·MSS/(RTT·√loss))                                  (window; Mathis et al. 1997)
    T = min(BW(1 − ℓ), cc·p·r, 8·cc·mean / (8·mean/(p·r) + T_SC/pp))           (pipe; windows; round trips per file)
"""

import math
from collections.abc import Callable, Iterable

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.heuristics import DEFAULT_BUFFER_BYTES
from tradewind.parameters import NO_CAPS, Caps, Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.tiers.setting_table import SettingTable
from tradewind.units import BITS_PER_BYTE

MSS_BYTES = 1460
"""Payload of an Ethernet segment without options."""

MATHIS_CONSTANT = 1.2
"""C of Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", for delayed acks off."""

PRIOR_LOG_SD = 0.7
"""Spread of the prior on the log scale: a factor of two either way. A judgement, not a measurement."""

STREAM_COST = 1e-3
"""Relative cost of one more stream, so that of settings equal in the model the smaller one is preferred."""

_SETTINGS = tuple(
    Lattice(
        {
            "concurrency": (1, 2, 4, 8, 12, 16, 24, 32),
            "parallelism": (1, 2, 4, 8),
            "pipelining": (1, 2, 4, 8, 16, 32),
        }
    ).list_settings()
)


def compute_stream_rate_bps(path: Path) -> float:
    """Return the rate of one stream: its window a round trip, and the Mathis bound where loss is known; infinite
    without RTT.
    """
    if path.rtt_s is None:
        return math.inf
    window = BITS_PER_BYTE * (path.buffer_bytes or DEFAULT_BUFFER_BYTES) / path.rtt_s
    if not path.loss_rate:
        return window
    return min(window, MATHIS_CONSTANT * BITS_PER_BYTE * MSS_BYTES / (path.rtt_s * math.sqrt(path.loss_rate)))


def predict_throughput_bps(path: Path, dataset: DataSet, parameters: Parameters, load: float = 0.0) -> float:
    """Return the prior mean of the throughput of ``dataset`` at ``parameters`` under external load 0 ≤ ℓ < 1, bit/s.

    Raises
    ------
    InvalidValue : neither bandwidth nor RTT of the path is known, so that nothing bounds the rate.
    """
    return build_throughput_model(path, dataset, load)(parameters)


def build_throughput_model(path: Path, dataset: DataSet, load: float = 0.0) -> Callable[[Parameters], float]:
    """Return the prior throughput as a function of the setting; what does not depend on the setting is computed
    once.
    """
    pipe = (path.bandwidth_bps or math.inf) * (1 - load)
    stream = min(compute_stream_rate_bps(path), pipe)
    if not math.isfinite(stream):
        raise InvalidValue("path", "nothing is known of it: give bandwidth_bps, or rtt_s, or both")
    file_count, rtt_s = dataset.file_count, path.rtt_s or 0.0
    file_bits = BITS_PER_BYTE * max(dataset.mean_file_bytes, 1.0)

    def predict_at(parameters: Parameters) -> float:
        files = min(parameters.concurrency or 1, file_count)
        file_bps = (parameters.parallelism or 1) * stream
        file_s = file_bits / min(file_bps, pipe) + rtt_s / (parameters.pipelining or 1)
        return min(pipe, files * file_bps, files * file_bits / file_s)

    return predict_at


def list_permitted_settings(caps: Caps = NO_CAPS) -> Iterable[Parameters]:
    """Yield the prior's lattice of settings within ``caps``."""
    return (setting for setting in _SETTINGS if caps.allow(setting))


def build_table(path: Path, dataset: DataSet, caps: Caps = NO_CAPS, load: float = 0.0) -> SettingTable:
    """Return the prior as a table: every permitted setting with its prior mean and spread; power is unknown.

    Nothing in it is certified, so no SLA is promised on it.
    """
    expected_bps = build_throughput_model(path, dataset, load)
    return SettingTable(
        settings=tuple(
            PredictedSetting(
                parameters=setting,
                log_throughput_mean=math.log(expected_bps(setting) * (1 - STREAM_COST * math.log2(setting.streams))),
                log_throughput_sd=PRIOR_LOG_SD,
                certified=False,
            )
            for setting in list_permitted_settings(caps)
        )
    )

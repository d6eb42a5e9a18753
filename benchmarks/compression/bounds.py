"""Decide which settings have to be transferred: all except those that are proved unable to be the best.

A transfer over a path of rate C takes no less than each of three times: all processors of the sender for their work
(T.C), the path for the bytes of the stream (T.X), one processor of the receiver for unpacking it (T.D). The bytes are
those that are really sent, so that T.X is exact; the others were measured, and are trusted to `TRUST`. A setting whose
lower bound is no shorter than the measured time of another setting cannot be the best.

The rest is transferred, the most promising first, until nothing is left that could be better by `MARGIN`. Regret is
relative to the best transfer, or to the lower bound of what was left out where that is shorter: it is never smaller
than against every candidate.
"""

from collections.abc import Mapping

from benchmarks.compression.packing import PackedStream
from benchmarks.compression.slow_path import LONGEST_BURST_S
from tradewind.compression.codecs import CodecSetting

TRUST = 0.8
"""Share of a measured processor time: load on the neighbour of a core, and its clock, slow packing by as much.

Each transfer that is quicker than its bound is counted, see `count_broken`.
"""

MARGIN = 0.01
"""Share of the best time. With 0, all settings would have to be transferred where none packs the content."""


def compute_lower_bound_s(made: PackedStream, mb_per_s: float, cores: int) -> float:
    """Return max(T.C, T.X, T.D), the least time of a transfer, s. ``cores`` : of the sender."""
    send_s = made.stream_bytes / (1e6 * mb_per_s) - LONGEST_BURST_S
    return max(TRUST * made.pack_cpu_s / cores, send_s, TRUST * made.unpack_cpu_s)


def pick_contenders(least: Mapping[CodecSetting, float], took_s: Mapping[str, float], most: int) -> list[CodecSetting]:
    """Return settings that might still be the best, the most promising first.

    Parameters
    ----------
    least : of all settings. ``took_s`` : of those that were transferred, and of the raw transfer. ``most`` : at once.
    """
    best_possible_s = min(took_s.values())
    open_ = [
        setting
        for setting, lower_bound_s in least.items()
        if str(setting) not in took_s and lower_bound_s < (1 - MARGIN) * best_possible_s
    ]
    return sorted(open_, key=lambda setting: least[setting])[:most]


def compute_best_possible_s(least: Mapping[CodecSetting, float], took_s: Mapping[str, float]) -> float:
    """Return what the best of all settings takes, or less, s."""
    return min(
        *took_s.values(), *(lower_bound_s for setting, lower_bound_s in least.items() if str(setting) not in took_s)
    )


def count_broken(least: Mapping[CodecSetting, float], took_s: Mapping[str, float]) -> int:
    """Count settings that were quicker than their bound: then the bounds are wrong, and what they ruled out is not
    proved.
    """
    return sum(took_s.get(str(setting), lower_bound_s) < lower_bound_s for setting, lower_bound_s in least.items())

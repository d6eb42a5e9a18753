"""Which settings have to be transferred: all but those that are proved unable to be the best.

A transfer over a path of rate C takes no less than each of three times: all processors of the sender for what its
processors do (T.C), the path for the bytes of the stream (T.X), one processor of the receiver for unpacking it (T.D).
The bytes are those that are really sent, so that T.X holds exactly; the others were measured, and are trusted to
`TRUST`. A setting whose least time is no shorter than what another setting really took cannot be the best.

What remains is transferred, the most promising first, until nothing is left that could be better by `MARGIN`. Regret is
then told against the best transfer, or against the least time of what was left out where that is shorter: it is never
told smaller than against every candidate.
"""

from collections.abc import Mapping

from benchmarks.compression.packing import Made
from benchmarks.compression.slow_path import LONGEST_BURST_S
from tradewind.compression.codecs import CodecSetting

TRUST = 0.8
"""Of a measured time of processors: neighbours of a core, and its clock, slow packing by as much. Each transfer that is
quicker than its bound is counted, see `broken`."""

MARGIN = 0.01
"""Of the best time. Without any, all settings would have to be transferred where none packs the content."""


def least_s(made: Made, mb_per_s: float, cores: int) -> float:
    """max(T.C, T.X, T.D): what a transfer takes at least, s. ``cores`` : of the sender."""
    send_s = made.stream_bytes / (1e6 * mb_per_s) - LONGEST_BURST_S
    return max(TRUST * made.pack_cpu_s / cores, send_s, TRUST * made.unpack_cpu_s)


def contenders(least: Mapping[CodecSetting, float], took_s: Mapping[str, float], most: int) -> list[CodecSetting]:
    """Settings that might yet be the best, the most promising first.

    Parameters
    ----------
    least : of all settings. ``took_s`` : of those that were transferred, and of the raw transfer. ``most`` : at once.
    """
    best_s = min(took_s.values())
    open_ = [each for each, least_s in least.items() if str(each) not in took_s and least_s < (1 - MARGIN) * best_s]
    return sorted(open_, key=lambda each: least[each])[:most]


def best_s(least: Mapping[CodecSetting, float], took_s: Mapping[str, float]) -> float:
    """What the best of all settings takes, or less."""
    return min(*took_s.values(), *(least_s for each, least_s in least.items() if str(each) not in took_s))


def broken(least: Mapping[CodecSetting, float], took_s: Mapping[str, float]) -> int:
    """Settings that were quicker than they can be: the bounds are wrong then, and what they ruled out is not proved."""
    return sum(took_s.get(str(each), least_s) < least_s for each, least_s in least.items())

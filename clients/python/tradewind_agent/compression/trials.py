"""What settings make of a sample here, and which of them are worth finding out before a transfer."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tradewind.compression.advice import CodecAdvice, CompressionQuery, advise
from tradewind.compression.codecs import Codec, CodecSetting, list_candidate_settings
from tradewind.compression.contest import advise_by_trial
from tradewind.compression.history import CodecObservation
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.planning import make_case
from tradewind_agent.compression.sampling import FileSample, measure_setting

if TYPE_CHECKING:
    from tradewind.compression.history import History

TRIAL_SHARE = 0.02
"""Of the time that files are promised to take, which is spent on trials before they begin."""


Clock = Callable[[], float]


def try_setting(setting: CodecSetting, sample: FileSample, clock_s: Clock = time.perf_counter) -> Speeds:
    """Return what a setting makes of a sample that was taken here, on all cores that it uses.

    The ratio is that of the blocks, as far as all that was looked at packs as they do.
    """
    speeds = measure_setting(sample.blocks, setting, clock_s, repeats=1)
    return Speeds(
        speeds.ratio * sample.beyond_blocks,
        speeds.compress_bps * make_case(sample).count_cores(setting),
        speeds.decompress_bps,
    )


def try_worthwhile_settings(
    sample: FileSample,
    total_bytes: int,
    line_bps: float,
    codecs: frozenset[Codec],
    *,
    history: "History | None" = None,
    clock_s: Clock = time.perf_counter,
) -> Mapping[CodecSetting, Speeds]:
    """Try the most promising settings on a sample of similar files, within `TRIAL_SHARE` of their time.

    Parameters
    ----------
    total_bytes : of all these files. ``line_bps`` : what their path is thought to carry. ``codecs`` : of both ends.
    history : measurements that show which may be the best, in place of the packaged measurements.
    """
    from tradewind.compression.prior import load_packaged_history  # noqa: PLC0415 -- loaded when needed

    known = history or load_packaged_history()
    case = make_case(sample)
    question = CompressionQuery(case=case, line=NetworkLine(line_bps), settings=list_candidate_settings(codecs))
    found: dict[CodecSetting, Speeds] = {}
    spent_s = 0.0

    def advise_measured(measured: Mapping[CodecSetting, Speeds]) -> CodecAdvice:
        samples = [CodecObservation(case=case, setting=setting, speeds=speeds) for setting, speeds in measured.items()]
        return advise(replace(question, samples=samples), known)

    def is_soon_tried(advice: CodecAdvice, setting: CodecSetting) -> bool:
        promised_s = BITS_PER_BYTE * total_bytes / advice.best.throughput_bps.mean
        expected = next(each.speeds for each in advice.options if each.setting == setting)
        assert expected is not None
        return spent_s + _estimate_trial_s(sample, expected, case.count_cores(setting)) <= TRIAL_SHARE * promised_s

    def measure_speeds(setting: CodecSetting) -> Speeds:
        nonlocal spent_s
        started_s = clock_s()
        found[setting] = try_setting(setting, sample, clock_s)
        spent_s += clock_s() - started_s
        return found[setting]

    advise_by_trial(advise_measured, measure_speeds, is_soon_tried)
    return found


def _estimate_trial_s(sample: FileSample, expected: Speeds, cores: int) -> float:
    """Return how long a sample is packed and unpacked for, on the one core that it needs."""
    bits = BITS_PER_BYTE * sum(map(len, sample.blocks))
    return bits * cores / expected.compress_bps + bits / expected.decompress_bps

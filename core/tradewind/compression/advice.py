"""Which codec, level and mode a file should be sent with, if any."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.content import INCOMPRESSIBLE_RATIO, Content
from tradewind.compression.history import CodecObservation, CompressionCase, ExpectedSpeeds, History
from tradewind.compression.model import (
    Mode,
    NetworkLine,
    Speeds,
    compute_duration_s,
    compute_raw_s,
    compute_stage_times,
)
from tradewind.units import BITS_PER_BYTE, format_bps

CAUTION_SD = 0.5
"""Standard deviations by which ratio and speeds are taken below (above) expectation, for the band of the answer."""

MIN_GAIN = 0.02
"""Packing is advised only above this gain in throughput over sending raw: noise hides a smaller one."""

DEFAULT_LINE_BPS = 50e6
"""Assumed rate of an unknown path until the first blocks measure it. A choice based on too low a rate can be corrected
during the transfer; with too high a rate nothing would be packed, so nothing would be corrected."""

DEFAULT_CPU_W, DEFAULT_NETWORK_W = 10.0, 2.0
"""Assumed power of a core that packs and of a network that sends, W; for comparisons where none is known."""


class Objective(StrEnum):
    MAX_THROUGHPUT = "max_throughput"
    MIN_ENERGY = "min_energy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionQuery:
    """What advice is requested for.

    ``sampled`` : whether the case's probe is of a sample of the file, not the usual one of its kind.
    ``content`` : of the sampled file, where it was sampled.
    ``samples`` : what settings made of that sample. ``settings`` : that both ends can do.
    ``packing_setup_s`` : what a packed transfer costs in addition to the line's set-up, s.
    ``raw_bps`` : what files reach that are sent as they are, where they go another way than packed ones.
    ``cpu_w``, ``network_w`` : power above idle of each core that packs or unpacks, and of the network while it sends.
    """

    case: CompressionCase
    line: NetworkLine
    settings: Sequence[CodecSetting]
    packing_setup_s: float = 0.0
    raw_bps: float | None = None
    sampled: bool = True
    content: Content | None = None
    samples: Sequence[CodecObservation] = ()
    objective: Objective = Objective.MAX_THROUGHPUT
    modes: Sequence[Mode] = (Mode.PIPED,)
    cpu_w: float = DEFAULT_CPU_W
    network_w: float = DEFAULT_NETWORK_W


class Band(NamedTuple):
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionOption:
    """One way to send the file and its expected result; ``energy_j`` is modelled, above idle, for both ends.

    ``speeds`` : what the setting is expected to make of the content; ``None`` of the raw one.
    """

    mode: Mode
    setting: CodecSetting | None
    speeds: Speeds | None
    ratio: float
    duration_s: float
    throughput_bps: Band
    energy_j: float
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecAdvice:
    """The best option and all others, best first."""

    best: CompressionOption
    options: tuple[CompressionOption, ...]
    incompressible: bool
    rationale: str


def discount_assumed_rate(predicted_bps: float, *, path_is_known: bool) -> float:
    """Return the rate to assume of a recommended setting; a prediction for an assumed path promises too much."""
    return predicted_bps if path_is_known else min(predicted_bps, DEFAULT_LINE_BPS)


def advise(question: CompressionQuery, history: History) -> CodecAdvice:
    """Return the options ranked by the lower bound of throughput, or by energy."""
    raw = _build_raw_option(question)
    incompressible = _is_incompressible(question)
    options = [raw]
    if not incompressible:
        for setting in question.settings:
            expected = history.predict_speeds(setting, question.case, question.samples)
            if expected is not None:
                options += [_build_option(question, setting, expected, mode) for mode in question.modes]
    ranked = sorted(options, key=_choose_merit(question.objective))
    best = raw if _is_taken_not_to_pack(question) else ranked[0]
    if question.objective is Objective.MAX_THROUGHPUT and best is not raw:
        gain = best.throughput_bps.mean / raw.throughput_bps.mean - 1
        best = best if gain >= MIN_GAIN else raw
    ordered = (best, *(option for option in ranked if option is not best))
    return CodecAdvice(
        best=best,
        options=ordered,
        incompressible=incompressible,
        rationale=_explain_raw(question, options, incompressible=incompressible)
        if best is raw
        else _explain_choice(best, raw, question),
    )


def _is_incompressible(question: CompressionQuery) -> bool:
    """Return whether a sample hardly packed; without a packed sample, whether its bytes look random."""
    if question.sampled:
        return question.case.probe.ratio < INCOMPRESSIBLE_RATIO
    return question.content is not None and question.content.looks_random


def _is_taken_not_to_pack(question: CompressionQuery) -> bool:
    """Return whether content of this kind is assumed not to pack and no sample says otherwise."""
    return not question.sampled and question.case.probe.ratio < INCOMPRESSIBLE_RATIO


def _build_raw_option(question: CompressionQuery) -> CompressionOption:
    file_bytes, line = question.case.file_bytes, question.line
    took_s = (
        compute_raw_s(file_bytes, line) if question.raw_bps is None else BITS_PER_BYTE * file_bytes / question.raw_bps
    )
    rate_bps = BITS_PER_BYTE * file_bytes / took_s
    return CompressionOption(
        mode=Mode.RAW,
        setting=None,
        speeds=None,
        ratio=1.0,
        duration_s=took_s,
        throughput_bps=Band(rate_bps, rate_bps, rate_bps),
        energy_j=question.network_w * took_s,
        weight=math.inf,
    )


def _build_option(
    question: CompressionQuery, setting: CodecSetting, expected: ExpectedSpeeds, mode: Mode
) -> CompressionOption:
    file_bytes = question.case.file_bytes
    line = NetworkLine(question.line.rate_bps, question.line.setup_s + question.packing_setup_s)
    means = expected.speeds
    low, mean, high = (
        BITS_PER_BYTE * file_bytes / compute_duration_s(mode, file_bytes, line, _shift_speeds(expected, sds))
        for sds in (-CAUTION_SD, 0.0, CAUTION_SD)
    )
    took_s = compute_duration_s(mode, file_bytes, line, means)
    stages = compute_stage_times(file_bytes, line, means)
    sending_s = line.setup_s + stages.send_s if mode is Mode.SEQUENTIAL else took_s
    core_s = stages.compress_s * question.case.count_cores(setting) + stages.decompress_s
    return CompressionOption(
        mode=mode,
        setting=setting,
        speeds=means,
        ratio=means.ratio,
        duration_s=took_s,
        throughput_bps=Band(mean, low, high),
        energy_j=question.cpu_w * core_s + question.network_w * sending_s,
        weight=expected.weight,
    )


def _shift_speeds(expected: ExpectedSpeeds, sds: float) -> Speeds:
    """Return the expected ratio and speeds, all of them ``sds`` standard deviations better."""
    return Speeds(*(mean * math.exp(sds * sd) for mean, sd in zip(expected.speeds, expected.log_sd, strict=True)))


def _choose_merit(objective: Objective) -> Callable[[CompressionOption], float]:
    if objective is Objective.MIN_ENERGY:
        return lambda option: option.energy_j
    return lambda option: -option.throughput_bps.low


def _explain_raw(question: CompressionQuery, options: Sequence[CompressionOption], *, incompressible: bool) -> str:
    if incompressible:
        return ("a sample hardly packs" if question.sampled else "its bytes look random") + ": sent as it is"
    if len(options) == 1:
        return "nothing is known of any codec that both ends have: sent as it is"
    if _is_taken_not_to_pack(question):
        return f"not sampled, and {question.case.kind} content is taken not to pack: sent as it is"
    better = "to take less energy" if question.objective is Objective.MIN_ENERGY else "to be faster on this path"
    return f"no codec is expected {better}: sent as it is"


def _explain_choice(best: CompressionOption, raw: CompressionOption, question: CompressionQuery) -> str:
    packs = f"{best.setting} {best.mode}: packs {best.ratio:.1f} to 1"
    if question.objective is Objective.MIN_ENERGY:
        return f"{packs}, takes {best.energy_j:.3g} J above idle, sent raw {raw.energy_j:.3g} J (modelled)"
    gain = best.throughput_bps.mean / raw.throughput_bps.mean
    return f"{packs}, expects {format_bps(best.throughput_bps.mean)}, {gain:.1f} times sending it raw"

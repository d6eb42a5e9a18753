"""What codecs achieved on content so far, and what to expect of them now.

Everything is relative to a probe, gzip -1 on a sample of the same content on the same machine. That removes most of the
difference between machines and contents, so that a history of other machines and other files predicts an unknown one.

Notation: x = (log CR/CR.probe, log Th.C/Th.C.probe, log Th.D/Th.D.probe), natural logarithms.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from tradewind.compression.codecs import CODEC_LEVELS, CodecSetting
from tradewind.compression.content import compute_ratio_bin, find_size_bin
from tradewind.compression.model import Speeds
from tradewind.errors import InvalidValue

MEMORY = 20
"""Observations after which an older one counts for a third: machines and their load change."""

PARENT_WEIGHT = 2.0
"""Observations that the parent's mean stands for, in addition to a key's own."""

SIMILARITY = 0.5
"""Weight factor of an observation for every key, from the most special one on, that it does not share with a case. An
assumption."""

MAX_CORES = 4096
"""Most cores that a CPU class may state: the number is multiplied into speeds."""

MIN_LOG_SD = 0.03
"""Least sd: repeats of one file on one host differ by as much. An assumption."""

SD_WITHOUT_HISTORY = 0.35
"""Spread of one observation about a mean of others: of files of one kind, and of those of any kind."""

Logs = tuple[float, float, float]

SAMPLE_LOG_SD: Logs = (0.05, 0.25, 0.25)
"""Spread of what a setting makes of a sample about what it makes of the entire file: the benchmark's files have 0.045
in the ratio; speeds of a few milliseconds have a quarter, and outliers beyond."""

SIBLING_LOG_SD = 0.1
"""Spread, between two levels of a codec, of how far a ratio is off what history expects: content that suits one suits
all. On 22 files of the squash benchmark, each against the others: 0.07, where one level is off by 0.19 itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionCase:
    """What is to be packed, and where.

    ``probe`` : what gzip -1 makes of a sample. ``cpu_class`` : ``architecture/model/cores`` of the packing end, or any
    name of it where the number of its cores is not known.
    """

    file_bytes: int
    kind: str
    cpu_class: str
    probe: Speeds

    @property
    def cores(self) -> int:
        """Return the cores of the packing end; 1 where that is not known."""
        return min(max(parse_core_count(self.cpu_class), 1), MAX_CORES)

    def count_cores(self, setting: CodecSetting) -> int:
        """Return the cores that pack concurrently."""
        return self.cores if CODEC_LEVELS[setting.codec].is_parallel else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecObservation:
    """What a codec achieved on a file, or on a sample of it."""

    case: CompressionCase
    setting: CodecSetting
    speeds: Speeds

    def __post_init__(self) -> None:
        for value in (*self.case.probe, *self.speeds):
            if not (value > 0 and math.isfinite(value)):
                raise InvalidValue("observation", "ratios and speeds must be above 0 and finite")

    @property
    def relative(self) -> Logs:
        """Return x, with the packing speed of one core."""
        ratio, compress, decompress = (
            math.log(mine / its) for mine, its in zip(self.speeds, self.case.probe, strict=True)
        )
        return ratio, compress - math.log(self.case.count_cores(self.setting)), decompress


class Estimate(NamedTuple):
    """Exponential mean and variance of x over so many ``observations``."""

    observations: int = 0
    mean: Logs = (0.0, 0.0, 0.0)
    variance: Logs = (0.0, 0.0, 0.0)

    def update(self, x: Logs) -> "Estimate":
        """Return the estimate with one more observation; the first ``MEMORY`` have equal weight."""
        gain = 1 / min(self.observations + 1, MEMORY)
        return Estimate(
            self.observations + 1,
            _combine_each(lambda m, v: m + gain * (v - m), self.mean, x),
            _combine_each(
                lambda s, d: (1 - gain) * (s + gain * d * d),
                self.variance,
                _combine_each(lambda m, v: v - m, self.mean, x),
            ),
        )


class WeightedEstimate(NamedTuple):
    """Mean and variance of x for a case, from observations that count as ``weight`` of that very case."""

    weight: float = 0.0
    mean: Logs = (0.0, 0.0, 0.0)
    variance: Logs = (0.0, 0.0, 0.0)

    def combine_with(self, own: Estimate, likeness: float) -> "WeightedEstimate":
        """Combine with the estimate of a more special key; each of its observations counts ``likeness`` more."""
        weight = self.weight + likeness * own.observations
        if not self.weight:
            return WeightedEstimate(weight, own.mean, own.variance)
        few = min(own.observations, MEMORY)
        share = few / (few + PARENT_WEIGHT)
        off = _combine_each(float.__sub__, own.mean, self.mean)
        around = _combine_each(lambda v, d: v + share * d * d, self.variance, off)
        return WeightedEstimate(
            weight,
            _combine_each(lambda its, d: its + share * d, self.mean, off),
            _combine_each(lambda its, mine: share * mine + (1 - share) * its, around, own.variance),
        )


class ExpectedSpeeds(NamedTuple):
    """Expected ratio and speeds of a setting for a case; ``log_sd`` of each value; ``weight`` of the estimate."""

    speeds: Speeds
    log_sd: Logs
    weight: float


Key = tuple[object, ...]

_LEVELS = 6
_SHARED = tuple(SIMILARITY ** (_LEVELS - 1 - level) for level in range(_LEVELS))
_LIKENESSES = tuple(shared - less for less, shared in pairwise((0.0, *_SHARED)))
"""By level of key, what each adds to what an observation counts for: one that shares them all counts for 1."""


@dataclass(frozen=True, slots=True)
class History:
    """Estimates by key, each a part of its parent's: setting, architecture, size, compressibility, kind, machine."""

    _estimates: Mapping[Key, Estimate] = field(default_factory=dict)

    @classmethod
    def of(cls, observations: Iterable[CodecObservation]) -> "History":
        """Build a history from observations in order of time: the last counts most."""
        return cls().extend(observations)

    def extend(self, observations: Iterable[CodecObservation]) -> "History":
        """Return the history with later observations added."""
        estimates = dict(self._estimates)
        for observation in observations:
            x = observation.relative
            for key in _list_keys(observation.setting, observation.case):
                estimates[key] = estimates.get(key, Estimate()).update(x)
        return History(estimates)

    def predict_speeds(
        self, setting: CodecSetting, case: CompressionCase, samples: Sequence[CodecObservation] = ()
    ) -> ExpectedSpeeds | None:
        """Return what to expect of a setting; ``None`` where nothing is known of it.

        Parameters
        ----------
        samples : what settings made of the same sample as the probe: weighed against history by their variances, as is
            what other levels of the codec tell of its ratio.
        """
        found = self._estimate(setting, case)
        from_sample = self._estimate_from_samples(setting, found, samples)
        if not found.weight and from_sample is None:
            return None
        doubt = SD_WITHOUT_HISTORY**2 / (1 + found.weight) if found.weight else math.inf
        mean, variance = (
            found.mean,
            _combine_each(lambda v, _: max(v, MIN_LOG_SD**2) + doubt, found.variance, found.mean),
        )
        if from_sample is not None:
            x, spread = from_sample
            variance = _combine_each(lambda v, sd: 1 / (1 / v + 1 / sd**2), variance, spread)
            gain = _combine_each(lambda v, sd: v / sd**2, variance, spread)
            mean = _combine_each(
                float.__add__, mean, _combine_each(float.__mul__, gain, _combine_each(float.__sub__, x, mean))
            )
        ratio, compress, decompress = (math.exp(log) * its for log, its in zip(mean, case.probe, strict=True))
        speeds = Speeds(ratio, compress * case.count_cores(setting), decompress)
        sd = _combine_each(lambda v, _: max(math.sqrt(v), MIN_LOG_SD), variance, mean)
        return ExpectedSpeeds(speeds, sd, found.weight + (from_sample is not None))

    def _estimate_from_samples(
        self, setting: CodecSetting, found: WeightedEstimate, samples: Sequence[CodecObservation]
    ) -> tuple[Logs, Logs] | None:
        """Return what the sample shows of the setting, or else of other levels of its codec, and its spread."""
        for sample in samples:
            if sample.setting == setting:
                return sample.relative, SAMPLE_LOG_SD
        siblings = [sample for sample in samples if sample.setting.codec == setting.codec]
        known = [(sample, self._estimate(sample.setting, sample.case)) for sample in siblings]
        off = [sample.relative[0] - its.mean[0] for sample, its in known if its.weight]
        if not off or not found.weight:
            return None
        # Between two levels each has half of the variance: that of the levels tried averages out, this one's does not.
        ratio_sd = SIBLING_LOG_SD * math.sqrt((1 + 1 / len(off)) / 2)
        return (found.mean[0] + fmean(off), *found.mean[1:]), (ratio_sd, math.inf, math.inf)

    def _estimate(self, setting: CodecSetting, case: CompressionCase) -> WeightedEstimate:
        """Estimate from all known keys, from the broadest on; of weight 0 where none is known."""
        found = WeightedEstimate()
        for key, likeness in zip(_list_keys(setting, case), _LIKENESSES, strict=True):
            own = self._estimates.get(key)
            if own is not None:
                found = found.combine_with(own, likeness)
        return found


NO_HISTORY = History()


def parse_core_count(cpu_class: str) -> int:
    """Return the cores in a CPU class of the form ``architecture/model/cores``; 1 for any other name."""
    match cpu_class.split("/"):
        case [_, _, cores] if cores.isdecimal():
            return int(cores)
    return 1


def _list_keys(setting: CodecSetting, case: CompressionCase) -> Iterator[Key]:
    """Yield the keys from the broadest to the most special."""
    architecture = case.cpu_class.partition("/")[0]
    key: Key = (setting,)
    for part in (
        None,
        architecture,
        find_size_bin(case.file_bytes),
        compute_ratio_bin(case.probe.ratio),
        case.kind,
        case.cpu_class,
    ):
        if part is not None:
            key = (*key, part)
        yield key


def _combine_each(combine: Callable[[float, float], float], first: Logs, second: Logs) -> Logs:
    ratio, compress, decompress = (combine(a, b) for a, b in zip(first, second, strict=True))
    return ratio, compress, decompress

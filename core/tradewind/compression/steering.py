"""Which setting the next block is packed with, as the path and the content change on the way.

A pure step for each block. What a block came to corrects the expectations of all settings alike: content that packs
worse than its sample does so with every codec, and a machine that is busy with other work is slow for all. Ratios are
corrected by an exponent, ratio^e: of content without order e is 0, and every codec leaves it as it is. The rate of the
path is what left the sender while it had something to send.

While blocks go as they are, a little of each is packed to look whether the content has changed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.model import Speeds

GAIN = 0.3
"""Weight of the newest block in what is believed."""

HYSTERESIS = 0.1
"""Gain in throughput that another setting must promise: below, changing back and forth would cost more."""

MIN_GAIN = 0.02
"""Over sending raw, below which packing is not worth the processor's time."""

SURPRISE = 2.0
"""A path that is faster or slower by this factor than believed is believed at once."""

HEADROOM = 2.0
"""What a path that waits for the packing may carry, of what goes over it then."""

MAX_RISE = 1.3
"""Of what is believed of such a path, with each block: how much more it carries will be seen."""

INFORMATIVE_RATIO = 1.05
"""A setting that is expected to pack less tells nothing of the content."""

MAX_EXPONENT = 3.0
"""Of a ratio that was expected, to tell the one that is: a bound against a single odd block. An assumption."""

OTHER_CONTENT = 0.5
"""An exponent that is off by more is that of other content, and is believed at once."""


class PackedBlock(NamedTuple):
    """What a block came to; ``setting`` : that it, or a little of it, was tried with, whatever was sent then.

    ``compress_bps`` : plain bits a second of all cores that pack; ``line_bps`` : ``None`` where it was not seen.
    ``idle_at_bps`` : what went over a path that was hardly waited for; ``None`` where it was.
    """

    setting: CodecSetting | None
    ratio: float
    compress_bps: float | None
    line_bps: float | None
    idle_at_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """``expected`` : what each setting makes of this content; ``setting`` : in force, ``None`` sends raw."""

    expected: Mapping[CodecSetting, Speeds]
    line_bps: float | None
    setting: CodecSetting | None
    ratio_exponent: float = 1.0
    speed_factor: float = 1.0

    def update(self, block: PackedBlock) -> "Steering":
        """After a block, with the setting for the next one."""
        line_bps = _risen(_believed(self.line_bps, block.line_bps), block.idle_at_bps)
        learned = replace(self, line_bps=line_bps)
        its = None if block.setting is None else self.expected.get(block.setting)
        if its is not None:
            if its.ratio > INFORMATIVE_RATIO:
                exponent = min(max(math.log(block.ratio), 0.0) / math.log(its.ratio), MAX_EXPONENT)
                learned = replace(learned, ratio_exponent=_turned(self.ratio_exponent, exponent))
            if block.compress_bps is not None:
                factor = _drawn(self.speed_factor, block.compress_bps / its.compress_bps)
                learned = replace(learned, speed_factor=factor)
        return replace(learned, setting=learned.best())

    def best(self) -> CodecSetting | None:
        """The setting with the highest throughput, or the one in force where none is better by enough."""
        if self.line_bps is None:
            return self.setting
        best: CodecSetting | None = None
        best_bps = raw_bps = (1 + MIN_GAIN) * self.line_bps
        for setting in self.expected:
            bps = self.throughput_bps(setting)
            if bps > best_bps:
                best, best_bps = setting, bps
        if self.throughput_bps(self.setting) <= raw_bps:
            return best  # packing for nothing: there is nothing to lose by leaving it
        return best if best_bps > (1 + HYSTERESIS) * self.throughput_bps(self.setting) else self.setting

    @property
    def trial(self) -> CodecSetting | None:
        """The quickest of those that tell whether content packs; ``None`` where none does."""
        telling = [setting for setting, its in self.expected.items() if its.ratio > INFORMATIVE_RATIO]
        return max(telling, key=lambda setting: self.expected[setting].compress_bps, default=None)

    def throughput_bps(self, setting: CodecSetting | None) -> float:
        """Plain bits a second in a full pipe: those of its slowest stage."""
        line_bps = self.line_bps or 0.0
        if setting is None or setting not in self.expected:
            return line_bps
        its = self.expected[setting]
        ratio = math.exp(self.ratio_exponent * math.log(max(its.ratio, 1.0)))
        return min(ratio * line_bps, its.compress_bps * self.speed_factor, its.decompress_bps)


def _drawn(old: float, new: float) -> float:
    return old + GAIN * (new - old)


def _turned(old: float, new: float) -> float:
    return new if abs(new - old) > OTHER_CONTENT else _drawn(old, new)


def _risen(believed_bps: float | None, idle_at_bps: float | None) -> float | None:
    """A path faster than it is thought to be shows itself by being idle alone, as long as slow settings feed it."""
    if believed_bps is None or idle_at_bps is None:
        return believed_bps
    return max(believed_bps, min(MAX_RISE * believed_bps, HEADROOM * idle_at_bps))


def _believed(old: float | None, new: float | None) -> float | None:
    if new is None or old is None:
        return old if new is None else new
    return new if not 1 / SURPRISE < new / old < SURPRISE else _drawn(old, new)

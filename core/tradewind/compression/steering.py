"""Which setting packs the next block, as path and content change during the transfer.

One pure step for each block. The result of a block corrects the expectations of all settings: content that packs worse
than its sample does so with every codec, and a busy machine is slow for all. Ratios are corrected by an exponent,
ratio^e: for random content e is 0, and no codec shrinks it. The rate of the path is what left the sender while it had
data to send.

While blocks are sent raw, a little of each is packed to detect changes of the content.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.model import Speeds

GAIN = 0.3
"""Weight of the newest block in the estimates."""

HYSTERESIS = 0.1
"""Gain in throughput that another setting must promise: below it, switching back and forth would cost more."""

MIN_GAIN = 0.02
"""Gain over sending raw below which packing is not worth the processor's time."""

SURPRISE = 2.0
"""A path that is faster or slower than estimated by this factor is accepted at once."""

HEADROOM = 2.0
"""Rate that a path which waits for packing may carry, as a multiple of what it carries then."""

MAX_RISE = 1.3
"""Growth of that path's estimate with each block; the true rate shows as it grows."""

INFORMATIVE_RATIO = 1.05
"""A setting with a lower expected ratio says nothing about the content."""

MAX_EXPONENT = 3.0
"""Bound of the exponent against a single odd block. An assumption."""

OTHER_CONTENT = 0.5
"""An exponent that differs by more belongs to other content, and is accepted at once."""


class PackedBlock(NamedTuple):
    """The result of a block; ``setting`` : the one that it, or a little of it, was packed with, even if it was sent
    raw.

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
    """State of the choice. ``expected`` : ratio and speeds of each setting; ``setting`` : the current one, ``None``
    sends raw.
    """

    expected: Mapping[CodecSetting, Speeds]
    line_bps: float | None
    setting: CodecSetting | None
    ratio_exponent: float = 1.0
    speed_factor: float = 1.0

    def update(self, block: PackedBlock) -> "Steering":
        """Return the state after a block, with the setting for the next one."""
        line_bps = _raise_rate(_update_rate(self.line_bps, block.line_bps), block.idle_at_bps)
        learned = replace(self, line_bps=line_bps)
        its = None if block.setting is None else self.expected.get(block.setting)
        if its is not None:
            if its.ratio > INFORMATIVE_RATIO:
                exponent = min(max(math.log(block.ratio), 0.0) / math.log(its.ratio), MAX_EXPONENT)
                learned = replace(learned, ratio_exponent=_update_exponent(self.ratio_exponent, exponent))
            if block.compress_bps is not None:
                factor = _blend(self.speed_factor, block.compress_bps / its.compress_bps)
                learned = replace(learned, speed_factor=factor)
        return replace(learned, setting=learned.choose_setting())

    def choose_setting(self) -> CodecSetting | None:
        """Return the setting with the highest throughput, or the current one where none is sufficiently better."""
        if self.line_bps is None:
            return self.setting
        best: CodecSetting | None = None
        best_bps = raw_bps = (1 + MIN_GAIN) * self.line_bps
        for setting in self.expected:
            bps = self.predict_throughput_bps(setting)
            if bps > best_bps:
                best, best_bps = setting, bps
        if self.predict_throughput_bps(self.setting) <= raw_bps:
            return best  # packing for nothing: there is nothing to lose by leaving it
        return best if best_bps > (1 + HYSTERESIS) * self.predict_throughput_bps(self.setting) else self.setting

    @property
    def trial(self) -> CodecSetting | None:
        """Return the fastest setting that shows whether content packs; ``None`` where none does."""
        informative = [setting for setting, its in self.expected.items() if its.ratio > INFORMATIVE_RATIO]
        return max(informative, key=lambda setting: self.expected[setting].compress_bps, default=None)

    def predict_throughput_bps(self, setting: CodecSetting | None) -> float:
        """Return the plain bits a second in a full pipe: those of its slowest stage."""
        line_bps = self.line_bps or 0.0
        if setting is None or setting not in self.expected:
            return line_bps
        its = self.expected[setting]
        ratio = math.exp(self.ratio_exponent * math.log(max(its.ratio, 1.0)))
        return min(ratio * line_bps, its.compress_bps * self.speed_factor, its.decompress_bps)


def _blend(old: float, new: float) -> float:
    return old + GAIN * (new - old)


def _update_exponent(old: float, new: float) -> float:
    return new if abs(new - old) > OTHER_CONTENT else _blend(old, new)


def _raise_rate(believed_bps: float | None, idle_at_bps: float | None) -> float | None:
    """Return a path faster than it is thought to be shows itself by being idle alone, as long as slow settings feed
    it.
    """
    if believed_bps is None or idle_at_bps is None:
        return believed_bps
    return max(believed_bps, min(MAX_RISE * believed_bps, HEADROOM * idle_at_bps))


def _update_rate(old: float | None, new: float | None) -> float | None:
    if new is None or old is None:
        return old if new is None else new
    return new if not 1 / SURPRISE < new / old < SURPRISE else _blend(old, new)

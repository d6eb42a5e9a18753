"""Advice on a file after its best options were tried on a sample.

History knows what a codec achieved on other content; it cannot decide which of two close settings packs this content
better. A sample of the file can, at the price of packing it with the few settings that lead, and with those that may
still prove better: history knows some settings less well than others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.model import Speeds

LEADERS = 3
"""Settings that are tried before the first is advised; also the most challengers that are tried at once."""

MAX_TRIALS = 8
"""After so many trials the best so far is advised."""


class Promise(Protocol):
    """Expected throughput, bit/s. A Protocol, because advice of the core and of the wire both have it."""

    @property
    def mean(self) -> float: ...
    @property
    def high(self) -> float: ...


class Way(Protocol):
    """One way to send the file; without a setting it is sent as it is."""

    @property
    def setting(self) -> CodecSetting | None: ...
    @property
    def throughput_bps(self) -> Promise: ...


class Ranked(Protocol):
    """Advice in either form, best option first; no option has a setting where packing is useless."""

    @property
    def best(self) -> Way: ...
    @property
    def options(self) -> Sequence[Way]: ...


AdviceT = TypeVar("AdviceT", bound=Ranked)


def try_every_setting(_advice: object, _setting: CodecSetting) -> bool:
    return True


def advise_by_trial(
    advised: Callable[[Mapping[CodecSetting, Speeds]], AdviceT],
    tried: Callable[[CodecSetting], Speeds],
    worth_it: Callable[[AdviceT, CodecSetting], bool] = try_every_setting,
    *,
    for_throughput: bool = True,
) -> AdviceT:
    """Return the advice that still holds once its best settings have been tried.

    Parameters
    ----------
    advised : what is advised by what settings made of the sample.
    tried : packs the sample. ``worth_it`` : whether to try one that is, or may be, ahead by that advice.
    for_throughput : whether that is what the advice is the best for, so that a promise of more of it may win.
    """
    made: dict[CodecSetting, Speeds] = {}
    while True:
        advice, before = advised(made), len(made)
        for settings in (find_leaders(advice), find_challengers(advice) if for_throughput else ()):
            for setting in settings:
                is_due = setting not in made and len(made) < min(before + LEADERS, MAX_TRIALS)
                if is_due and worth_it(advice, setting):
                    made[setting] = tried(setting)
            if len(made) > before:
                break
        else:
            return advice


def find_leaders(advice: Ranked) -> Sequence[CodecSetting]:
    """Return the leading settings, best first; one for all its modes."""
    leading = dict.fromkeys(option.setting for option in advice.options if option.setting is not None)
    return tuple(islice(leading, LEADERS))


def find_challengers(advice: Ranked) -> Iterator[CodecSetting]:
    """Yield the settings that may prove faster than the best is expected to be, the most promising first."""
    may = [option for option in advice.options if option.throughput_bps.high > advice.best.throughput_bps.mean]
    may.sort(key=lambda each: -each.throughput_bps.high)
    return (option.setting for option in may if option.setting is not None)

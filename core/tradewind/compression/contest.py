"""Advice on a file whose best options were tried on a sample of it.

History knows what a codec made of other content; which of two that are close packs this content better, it cannot
tell. A sample of the file can, at the price of packing it by each of the few that are ahead, and by those that may yet
turn out to be ahead: history knows some settings less well than others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from tradewind.compression.codecs import CodecSetting
from tradewind.compression.model import Speeds

LEADERS = 3
"""Settings that are tried before the first of them is advised, and at most at a time of those that may yet beat it."""

MAX_TRIALS = 8
"""After which the best so far has to do."""


class Promise(Protocol):
    """Of throughput, bit/s."""

    @property
    def mean(self) -> float: ...
    @property
    def high(self) -> float: ...


class Way(Protocol):
    """To send the file; without a setting as it is."""

    @property
    def setting(self) -> CodecSetting | None: ...
    @property
    def throughput_bps(self) -> Promise: ...


class Ranked(Protocol):
    """Advice of some form, its options the best first; there is none with a setting where packing is of no use."""

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
    """The advice that stands when its best settings have been tried.

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
    """The settings that are ahead, the best first; one for all its modes."""
    ahead = dict.fromkeys(each.setting for each in advice.options if each.setting is not None)
    return tuple(islice(ahead, LEADERS))


def find_challengers(advice: Ranked) -> Iterator[CodecSetting]:
    """Those that may turn out to be faster than the best is expected to be, the most hopeful first."""
    may = [each for each in advice.options if each.throughput_bps.high > advice.best.throughput_bps.mean]
    may.sort(key=lambda each: -each.throughput_bps.high)
    return (each.setting for each in may if each.setting is not None)

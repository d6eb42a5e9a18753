"""Advice on a file whose best options were tried on a sample of it.

History knows what a codec made of other content; which of two that are close packs this content better, it cannot
tell. A sample of the file can, at the price of packing it by each of the few that are ahead, and by those that may yet
turn out to be ahead: history knows some settings less well than others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from tradewind.compression.codecs import Setting
from tradewind.compression.model import Speeds

FINALISTS = 3
"""Settings that are tried before the first of them is advised, and at most at a time of those that may yet beat it."""

MOST_TRIED = 8
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
    def setting(self) -> Setting | None: ...
    @property
    def throughput_bps(self) -> Promise: ...


class Ranked(Protocol):
    """Advice of some form, its options the best first; there is none with a setting where packing is of no use."""

    @property
    def best(self) -> Way: ...
    @property
    def options(self) -> Sequence[Way]: ...


A = TypeVar("A", bound=Ranked)


def always(_advice: object, _setting: Setting) -> bool:
    return True


def contest(
    advised: Callable[[Mapping[Setting, Speeds]], A],
    tried: Callable[[Setting], Speeds],
    worth_it: Callable[[A, Setting], bool] = always,
    *,
    for_throughput: bool = True,
) -> A:
    """The advice that stands when its best settings have been tried.

    Parameters
    ----------
    advised : what is advised by what settings made of the sample.
    tried : packs the sample. ``worth_it`` : whether to try one that is, or may be, ahead by that advice.
    for_throughput : whether that is what the advice is the best for, so that a promise of more of it may win.
    """
    made: dict[Setting, Speeds] = {}
    while True:
        advice, before = advised(made), len(made)
        for settings in (finalists(advice), hopeful(advice) if for_throughput else ()):
            for setting in settings:
                is_due = setting not in made and len(made) < min(before + FINALISTS, MOST_TRIED)
                if is_due and worth_it(advice, setting):
                    made[setting] = tried(setting)
            if len(made) > before:
                break
        else:
            return advice


def finalists(advice: Ranked) -> Sequence[Setting]:
    """The settings that are ahead, the best first; one for all its modes."""
    ahead = dict.fromkeys(each.setting for each in advice.options if each.setting is not None)
    return tuple(islice(ahead, FINALISTS))


def hopeful(advice: Ranked) -> Iterator[Setting]:
    """Those that may turn out to be faster than the best is expected to be, the most hopeful first."""
    may = [each for each in advice.options if each.throughput_bps.high > advice.best.throughput_bps.mean]
    may.sort(key=lambda each: -each.throughput_bps.high)
    return (each.setting for each in may if each.setting is not None)

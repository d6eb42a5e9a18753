"""Advice on a file whose best options were tried on a sample of it.

History knows what a codec made of other content; which of two that are close packs this content better, it cannot
tell. A sample of the file can, at the price of packing it by each of the few that are ahead.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Protocol, TypeVar

from tradewind.compression.codecs import Setting
from tradewind.compression.model import Speeds

FINALISTS = 3
"""Settings that are tried before the first of them is advised."""

MOST_TRIED = 8
"""After which the best so far has to do."""


class Ranked(Protocol):
    """Advice of some form."""

    def ranked(self) -> Iterator[Setting]:
        """Its settings, the best first; none where packing is of no use."""
        ...


A = TypeVar("A", bound=Ranked)


def always(_advice: object, _setting: Setting) -> bool:
    return True


def contest(
    advised: Callable[[Mapping[Setting, Speeds]], A],
    tried: Callable[[Setting], Speeds],
    worth_it: Callable[[A, Setting], bool] = always,
) -> A:
    """The advice that stands when its best settings have been tried.

    Parameters
    ----------
    advised : what is advised by what settings made of the sample.
    tried : packs the sample. ``worth_it`` : whether to try one that is ahead by that advice.
    """
    made: dict[Setting, Speeds] = {}
    while True:
        advice = advised(made)
        ahead = dict.fromkeys(advice.ranked())  # one for all its modes
        before = len(made)
        for setting in [each for each in islice(ahead, FINALISTS) if each not in made]:
            if len(made) < MOST_TRIED and worth_it(advice, setting):
                made[setting] = tried(setting)
        if len(made) == before:
            return advice

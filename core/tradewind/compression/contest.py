"""Advice on a file whose best options were tried on a sample of it.

History knows what a codec made of other content; which of two that are close packs this content better, it cannot
tell. A sample of the file can, at the price of packing it by each of the few that are ahead, and by those that may yet
turn out to be ahead: history knows some settings less well than others.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Protocol, TypeVar

from tradewind.compression.codecs import Setting
from tradewind.compression.model import Speeds

FINALISTS = 3
"""Settings that are tried before the first of them is advised, and at most at a time of those that may yet beat it."""

MOST_TRIED = 8
"""After which the best so far has to do."""


class Ranked(Protocol):
    """Advice of some form."""

    def ranked(self) -> Iterator[Setting]:
        """Its settings, the best first; none where packing is of no use."""
        ...

    def hopeful(self) -> Iterator[Setting]:
        """Those whose band reaches beyond what the best is expected to have, the highest first."""
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
    tried : packs the sample. ``worth_it`` : whether to try one that is, or may be, ahead by that advice.
    """
    made: dict[Setting, Speeds] = {}
    while True:
        advice, before = advised(made), len(made)
        for settings in (islice(dict.fromkeys(advice.ranked()), FINALISTS), advice.hopeful()):  # one for all its modes
            for setting in settings:
                is_due = setting not in made and len(made) < min(before + FINALISTS, MOST_TRIED)
                if is_due and worth_it(advice, setting):
                    made[setting] = tried(setting)
            if len(made) > before:
                break
        else:
            return advice

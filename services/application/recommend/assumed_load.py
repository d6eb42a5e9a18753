"""The external load that an answer assumes, and where it comes from."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tradewind.load_effect import LoadEffect

DECIMALS = 2
"""Digits of a load that count, so that what was made for one load serves all that are nearly the same."""


class LoadOrigin(StrEnum):
    """Who says so, best first, in the words of the rationale."""

    ASKED = "as asked"
    LAST_KNOWN = "last known"
    MEDIAN = "median"


@dataclass(frozen=True, slots=True)
class AssumedLoad:
    """``share`` of the path taken by others, 0 … 1, rounded to hundredths."""

    share: float
    origin: LoadOrigin

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", round(self.share, DECIMALS))

    def told(self, effects: Iterable[LoadEffect | None]) -> str:
        """The load in words, with what the logs of the leaves that answer do not know of it."""
        reservation = ""
        for effect in effects:
            if effect is None:
                if self.origin is LoadOrigin.ASKED:
                    reservation = "; no log tells its effect"
            elif self.share > round(effect.loads[-1], DECIMALS):
                reservation = f"; no log saw more than {effect.loads[-1]:.{DECIMALS}f}"
        return f"load {self.share:.{DECIMALS}f} ({self.origin}{reservation})"

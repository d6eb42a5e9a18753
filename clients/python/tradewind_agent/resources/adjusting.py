"""Cores and frequency of this process that change while a transfer runs: GreenDataFlow's resource group, applied."""

from collections.abc import Collection
from types import TracebackType
from typing import Self

from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits


class AdjustedResources:
    """Limits of this process that are replaced again and again, and undone at the end of the ``with`` block.

    The present ones are undone before others are applied: of two limits of a process the lower one counts. Each is in
    the ledger as all limits are, so that the next command undoes what a killed agent has left.

    Attributes
    ----------
    names : resources that are adjusted. One that the host refuses is left as it is from then on.
    initial : the limits at the start of the transfer.
    applied : the limits in effect.
    left : what could not be undone, a line each.
    """

    def __init__(self, limiter: ResourceLimiter, limits: Limits, names: Collection[str]) -> None:
        self.names = frozenset(names)
        self.left: tuple[str, ...] = ()
        self._limiter, self._limits = limiter, limits.select_only(*names)
        self.initial = self.applied = limiter.apply(self._limits)

    def adjust(self, limits: Limits) -> bool:
        """Apply other limits, and return whether any changed."""
        requested = limits.select_only(*self.names)
        if requested == self._limits:
            return False
        self.undo()
        self._limits = requested
        self.applied = self._limiter.apply(requested)
        self.names -= {each.resource for each in self.applied.advice}
        return True

    def undo(self) -> None:
        """Restore the previous state; a second call does nothing."""
        self.applied.undo()
        self.left = tuple(dict.fromkeys((*self.left, *self.applied.left)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

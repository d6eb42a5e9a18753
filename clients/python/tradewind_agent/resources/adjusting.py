"""Cores and frequency of this process that change while a transfer runs: GreenDataFlow's resource group, applied."""

from collections.abc import Collection
from threading import Lock
from types import TracebackType
from typing import Self

from tradewind_agent.resources.applied import Advice
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import NO_LIMITS, Limits


class AdjustedResources:
    """Limits of this process that are replaced again and again, and undone at the end of the ``with`` block.

    The present ones are undone before others are applied: of two limits of a process the lower one counts. Where the
    host refuses a value, the last accepted one applies again. Each is in the ledger as all limits are, so that the next
    command undoes what a killed agent has left. Threads may share it.

    Attributes
    ----------
    names : resources that are adjusted. One that the host cannot limit at all is left as it is from then on.
    initial : the limits at the start of the transfer.
    applied : the limits in effect.
    advice : what the host has refused since the start, each reason once.
    left : what could not be undone, a line each.
    """

    def __init__(self, limiter: ResourceLimiter, limits: Limits, names: Collection[str]) -> None:
        self.names = self._all_names = frozenset(names)
        self.advice: tuple[Advice, ...] = ()
        self.left: tuple[str, ...] = ()
        self._limiter, self._limits = limiter, limits.select_only(*names)
        self._accepted = NO_LIMITS
        self._lock, self._is_closed = Lock(), False
        self.initial = self.applied = limiter.apply(self._limits)
        self._settle(self._limits)

    def adjust(self, limits: Limits) -> bool:
        """Apply other limits, and return whether they are others than before; after `undo` nothing is applied."""
        with self._lock:
            requested = limits.select_only(*self._all_names)
            if self._is_closed or requested == self._limits:
                return False
            self._limits = requested
            left_alone = self._all_names - self.names
            stays = self._accepted.select_only(*(name for name in requested.select_known() if name in left_alone))
            target = requested.without(*left_alone).complete_from(stays)
            if target == self._accepted:
                return False
            before = self._accepted
            self._apply(target)
            refused = self._settle(target)
            back = target.without(*refused).complete_from(before.select_only(*refused))
            if back != self._accepted:
                self._apply(back)
                self._settle(back)
            return True

    def undo(self) -> None:
        """Restore the previous state for good; a second call does nothing."""
        with self._lock:
            self._is_closed = True
            self._restore()

    def _apply(self, limits: Limits) -> None:
        self._restore()
        self.applied = self._limiter.apply(limits)

    def _restore(self) -> None:
        self.applied.undo()
        self.left = tuple(dict.fromkeys((*self.left, *self.applied.left)))

    def _settle(self, limits: Limits) -> set[str]:
        """Note what the host has accepted of ``limits`` and why not the rest; return the names of the rest."""
        enforced = {each.resource for each in self.applied.enforced}
        known = {(each.resource, each.why) for each in self.advice}
        self.advice += tuple(each for each in self.applied.advice if (each.resource, each.why) not in known)
        refusals = [each for each in self.applied.advice if each.resource not in enforced]
        self.names -= {each.resource for each in refusals if not each.is_about_value}
        refused = {each.resource for each in refusals}
        self._accepted = limits.without(*refused)
        return refused

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

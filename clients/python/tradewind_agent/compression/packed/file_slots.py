"""Simultaneous files of a packed copy: the requested number, and fewer where the server refuses some."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Event

from tradewind_agent.engine.origin.limits import AMBIGUOUS_STATUSES, LOAD_STATUSES
from tradewind_agent.errors import ConnectionFault, FileFault, RefusedByServer

_LOOK_S = 0.2
"""Interval in which a waiting file checks whether the copy is over."""


@dataclass(slots=True)
class FileSlot:
    """One file's slot; ``is_alone`` while no other file has had one since it was acquired."""

    step: int
    is_alone: bool


def may_be_load(fault: FileFault) -> bool:
    """Return whether this refusal may mean an overloaded server."""
    if isinstance(fault, ConnectionFault):
        return fault.before_answer
    return isinstance(fault, RefusedByServer) and fault.status in LOAD_STATUSES


class FileSlots:
    """Slots for the files of one copy, shared by threads.

    Parameters
    ----------
    most : files at once.
    is_over : set when no file needs a slot any more.

    Attributes
    ----------
    permitted : files at once that the server permits; ``None`` where it has refused none.
    served : files that are done.
    """

    def __init__(self, most: int, is_over: Event, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.permitted_files: int | None = None
        self.served = 0
        self._most, self._is_over, self._clock_s = most, is_over, clock_s
        self._held_until_s = 0.0
        self._active: list[FileSlot] = []
        self._step = 0
        self._is_exclusive = False
        self._changed = Condition()

    @contextmanager
    def acquire(self, *, alone: bool) -> Iterator[FileSlot]:
        """Wait for a slot; with ``alone`` until all others are free, and keep them free meanwhile."""
        with self._changed:
            if alone:
                self._wait_until(lambda: not self._is_exclusive)
                self._is_exclusive = True
            self._wait_until(lambda: self._has_room(alone=alone))
            slot = FileSlot(self._step, is_alone=not self._active)
            for other in self._active:
                other.is_alone = False
            self._active.append(slot)
        try:
            yield slot
        finally:
            with self._changed:
                self._active.remove(slot)
                self._is_exclusive = self._is_exclusive and not alone
                self._changed.notify_all()

    def _has_room(self, *, alone: bool) -> bool:
        if self._clock_s() < self._held_until_s or (self._is_exclusive and not alone):
            return False
        most = 1 if alone else min(self._most, self.permitted_files or self._most)
        return len(self._active) < most

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        while not holds() and not self._is_over.is_set():
            self._changed.wait(_LOOK_S)

    def note_served(self) -> None:
        with self._changed:
            self.served += 1

    def step_down(self, slot: FileSlot, wait_s: float | None) -> None:
        """Permit half as many, once for all files that were refused under the same limit."""
        with self._changed:
            if wait_s is not None:
                self._held_until_s = max(self._held_until_s, self._clock_s() + wait_s)
            if slot.step == self._step:
                self._step += 1
                self.permitted_files = max(min(self._most, self.permitted_files or self._most) // 2, 1)


class TryCounter:
    """A counter of the tries of one file.

    A refusal while others are served does not count. A refusal that may mean the file (403, 421) is tried once more
    while nothing else is requested; then it counts as what it says.
    """

    def __init__(self, most: int, slots: FileSlots) -> None:
        self.needs_to_be_alone = False
        self.failed = 0
        self._most, self._slots = most, slots
        self._served = slots.served

    def may_go_on(self, fault: FileFault, slot: FileSlot, longest_wait_s: float) -> bool:
        """Count a failure; whether the file is tried again."""
        status = fault.status if isinstance(fault, RefusedByServer) else None
        if may_be_load(fault) and not slot.is_alone:
            others_served, self._served = self._slots.served > self._served, self._slots.served
            if status in AMBIGUOUS_STATUSES:
                self.needs_to_be_alone = True
                return True
            wait_s = fault.retry_after_s
            self._slots.step_down(slot, None if wait_s is None else min(wait_s, longest_wait_s))
            if others_served:
                return True
        self.failed += 1
        return fault.retryable and self.failed < self._most

    def note_served(self, slot: FileSlot) -> None:
        """Note that the file is done; if it was refused among others, the server permits fewer."""
        self._slots.note_served()
        if self.needs_to_be_alone:
            self._slots.step_down(slot, None)

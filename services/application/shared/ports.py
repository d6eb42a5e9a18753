"""Ports that any use case may need: the clock, and what leaves after a commit."""

from datetime import datetime
from typing import Protocol

from services.application.shared.jobs import Event


class Clock(Protocol):
    """The time of day; a port, so that tests set it and no use case reads a clock by itself."""

    def now(self) -> datetime:
        """Return the time with its zone."""


class Outbox(Protocol):
    """Where events go after the commit that made them true; a port because `services.queue` sends them."""

    def send(self, event: Event) -> None:
        """Deliver ``event``; an unreachable dependency must not raise, because the commit is done."""

"""Ports that every use case may need; what a single use case asks of the store stands beside it."""

from datetime import datetime
from typing import Protocol

from services.application.jobs import Event


class Clock(Protocol):
    """The time of day, as an argument."""

    def now(self) -> datetime:
        """Time with a zone."""


class Outbox(Protocol):
    """Where events go after the commit that made them true."""

    def send(self, event: Event) -> None:
        """Deliver ``event``; a dependency that is away must not raise, because the commit stands."""

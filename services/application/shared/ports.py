"""Ports that every use case may need; what a single use case asks of the store stands beside it."""

from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from services.application.shared.jobs import Event


class Clock(Protocol):
    """The time of day, as an argument."""

    def now(self) -> datetime:
        """Time with a zone."""


class Outbox(Protocol):
    """Where events go after the commit that made them true."""

    def send(self, event: Event) -> None:
        """Deliver ``event``; a dependency that is away must not raise, because the commit stands."""


class Transaction(Protocol):
    """Open within its block; what is not committed there has not happened."""

    def commit(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

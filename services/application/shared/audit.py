"""Who changed what: one entry a change, written in the transaction of the change."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID


class ActorKind(StrEnum):
    USER = "user"
    KEY = "key"
    SERVICE = "service"
    """The service by itself, or whoever runs its commands on the host."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts in a transaction."""

    kind: ActorKind
    id: UUID | None = None


SERVICE = Actor(ActorKind.SERVICE)


class Audit(Protocol):
    """The log of changes of the tenant whose transaction is open; its actor is known."""

    def note(self, action: str, subject: str, **detail: Any) -> None:
        """Add an entry.

        Parameters
        ----------
        action : noun and verb, such as ``key.created``.
        subject : what was changed, in words or by its id.
        detail : JSON values; never a secret.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A change as it is listed; ``actor`` is the login, the key's name, or ``service``."""

    id: int
    at: datetime
    actor_kind: ActorKind
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]

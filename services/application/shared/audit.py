"""The audit log: one entry a change, written in the transaction of the change."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID


class ActorKind(StrEnum):
    USER = "user"
    KEY = "key"
    SERVICE = "service"
    """The service itself, or an operator who runs its commands on the host."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The user, key or service that acts in a transaction."""

    kind: ActorKind
    id: UUID | None = None


SERVICE = Actor(ActorKind.SERVICE)


class Audit(Protocol):
    """The log of changes of one tenant; a port because the application may not import persistence."""

    def note(self, action: str, subject: str, **detail: Any) -> None:
        """Add an entry.

        Parameters
        ----------
        action : noun and verb, such as ``key.created``.
        subject : the thing that changed, as text or by its id.
        detail : JSON values; never a secret.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A change in the list; ``actor`` is the login, the key's name, or ``service``."""

    id: int
    at: datetime
    actor_kind: ActorKind
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]

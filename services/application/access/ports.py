"""Ports to the repositories of access: keys, users and their sessions: one protocol a repository.

The application may not import `services.persistence`, which implements them; `services.application.shared.unit_of_work`
gives access to them in one transaction of one tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from services.application.access.sign_in_networks import Standing
    from services.application.access.users import User
    from services.application.billing.issuer import Issuer
    from tradewind.wire.inventory import Key


class KeyRepository(Protocol):
    """API keys of one tenant; a port because the application may not import persistence."""

    def lock_names(self) -> None:
        """Let no other transaction name a key until this one ends."""

    def add(
        self,
        *,
        name: str,
        prefix: str,
        secret_sha256: bytes,
        scopes: Sequence[str],
        weight: float,
        rate_factor: float,
        at: datetime,
    ) -> Key: ...
    def change(self, key_id: UUID, **values: float) -> Key: ...
    def revoke(self, key_id: UUID, at: datetime) -> Key: ...
    def list_all(self) -> Sequence[Key]: ...


class TenantRepository(Protocol):
    """The tenant itself; a port because the application may not import persistence."""

    def add(self, name: str) -> None: ...
    def get_name(self) -> str: ...
    def find_issuer(self) -> Issuer | None: ...
    def set_issuer(self, issuer: Issuer) -> None: ...


class UserRepository(Protocol):
    """Users of one tenant; a port because the application may not import persistence."""

    def add(self, login: str, password_hash: str | None, roles: Sequence[str], *, at: datetime) -> User: ...
    def list_all(self) -> Sequence[User]: ...
    def get(self, user_id: UUID) -> User: ...
    def lock_all(self) -> None:
        """Lock the users until the end of the transaction, so that no other one changes their roles meanwhile."""

    def set_roles(self, user_id: UUID, roles: Sequence[str]) -> None: ...
    def set_password(self, user_id: UUID, password_hash: str | None, *, must_change: bool) -> None: ...
    def delete(self, user_id: UUID) -> None: ...
    def set_disabled(self, user_id: UUID, at: datetime | None) -> None: ...
    def note_failure(self, user_id: UUID) -> int:
        """Count a wrong password; return how many there were in a row."""

    def note_sign_in(self, user_id: UUID, at: datetime) -> None: ...
    def lock(self, user_id: UUID, until: datetime) -> None: ...
    def link(self, user_id: UUID, issuer: str, subject: str) -> None:
        """Store the identity of the user; raise ``Conflict`` if another identity is stored already."""


class SessionRepository(Protocol):
    """Sessions of signed-in users; a port because the application may not import persistence."""

    def begin(self, secret_sha256: bytes, user_id: UUID, *, at: datetime, expires_at: datetime) -> None: ...
    def find_holder(self, secret_sha256: bytes, *, at: datetime, idle_since: datetime) -> User | None:
        """Return the user of a session that is neither expired nor idle for too long."""

    def visit(self, secret_sha256: bytes, *, at: datetime, idle_since: datetime) -> User | None:
        """Return the user like `holder`, and note that the session was used."""

    def end(self, secret_sha256: bytes) -> None: ...
    def end_all(self, user_id: UUID, *, but: bytes | None = None) -> None: ...


class SignInNetworkRepository(Protocol):
    """Networks that users signed in from, or failed to; a port because the application may not import persistence."""

    def find_standing(self, user_id: UUID, network: str) -> Standing: ...
    def note_failure(self, user_id: UUID, network: str) -> int: ...
    def lock(self, user_id: UUID, network: str, until: datetime) -> None: ...
    def note_sign_in(self, user_id: UUID, network: str, at: datetime) -> None: ...

"""Keys to principals: remembered for a moment, forgotten at once."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from services.application.access.authenticate import (
    CACHED_S,
    LONGEST_UNCHECKED_S,
    RENEW_BEFORE_S,
    UNCHECKED_S,
    Keyring,
    Principal,
    Scope,
    hash_secret,
    make_secret,
)
from tradewind.errors import NotPermitted, Unauthenticated, Unavailable


@dataclass(frozen=True)
class StoredKey:
    id: UUID
    tenant_id: UUID
    scopes: frozenset[str]
    secret_sha256: bytes
    weight: float = 1.0
    rate_factor: float = 1.0
    customer_id: UUID | None = None
    customer_rate_factor: float | None = None


class Keys:
    """Kept keys that count how often they are looked up, and a clock that is turned by hand."""

    def __init__(self) -> None:
        self.kept: dict[bytes, StoredKey] = {}
        self.lookups = 0
        self.now_s = 100.0
        self.away = False
        self.meanwhile: list[Callable[[], None]] = []
        self.ring = Keyring(self.find, self.time_s)

    def time_s(self) -> float:
        """Whenever the keyring looks at the clock, others do one of the things ``meanwhile``."""
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return self.now_s

    def find(self, digest: bytes) -> StoredKey | None:
        self.lookups += 1
        if self.away:
            raise Unavailable("the database does not answer now; try again")
        return self.kept.get(digest)

    def add(self) -> tuple[str, UUID]:
        new = make_secret()
        key = StoredKey(uuid4(), uuid4(), frozenset({Scope.AGENT}), new.sha256)
        self.kept[new.sha256] = key
        return new.secret, key.id


def test_a_principal_is_remembered_for_a_moment() -> None:
    keys = Keys()
    secret, _ = keys.add()
    assert keys.ring.recall(secret) is None
    principal = keys.ring.authenticate(secret)
    keys.now_s += CACHED_S
    assert keys.ring.recall(secret) == principal
    keys.now_s += 0.001
    assert keys.ring.recall(secret) is None
    assert keys.lookups == 1


def test_a_key_is_due_for_a_look_while_it_is_still_remembered() -> None:
    keys = Keys()
    secret, _ = keys.add()
    assert not keys.ring.is_due(secret)
    keys.ring.authenticate(secret)
    assert not keys.ring.is_due(secret)
    keys.now_s += CACHED_S - RENEW_BEFORE_S
    assert keys.ring.is_due(secret)
    assert keys.ring.recall(secret) is not None
    keys.ring.authenticate(secret)
    assert not keys.ring.is_due(secret)


def test_a_forgotten_key_is_looked_up_again() -> None:
    keys = Keys()
    (one, one_id), (other, _) = keys.add(), keys.add()
    for secret in (one, other):
        keys.ring.authenticate(secret)
    keys.ring.forget(one_id)
    assert keys.ring.recall(one) is None
    assert keys.ring.recall(other) is not None
    keys.ring.forget_all()
    assert keys.ring.recall(other) is None


def test_known_key_stays_valid_while_the_database_is_unreachable() -> None:
    keys = Keys()
    secret, _ = keys.add()
    principal = keys.ring.authenticate(secret)
    keys.away = True
    keys.ring.forget_all()  # Redis came back: any key may have been revoked, and nobody can be asked
    assert keys.ring.authenticate(secret) == principal
    keys.now_s += UNCHECKED_S
    assert keys.ring.recall(secret) == principal  # asked again only now and then
    assert keys.lookups == 2
    keys.now_s += LONGEST_UNCHECKED_S
    with pytest.raises(Unavailable):
        keys.ring.authenticate(secret)


def test_unknown_or_revoked_key_is_invalid_while_the_database_is_unreachable() -> None:
    keys = Keys()
    (revoked, key_id), (unknown, _) = keys.add(), keys.add()
    keys.ring.authenticate(revoked)
    keys.away = True
    keys.ring.forget(key_id)
    for secret in (revoked, unknown):
        with pytest.raises(Unavailable):
            keys.ring.authenticate(secret)


def test_key_revoked_during_an_outage_does_not_come_back() -> None:
    keys = Keys()
    secret, key_id = keys.add()
    keys.ring.authenticate(secret)
    keys.away = True
    keys.now_s += CACHED_S + 1
    keys.meanwhile = [lambda: None, lambda: keys.ring.forget(key_id)]
    with pytest.raises(Unavailable):
        keys.ring.authenticate(secret)
    assert keys.ring.recall(secret) is None


def test_an_unknown_or_revoked_key_is_not_authenticated() -> None:
    keys = Keys()
    secret, _ = keys.add()
    keys.ring.authenticate(secret)
    keys.kept.clear()
    for wrong in (secret, "tw_wrong", ""):
        with pytest.raises(Unauthenticated):
            keys.ring.authenticate(wrong)
    assert keys.ring.recall(secret) is None


def test_a_record_that_does_not_match_the_hash_is_not_trusted() -> None:
    keys = Keys()
    secret, _ = keys.add()
    keys.kept = {hash_secret("tw_other"): keys.kept[hash_secret(secret)]}
    with pytest.raises(Unauthenticated):
        keys.ring.authenticate("tw_other")


def test_principal_requires_a_scope() -> None:
    principal = Principal(uuid4(), uuid4(), frozenset({Scope.AGENT}))
    principal.require(Scope.AGENT, Scope.OPERATOR)
    with pytest.raises(NotPermitted, match="operator"):
        principal.require(Scope.OPERATOR)

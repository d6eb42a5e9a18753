"""Sealed sign-ins: opened with the key, for their state, in time; else refused."""

from datetime import UTC, datetime, timedelta

import pytest

from services.application.access.pending_sign_ins import PENDING_S, PendingSignIn, open_sign_in, seal_sign_in
from tradewind.errors import Unauthenticated

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEY = bytes(range(32))
PENDING = PendingSignIn(state="s1", nonce="n1", verifier="v1", next="/admin/users")
SEALED = seal_sign_in(PENDING, key=KEY, now=NOW)


def test_opens_as_it_was_sealed() -> None:
    assert open_sign_in(SEALED, "s1", key=KEY, now=NOW + timedelta(seconds=PENDING_S)) == PENDING


@pytest.mark.parametrize(
    ("sealed", "state", "key", "after_s"),
    [
        (SEALED, "s2", KEY, 0),
        (SEALED, "", KEY, 0),
        (SEALED, "sé", KEY, 0),
        (SEALED, "s1", bytes(32), 0),
        (SEALED, "s1", KEY, PENDING_S + 1),
        ("x" + SEALED, "s1", KEY, 0),
        (SEALED[:-1], "s1", KEY, 0),
        (SEALED + "é", "s1", KEY, 0),
        ("", "", KEY, 0),
        (".", "", KEY, 0),
        ("no seal", "s1", KEY, 0),
    ],
)
def test_refuses_all_else(sealed: str, state: str, key: bytes, after_s: int) -> None:
    with pytest.raises(Unauthenticated, match="not started here"):
        open_sign_in(sealed, state, key=key, now=NOW + timedelta(seconds=after_s))

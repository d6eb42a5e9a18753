"""Keys that expire are renewed while requests go on."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError

from tests.conditions import eventually
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.key_source import KeySource


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 5, 17, tzinfo=UTC)

    def __call__(self, _zone: object = None) -> datetime:
        return self.now


class Issuer:
    """A server that gives keys of an hour; ``gate`` holds its answers up, ``is_away`` has it refuse."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.gate, self.is_away, self.count = clock, threading.Event(), False, 0
        self.gate.set()

    def issue(self) -> dict[str, str]:
        self.gate.wait(10)
        if self.is_away:
            raise BotoCoreError
        self.count += 1
        expiry = (self.clock.now + timedelta(hours=1)).isoformat()
        return {"access_key": f"K{self.count}", "secret_key": "s", "token": "t", "expiry_time": expiry}


@pytest.fixture
def issuer() -> Issuer:
    return Issuer(Clock())


@pytest.fixture
def source(issuer: Issuer) -> KeySource:
    credentials = RefreshableCredentials.create_from_metadata(issuer.issue(), issuer.issue, "test")
    credentials._time_fetcher = issuer.clock
    return KeySource(credentials, (BotoCoreError,))


def test_key_that_expires_soon_is_used_while_another_is_fetched(source: KeySource, issuer: Issuer):
    assert source().id == "K1"
    issuer.clock.now += timedelta(minutes=50)
    issuer.gate.clear()
    assert source().id == "K1"  # and does not wait
    issuer.gate.set()
    eventually(lambda: source().id == "K2")
    assert issuer.count == 2


def test_key_that_expires_within_a_minute_is_waited_for(source: KeySource, issuer: Issuer):
    assert source().id == "K1"
    issuer.clock.now += timedelta(minutes=59, seconds=30)
    assert source().id == "K2"


def test_key_that_cannot_be_renewed_is_used_until_its_end(source: KeySource, issuer: Issuer):
    source()
    issuer.is_away = True
    issuer.clock.now += timedelta(minutes=50)
    assert source().id == "K1"
    issuer.clock.now += timedelta(minutes=11)
    with pytest.raises(UnusableSource, match="have expired"):
        source()


def test_key_without_an_end_is_read_each_time():
    credentials = Credentials("a", "b")
    source = KeySource(credentials, (BotoCoreError,))
    assert (source().id, source().token) == ("a", None)
    credentials.access_key = "c"
    assert source().id == "c"

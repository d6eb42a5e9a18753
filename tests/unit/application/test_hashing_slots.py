"""Password hashes are shared out by network, so that strangers who guess leave room for others."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Semaphore

import pytest

from services.application.access.hashing_slots import (
    AT_ONCE,
    FAILURES_AT_ONCE,
    FAILURES_PER_S,
    MOST_KNOWN_WAITING,
    MOST_NETWORKS,
    MOST_WAITING,
    Attempt,
    FailedAttempts,
    HashingSlots,
)
from tests.conditions import eventually
from tradewind.errors import TooManyAttempts, Unavailable


class Slots:
    """Slots, and threads that hold or want one."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.slots = HashingSlots(lambda: 0.0)
        self.served: list[str] = []
        self._releases = Semaphore(0)
        self._threads = threads

    def ask(self, attempt: Attempt) -> "Future[None]":
        """Have a thread hold a slot until it is released."""
        return self._threads.submit(self._hold, attempt)

    def _hold(self, attempt: Attempt) -> None:
        with self.slots.hold_slot(attempt):
            self.served.append(attempt.network)
            assert self._releases.acquire(timeout=60)

    def release(self, holders: int = 10_000) -> None:
        """Let so many of those who hold a slot, now or later, give it back."""
        self._releases.release(holders)

    def flood(self, *networks: str) -> list["Future[None]"]:
        """As many guesses from these networks as are run and wait at a time, each for another login."""
        asked = []
        for number in range(AT_ONCE + MOST_WAITING):
            network = networks[number % len(networks)]
            asked.append(self.ask(Attempt(network, f"login {number}")))
            eventually(lambda wanted=number + 1: self.busy() == wanted)
        return asked

    def busy(self) -> int:
        return len(self.slots._open.running) + len(self.slots._open.waiting)


@pytest.fixture
def slots() -> Iterator[Slots]:
    with ThreadPoolExecutor(64) as threads:
        made = Slots(threads)
        yield made
        made.release()


def test_a_crowd_of_one_network_gives_way_to_another_network(slots: Slots) -> None:
    crowd = slots.flood("10.0.0.0/24")
    other = slots.ask(Attempt("192.0.2.0/24", "a person"))
    eventually(lambda: any(each.done() for each in crowd))
    slots.release()
    other.result(60)
    refused = [each for each in crowd if each.exception(60) is not None]
    assert [type(each.exception()) for each in refused] == [Unavailable]


def test_crowds_of_many_networks_give_way_to_a_network_that_was_given_less(slots: Slots) -> None:
    networks = [f"10.0.{number}.0/24" for number in range(AT_ONCE + MOST_WAITING)]
    for network in networks:
        with slots.slots.hold_slot(Attempt(network, "somebody")):
            pass
    crowd = slots.flood(*networks)
    other = slots.ask(Attempt("192.0.2.0/24", "a person"))
    eventually(lambda: other.done() or any(each.done() for each in crowd))
    slots.release()
    other.result(60)
    assert [type(each.exception(60)) for each in crowd if each.exception(60) is not None] == [Unavailable]


def test_the_next_slot_goes_to_the_network_that_was_served_longest_ago(slots: Slots) -> None:
    slots.flood("10.0.0.0/24")
    other = slots.ask(Attempt("192.0.2.0/24", "a person"))
    eventually(lambda: any(each.attempt.network == "192.0.2.0/24" for each in slots.slots._open.waiting))
    slots.release(1)
    eventually(lambda: len(slots.served) > AT_ONCE)
    assert slots.served[AT_ONCE] == "192.0.2.0/24"
    slots.release()
    other.result(60)


def test_network_with_as_many_waiting_as_others_gets_no_more(slots: Slots) -> None:
    slots.flood(*(f"10.0.{number}.0/24" for number in range(AT_ONCE + MOST_WAITING)))
    with pytest.raises(Unavailable), slots.slots.hold_slot(Attempt("192.0.2.0/24", "a person")):
        pass


@pytest.mark.parametrize("known", [Attempt("10.0.0.0/24", "a person", is_known=True)])
def test_known_user_has_own_slots_on_a_network_of_unknown_users(slots: Slots, known: Attempt) -> None:
    slots.flood("10.0.0.0/24")
    with slots.slots.hold_slot(known):
        assert slots.busy() == AT_ONCE + MOST_WAITING


def test_guesses_at_the_login_of_a_known_person_take_one_of_the_known_slots(slots: Slots) -> None:
    guessed = Attempt("10.0.0.0/24", "guessed", is_known=True)
    for _ in range(MOST_KNOWN_WAITING):
        slots.ask(guessed)
    eventually(lambda: slots.busy() == MOST_KNOWN_WAITING - 1)
    other = slots.ask(Attempt("10.0.0.0/24", "another", is_known=True))
    eventually(lambda: bool(slots.slots._known.waiting))
    slots.release()
    other.result(60)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fail(clock: Clock) -> Callable[[FailedAttempts, str, int], None]:
    def fail_times(attempts: FailedAttempts, network: str, times: int) -> None:
        for _ in range(times):
            attempts.require_few(network)
            attempts.add(network)

    return fail_times


def test_network_with_many_wrong_passwords_has_to_wait(clock: Clock, fail: Callable[..., None]) -> None:
    attempts = FailedAttempts(clock)
    fail(attempts, "10.0.0.0/24", FAILURES_AT_ONCE)
    with pytest.raises(TooManyAttempts):
        attempts.require_few("10.0.0.0/24")
    attempts.require_few("192.0.2.0/24")
    clock.now_s += 1 / FAILURES_PER_S
    fail(attempts, "10.0.0.0/24", 1)
    with pytest.raises(TooManyAttempts):
        attempts.require_few("10.0.0.0/24")


def test_networks_that_failed_long_ago_are_forgotten(clock: Clock, fail: Callable[..., None]) -> None:
    attempts = FailedAttempts(clock)
    fail(attempts, "10.0.0.0/24", FAILURES_AT_ONCE)
    for number in range(MOST_NETWORKS):
        attempts.add(f"network {number}")
    attempts.require_few("10.0.0.0/24")

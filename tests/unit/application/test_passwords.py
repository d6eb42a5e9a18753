"""Passwords cost their checkers dear, so not everybody is checked at once."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from services.application.access.passwords import (
    AT_ONCE,
    HASHING_NICENESS,
    MOST_WAITING,
    Passwords,
    generate_initial_password,
)
from tradewind.errors import Unavailable

CROWD = 10 * (AT_ONCE + MOST_WAITING)


def test_hashing_slots_refuse_before_every_thread_is_taken():
    passwords = Passwords()
    kept = passwords.hash("a password of my own")
    together = Barrier(CROWD)

    def guess(_: int) -> bool | None:
        together.wait()
        try:
            return passwords.matches("a password of my own", kept)
        except Unavailable:
            return None

    with ThreadPoolExecutor(CROWD) as threads:
        answers = list(threads.map(guess, range(CROWD)))
    assert set(answers) == {True, None}
    assert answers.count(True) >= AT_ONCE + MOST_WAITING
    assert passwords.matches("a password of my own", kept)


def test_initial_passwords_have_letters_and_digits_alone_so_that_no_command_takes_one_for_an_option():
    passwords = {generate_initial_password() for _ in range(200)}
    assert len(passwords) == 200
    assert all(each.isascii() and each.isalnum() for each in passwords)


@pytest.mark.skipif(sys.platform != "linux", reason="niceness is a thread's on Linux alone")
def test_hashing_leaves_the_processors_to_others_and_nothing_else_does():
    passwords, own = Passwords(), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    seen = []

    class Watched:
        def verify(self, password, stored_hash):
            seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return True

    passwords._hasher = Watched()
    assert passwords.matches("whatever it is", "a hash")
    assert seen == [max(own, HASHING_NICENESS)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own

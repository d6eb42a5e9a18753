"""Passwords cost their checkers dear, so not everybody is checked at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from services.application.access.passwords import (
    AT_ONCE,
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

"""The table of attacks: a case is one function that raises `Lost` where the attack succeeds."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.attack.scene import Scene


class Lost(Exception):
    """An attack succeeded; the message says how."""


class NotApplicable(Exception):
    """A case needs what this machine does not have; the message says what."""


@dataclass(frozen=True)
class Case:
    """One attack: who attacks whom, and the function that does. It returns how many calls it made."""

    name: str
    between: str
    run: Callable[[Scene], int]


CASES: list[Case] = []

Attack = Callable[[Scene], int]


def attack(between: str) -> Callable[[Attack], Attack]:
    """Enter a function in the table; its name is the case's."""

    def enter(run: Attack) -> Attack:
        CASES.append(Case(run.__name__.replace("_", " "), between, run))
        return run

    return enter


def require(held: object, reason: str) -> None:
    """Fail the case unless the protection held."""
    if not held:
        raise Lost(reason)

"""Passwords that are guessed first: leaked ones, words, dates, walks over keyboards, repetitions, and their mixtures.

`zxcvbn` estimates how many guesses a password takes. A guesser also tries what its lists hold in simple disguises that
it does not undo: with doubled characters, two sequences in turn, the shift key held down, or signs between words. Such
a disguise is undone here first, and counts as some guesses.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from zxcvbn import zxcvbn

from tradewind.errors import InvalidValue

MIN_GUESSES = 1e10
"""What `zxcvbn` calls very unguessable: years of guesses where each takes a slow hash of its own."""

GUESSES_PER_DISGUISE = 100.0
GUESSES_PER_SIGN = 30.0
"""For each different sign between words."""

SHORTEST_WORD = 3

JUDGED_CHARACTERS = 32
"""The beginning and the end of a longer password are judged: the time that `zxcvbn` takes grows fast with length."""

STAND_INS = frozenset("4@8({[<369|1!70$5+%2")
MOST_STAND_INS, GUESSES_PER_CHARACTER = 8, 10.0
"""Different characters that may stand for letters: `zxcvbn` tries every combination, for seconds with all of them."""

UNSHIFTED = str.maketrans('!@#$%^&*()_+{}|:"<>?', "1234567890-=[]\\;',./")
"""The keys of characters that need the shift key."""

CONTEXT = (
    "tradewind",
    "transfer",
    "provider",
    "analyst",
    "passwort",
    "wachtwoord",
    "contraseña",
    "motdepasse",
    "senha",
)
"""Words that guessers of this service try first, next to the lists of `zxcvbn`."""


def require_strong(password: str, *, own_words: Iterable[str] = ()) -> None:
    """Refuse a password that is guessed soon.

    Parameters
    ----------
    own_words : words that a guesser knows of this user, such as the login and the name of the tenant.

    Raises
    ------
    InvalidValue : fewer than `MIN_GUESSES` guesses find it.
    """
    plain = unicodedata.normalize("NFKC", password).casefold()
    parts = (part for word in own_words for part in (word.casefold(), *re.split(r"[\W_]+", word.casefold())))
    words = list(dict.fromkeys([*CONTEXT, *(part for part in parts if len(part) >= SHORTEST_WORD)]))
    ends = {plain[:JUDGED_CHARACTERS], plain[-JUDGED_CHARACTERS:]}
    if max(_estimate_guesses(end, words) for end in ends) < MIN_GUESSES:
        raise InvalidValue(
            "password",
            "is among those that are tried first: leaked passwords, common words, names of this service, the login, "
            "dates, repetitions and neighbouring keys; choose another",
        )


def _estimate_guesses(text: str, words: list[str]) -> float:
    """Return the guesses that find a text as it is, or in the disguise that costs a guesser least."""
    disguised = (cost * _count_guesses(each, words) for each, cost in _undo_disguises(text))
    return min((_count_guesses(text, words), *disguised))


def _count_guesses(text: str, words: list[str]) -> float:
    """Return the guesses that find a text; each of too many different stand-ins for letters counts as any character."""
    surplus = set([each for each in dict.fromkeys(text) if each in STAND_INS][MOST_STAND_INS:])
    left = "".join(each for each in text if each not in surplus)
    guesses = float(zxcvbn(left, user_inputs=words)["guesses"]) if left else 1.0
    return guesses * GUESSES_PER_CHARACTER ** (len(text) - len(left))


def _undo_disguises(text: str) -> Iterator[tuple[str, float]]:
    """Yield the texts that this one may be a disguise of, with the guesses that the disguise costs for each."""
    words_alone, signs = re.sub(r"[\W_]+", "", text), set(re.findall(r"[\W_]", text))
    yield words_alone, GUESSES_PER_SIGN ** len(signs)
    unshifted = text.translate(UNSHIFTED)
    for each in dict.fromkeys((text, unshifted)):
        if each != text:
            yield each, GUESSES_PER_DISGUISE
        yield re.sub(r"(.)\1+", r"\1", each), GUESSES_PER_DISGUISE
        yield each[::2] + each[1::2], GUESSES_PER_DISGUISE

"""Passwords that somebody who guesses tries first: common ones, repetitions, sequences, and mixtures of these.

A password is read as parts. A common word, a run (``aaaa``, ``1234``, ``qwerty``, ``dcba``) and a year take a guesser
few tries however long they are; each other character takes many. `MIN_PARTS` bounds what must remain.
"""

import unicodedata
from collections.abc import Iterable

from tradewind.errors import InvalidValue

MIN_PARTS = 7
WORD_PARTS, RUN_PARTS, YEAR_PARTS = 2, 2, 1
MIN_DIFFERENT = 5
SHORTEST_RUN, SHORTEST_WORD = 3, 3
YEAR_DIGITS = 4

DISGUISES = str.maketrans("013457@$!|€+", "oieastasiiet")
"""Characters that stand for letters in many passwords: ``P@ssw0rd``."""

ROWS = (
    "qwertyuiop[]",
    "asdfghjkl;'",
    "zxcvbnm,./",
    "qwertzuiopü",
    "azertyuiop",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.",
)
"""Neighbours on keyboards."""

COMMON = frozenset(
    """
    aaron abc abcdef access account adidas admin administrator alex alexander amanda america amsterdam analyst
    andrea andrew angel angela anna anthony apple april arsenal ashley asshole august austin babygirl bailey
    banana bandit baseball basketball batman battery beautiful berlin blackberry blink bond booboo boomer boston
    brandon brazil buster butterfly canada captain carlos cassie cat change changeit changeme charles charlie
    cheese chelsea chester chicago chicken chocolate chris christian christine claude cloud coffee company
    computer control cookie correct cowboy crystal daddy dakota dallas daniel database david december default
    demo dennis diablo diamond dog dolphin donald dragon eagle eagles easy edward elizabeth email eminem england
    enter estrella facebook family february ferrari fish flower football forever france freedom friday friend
    friends fuck fuckoff fuckyou gandalf garfield george germany ginger god golf google guest guitar hallo
    hammer hannah happy harley heather hello hockey holiday home horse hotdog hottie house hunter iceman
    iloveyou initial internet italy jackson jaguar jakarta james january jasmine jason jennifer jessica jesus
    john jordan joseph joshua july june junior justin keyboard killer kitten knight lakers letmein liberty lily
    linux liverpool login london lorenzo love lovely loveme lovers lucky maggie magic manager march marina
    martin master matrix matthew maverick mercedes merlin michael michelle mickey midnight mike miller monday
    money monkey monster morgan mother mountain mustang naruto nascar nathan network nicholas nicole nikita
    ninja november october oliver operator orange pakistan pass passe passwd password passwort patrick peanut
    pepper phoenix player please pokemon porsche power prince princess private provider public purple pussy
    qwerty rachel raiders rainbow ranger rangers richard robert rocket ronaldo root samantha samsung saturday
    scooter secret secure security senha september server service shadow silver slipknot smokey snoopy soccer
    sophie spider spring staff startrek starwars steelers sterling steven student summer sunday sunshine super
    superman support sweet sweetie system taylor teacher temp tennis test tester testing thomas thunder thursday
    tiger tigers tigger trade tradewind transfer trustno tuesday turtle user victoria vincent wachtwoord
    wednesday welcome whatever william windows winner winter wizard wolf word work xxx yamaha yankees yellow zaq
    """.split()  # noqa: SIM905 - a word a line would take as many lines
)
"""Words of leaked lists of passwords, without their digits."""


def require_strong(password: str, *, own_words: Iterable[str] = ()) -> None:
    """Refuse a password that is guessed soon.

    Parameters
    ----------
    own_words : words that a guesser knows of this user, such as the login.

    Raises
    ------
    InvalidValue : it is common or repetitive.
    """
    plain = unicodedata.normalize("NFKC", password).casefold()
    if len(set(plain)) < MIN_DIFFERENT or _is_repeated(plain):
        raise InvalidValue("password", "repeats itself; choose one with more different characters")
    words = COMMON | {word.casefold() for word in own_words if len(word) >= SHORTEST_WORD}
    if _count_parts(plain, words) < MIN_PARTS:
        raise InvalidValue(
            "password", "is among those that are tried first: common words, sequences, years, the login; choose another"
        )


def _is_repeated(text: str) -> bool:
    """Return whether the text is a shorter one again and again."""
    return any(text == (text[:size] * len(text))[: len(text)] for size in range(1, len(text) // 2 + 1))


def _count_parts(text: str, words: frozenset[str]) -> int:
    """Return the least number of parts that the text can be read as."""
    least = [0] * (len(text) + 1)
    longest = max(map(len, words))
    for end in range(1, len(text) + 1):
        least[end] = least[end - 1] + 1
        for start in range(max(0, end - max(longest, SHORTEST_RUN)), end - SHORTEST_WORD + 1):
            part = text[start:end]
            if part in words or part.translate(DISGUISES) in words:
                least[end] = min(least[end], least[start] + WORD_PARTS)
            if len(part) == YEAR_DIGITS and part.isdecimal() and part[:2] in ("19", "20"):
                least[end] = min(least[end], least[start] + YEAR_PARTS)
        start = _find_run(text, end)
        if end - start >= SHORTEST_RUN:
            least[end] = min(least[end], min(least[start : end - SHORTEST_RUN + 1]) + RUN_PARTS)
    return least[-1]


def _find_run(text: str, end: int) -> int:
    """Return where the run begins that ends there: equal, counted or neighbouring characters, in one direction."""
    start = end - 1
    for step in _STEPS:
        first = end - 1
        while first > 0 and step(text[first - 1], text[first]):
            first -= 1
        start = min(start, first)
    return start


def _is_neighbour(one: str, other: str) -> bool:
    return any(one + other in row for row in ROWS)


_STEPS = (
    lambda one, other: one == other,
    lambda one, other: ord(other) - ord(one) == 1 or (one, other) == ("9", "0"),
    lambda one, other: ord(one) - ord(other) == 1 or (one, other) == ("0", "9"),
    _is_neighbour,
    lambda one, other: _is_neighbour(other, one),
)

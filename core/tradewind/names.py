"""Names that people give to things: not blank, visible, and of one thing of a kind only."""

import unicodedata
from collections.abc import Iterable

from tradewind.errors import InvalidValue, NameTaken

LONGEST_NAME = 200

_CONTROLS = frozenset({"Cc", "Zl", "Zp"})
_UNSEEN = frozenset({"Cf", "Cs"})
_JOINERS = "\u200c\u200d"
"""Between two characters that are seen, these are part of how Persian and joined pictures are written."""

_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters of other categories that leave nothing to be seen, such as fillers of Hangul and the blank of Braille."""

IS_BLANK = "is blank; type one"
NO_CONTROL_CHARACTERS = "must have no control characters"
NO_FORMAT_CHARACTERS = "must have no invisible characters, such as those that turn the direction of writing"


def has_format_characters(text: str) -> bool:
    """Return whether a text has characters that are not seen, such as those that turn the direction of what follows."""
    return any(unicodedata.category(each) in _UNSEEN for each in text)


def check_name(text: str, *, field: str = "name", longest: int = LONGEST_NAME) -> str:
    """Return a name without blanks around it, and with one space for any blanks within.

    Raises
    ------
    InvalidValue : nothing of it is seen, it is too long, or it has control characters or ones that turn the direction
        of writing.
    """
    spaced = "".join(" " if unicodedata.category(each) == "Zs" else each for each in text)
    name = " ".join(part for part in spaced.strip().split(" ") if part)
    if not any(_is_seen(each) for each in name):
        raise InvalidValue(field, IS_BLANK)
    if any(unicodedata.category(each) in _CONTROLS for each in name):
        raise InvalidValue(field, NO_CONTROL_CHARACTERS)
    if has_format_characters(_drop_joiners(name)) or any(each in _BLANK_LETTERS for each in name):
        raise InvalidValue(field, NO_FORMAT_CHARACTERS)
    if len(name) > longest:
        raise InvalidValue(field, f"has {len(name)} characters; there may be {longest}")
    return name


def _drop_joiners(name: str) -> str:
    """Return a name without joiners that stand between two characters that are seen."""
    return "".join(
        each
        for place, each in enumerate(name)
        if each not in _JOINERS
        or not 0 < place < len(name) - 1
        or not all(unicodedata.category(name[other])[0] not in "CZ" for other in (place - 1, place + 1))
    )


def _is_seen(character: str) -> bool:
    """Return whether a character leaves a mark of its own; one that marks the one before it does not."""
    return unicodedata.category(character)[0] not in "CZM" and character not in _BLANK_LETTERS


def fold_name(name: str) -> str:
    """Return what names that read the same have in common: in upper and lower case, in full or half width."""
    joined = _drop_joiners(name)
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", joined).casefold()).split())


def require_free_name(name: str, taken: Iterable[str], *, kind: str) -> None:
    """Refuse the name of another thing.

    Parameters
    ----------
    taken : names of the other things of this kind.
    kind : the thing that gets the name, as the sentence calls it.

    Raises
    ------
    NameTaken : there is one whose name reads the same.
    """
    folded = fold_name(name)
    for other in taken:
        if fold_name(other) == folded:
            raise NameTaken("name", f"is taken: there is {kind} {other!r}")


def find_free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with the lowest number behind it that makes it different from those that there are."""
    folded = {fold_name(each) for each in taken}
    free, number = name[:LONGEST_NAME], 1
    while fold_name(free) in folded:
        number += 1
        suffix = f" {number}"
        free = f"{name[: LONGEST_NAME - len(suffix)]}{suffix}"
    return free

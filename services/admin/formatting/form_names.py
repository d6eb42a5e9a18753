"""Names of new things as forms send them: not blank, and of one thing only."""

from collections.abc import Iterable

from tradewind.errors import InvalidValue

LONGEST_NAME = 200


def read_new_name(typed: str, taken: Iterable[str], *, kind: str, field: str = "name") -> str:
    """Return a name without the blanks around it.

    Parameters
    ----------
    taken : names of the things of this kind that there are.
    kind : the thing that gets the name, as the sentence calls it.

    Raises
    ------
    InvalidValue : it is blank, or there is one of this name, however it is capitalised.
    """
    name = " ".join(typed.split())
    if not name:
        raise InvalidValue(field, "is blank; type one")
    if any(name.casefold() == each.casefold() for each in taken):
        raise InvalidValue(field, f"is taken: there is {kind} {name!r}")
    return name


def find_free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with the lowest number behind it that makes it different from those that there are."""
    folded = {each.casefold() for each in taken}
    free, number = name[:LONGEST_NAME], 1
    while free.casefold() in folded:
        number += 1
        suffix = f" {number}"
        free = f"{name[: LONGEST_NAME - len(suffix)]}{suffix}"
    return free

"""Numbers as users write them into forms, read completely or refused."""

import re
from decimal import Decimal

from tradewind.errors import InvalidValue

LONGEST_NUMBER = 40
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_WITH_EXPONENT = re.compile(_NUMBER.pattern + r"[eE][+-]?[0-9]+")


class InvalidInput(InvalidValue):
    """A value of a form; ``input_name`` : of its field, where the refusal calls it otherwise, as in a table."""

    def __init__(self, field: str, reason: str, input_name: str) -> None:
        super().__init__(field, reason)
        self.input_name = input_name


def parse_number(field: str, text: str, *, example: str) -> Decimal:
    """Return the number that ``text`` is, exactly.

    Raises
    ------
    InvalidValue : it is no number, has an exponent, or has more than a number.
    """
    if len(text) <= LONGEST_NUMBER and _WITH_EXPONENT.fullmatch(text):
        raise InvalidValue(field, f"{text!r} has an exponent; write all digits, like {example}")
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise InvalidValue(field, f"{text[:LONGEST_NUMBER]!r} is not a number; write it like {example}")
    return Decimal(text)

"""Numbers as people write them into forms: whole, or not at all."""

import re
from decimal import Decimal

from tradewind.errors import InvalidValue

LONGEST_NUMBER = 40
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def exact_number(field: str, text: str, *, example: str) -> Decimal:
    """The number that ``text`` is, as exact as it is written.

    Raises
    ------
    InvalidValue : it is no number, or a number and something else.
    """
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise InvalidValue(field, f"{text[:LONGEST_NUMBER]!r} is not a number; write it like {example}")
    return Decimal(text)

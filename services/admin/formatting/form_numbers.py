"""Numbers as users write them into forms, read completely or refused."""

import re
from decimal import Decimal

from tradewind.errors import InvalidValue

LONGEST_NUMBER = 40
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def parse_number(field: str, text: str, *, example: str) -> Decimal:
    """Return the number that ``text`` is, exactly.

    Raises
    ------
    InvalidValue : it is no number, or has more than a number.
    """
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise InvalidValue(field, f"{text[:LONGEST_NUMBER]!r} is not a number; write it like {example}")
    return Decimal(text)

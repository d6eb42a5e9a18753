"""One field of a log row as a value that the transfer record can hold, or the reason why it cannot."""

import math
from datetime import UTC, datetime
from functools import lru_cache

from tradewind.errors import InvalidValue
from tradewind.transfer import RATE_TOLERANCE
from tradewind.units import format_bps
from tradewind.wire.base import BIGINT_MAX, EARLIEST_INSTANT, END_OF_INSTANTS, MAX_NAME_LENGTH

UNKNOWN_TEXTS = frozenset(
    {
        "", "na", "n/a", "nan", "none", "null", "-", "unknown", "--", "—", "–", "?", "n.a.", "#n/a", "\\n", "(null)",
        "<null>", "nil", "<nil>", "undefined",
    }
)  # fmt: skip
"""Ways in which logs say that a value is not known (compared in lower case)."""

NO_CHARACTER = "\ufffd"
"""Stands for bytes of a log that are no text in its encoding."""

MAX_SETTING = 32767
"""Highest setting of a parameter that a record holds."""

_REMEMBERED = 4096
"""Names that logs repeat."""

_SETTING_DIGITS = 9
_COUNT_DIGITS = 18
"""Every number of so many digits is below `BIGINT_MAX`."""


def parse_number(field: str, text: str) -> float:
    """Parse a finite number ≥ 0.

    Raises
    ------
    InvalidValue : it is missing, no number, not finite, or negative.
    """
    try:
        value = float(text)
    except ValueError:
        raise InvalidValue(field, _explain_no_number(text)) from None
    if 0 <= value < math.inf:
        return value
    raise InvalidValue(field, "is negative" if value < 0 and value != -math.inf else "is not finite")


def _explain_no_number(text: str) -> str:
    return "is missing" if text.strip().lower() in UNKNOWN_TEXTS else f"is not a number: {text[:40]!r}"


def parse_positive(field: str, text: str, scale: float = 1.0) -> float:
    """Parse a number and multiply it by ``scale``; it must be finite and above 0; otherwise as ``parse_number``."""
    value = parse_number(field, text) * scale
    if 0 < value < math.inf:
        return value
    raise InvalidValue(field, "is zero" if value == 0 else "is not finite")


def compute_positive_if_known(field: str, text: str, scale: float = 1.0) -> float | None:
    """Parse as ``parse_positive`` does; return ``None`` where the log says that the number is not known."""
    return None if text.strip().lower() in UNKNOWN_TEXTS else parse_positive(field, text, scale)


def read_number_if_known(field: str, text: str) -> float | None:
    """Parse as ``parse_number`` does; return ``None`` where the log says that the number is not known."""
    return None if text.strip().lower() in UNKNOWN_TEXTS else parse_number(field, text)


def round_within(field: str, value: float, lowest: int, highest: int = BIGINT_MAX) -> int:
    """Round a finite number to an integer; refuse one outside [``lowest``, ``highest``]."""
    if not lowest <= value <= highest:
        raise InvalidValue(field, f"is outside {lowest} to {highest}: {value:g}")
    return round(value)


def parse_count(field: str, text: str) -> int:
    """Parse a number of bytes or files ≥ 0; a fraction is rounded.

    Raises
    ------
    InvalidValue : as ``parse_number``, or beyond what a record holds.
    """
    if text.isdecimal() and len(text) <= _COUNT_DIGITS:
        return int(text)
    return round_within(field, parse_number(field, text), 0)


def parse_setting(field: str, text: str, lowest: int = 1) -> int | None:
    """Parse a setting such as a number of streams; return ``None`` where the log says that it is not known.

    Raises
    ------
    InvalidValue : it is no whole number within ``lowest`` to 32767.
    """
    if text.isdecimal() and len(text) <= _SETTING_DIGITS:
        return round_within(field, int(text), lowest, MAX_SETTING)
    if text.strip().lower() in UNKNOWN_TEXTS:
        return None
    value = parse_number(field, text)
    if value != int(value):
        raise InvalidValue(field, f"is no whole number: {text[:40]!r}")
    return round_within(field, value, lowest, MAX_SETTING)


@lru_cache(_REMEMBERED)
def check_name(field: str, text: str) -> str:
    """Return the name of an endpoint, program or network, without blanks around it, if it can be stored.

    Raises
    ------
    InvalidValue : empty, too long, or with control characters.
    """
    stripped = text.strip()
    if not stripped:
        raise InvalidValue(field, "is missing")
    if len(stripped) > MAX_NAME_LENGTH or not stripped.isprintable():
        raise InvalidValue(field, f"is no name of at most {MAX_NAME_LENGTH} printable characters")
    if NO_CHARACTER in stripped:
        raise InvalidValue(field, f"holds bytes that are no UTF-8, and may be one of several names: {stripped[:40]!r}")
    return stripped


def find_known_name(field: str, text: str) -> str | None:
    """Return a name, or ``None`` where the log says that it is not known."""
    return None if text.strip().lower() in UNKNOWN_TEXTS else check_name(field, text)


def check_instant(field: str, value: datetime) -> datetime:
    """Return a time with zone between 1990 and 2100, as UTC.

    Python takes two times of one zone from each other as its clock shows them, though it was changed in between.

    Raises
    ------
    InvalidValue : outside, as a sign of a wrong unit or field.
    """
    if not EARLIEST_INSTANT <= value < END_OF_INSTANTS:
        raise InvalidValue(field, f"is outside 1990 to 2100: {value.isoformat()}")
    return to_utc(value)


def to_utc(value: datetime) -> datetime:
    """Return a time with zone as UTC."""
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def require_name(field: str, option: str, value: str | None) -> str:
    """Return a name that the log does not say and the context must.

    Raises
    ------
    InvalidValue : it was not given; the reason names the option.
    """
    if value is None:
        raise InvalidValue(option, f"is needed: this log does not name its {field}")
    return check_name(option, value)


def require_possible_rate(rate_bps: float, bandwidth_bps: float | None) -> None:
    """Refuse a rate above the link's, as the service does.

    Raises
    ------
    InvalidValue : it is above, by more than rounding and buffers explain.
    """
    if bandwidth_bps is not None and rate_bps > RATE_TOLERANCE * bandwidth_bps:
        found = f"{format_bps(rate_bps)} on a link of {format_bps(bandwidth_bps)}"
        raise InvalidValue("outcome.throughput_bps", f"is above the link's rate: {found}")

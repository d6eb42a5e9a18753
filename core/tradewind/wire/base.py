"""Building blocks of the wire models: strictness, ranges and times."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
)
from pydantic_core import ErrorDetails

from tradewind.errors import InvalidValue
from tradewind.names import LONGEST_NAME, check_name
from tradewind.path import BOUNDS

MAX_NAME_LENGTH = LONGEST_NAME
BIGINT_MAX = 2**63 - 1

_NO_ZEROS = r"^[^\x00]*$"
NO_CONTROLS = r"^[^\x00-\x1f]+$"
PROFILE_NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"
REGION_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
CPU_CLASS = r"^[a-z0-9][a-z0-9_.\-/]*$"


def _check_new_name(text: str) -> str:
    try:
        return check_name(text)
    except InvalidValue as wrong:
        raise ValueError(wrong.reason) from None


def _check_plain_number(value: object) -> object:
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        raise ValueError("must be a number such as 0.05")
    return value


PLAIN_NUMBER = BeforeValidator(_check_plain_number)
"""Refuses texts that only Python reads as numbers, such as 1_000, or digits of other scripts."""

PLAIN_DIGITS = PlainSerializer(lambda value: f"{value:f}" if value else "0", return_type=str, when_used="json")
"""Writes decimals without an exponent: a zero of twelve decimals is 0, not 0E-12."""

ExactDecimal = Annotated[Decimal, PlainSerializer("{:f}".format, return_type=str, when_used="json")]
"""A decimal of an answer, with all of its digits and without an exponent, where Python writes 0E-12."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH, pattern=NO_CONTROLS)]
ProfileName = Annotated[
    str,
    StringConstraints(pattern=PROFILE_NAME),
    Field(description="Lower case letters, digits, dots, dashes, underscores; stands in addresses."),
]
NewName = Annotated[Name, AfterValidator(_check_new_name)]
"""A name that somebody gives to a thing: something of it is seen."""

Text = Annotated[str, StringConstraints(max_length=2000, pattern=_NO_ZEROS)]
Positive = Annotated[float, Field(gt=0)]
Bandwidth = Annotated[float, Field(ge=BOUNDS["bandwidth_bps"][0], le=BOUNDS["bandwidth_bps"][1])]
RoundTrip = Annotated[float, Field(ge=BOUNDS["rtt_s"][0], le=BOUNDS["rtt_s"][1])]
BufferBytes = Annotated[float, Field(ge=BOUNDS["buffer_bytes"][0], le=BOUNDS["buffer_bytes"][1])]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=BIGINT_MAX)]
AtLeastOne = Annotated[int, Field(ge=1, le=BIGINT_MAX)]
Small = Annotated[int, Field(ge=1, le=32767)]
SmallOrZero = Annotated[int, Field(ge=0, le=32767)]
EARLIEST_INSTANT = datetime(1990, 1, 1, tzinfo=UTC)
END_OF_INSTANTS = datetime(2100, 1, 1, tzinfo=UTC)
"""First instant that is rejected: within these bounds time zones and an added day cannot overflow."""
Instant = Annotated[AwareDatetime, Field(ge=EARLIEST_INSTANT, lt=END_OF_INSTANTS)]


_PLAIN_REASONS = MappingProxyType(
    {
        "model_type": "must be an object",
        "model_attributes_type": "must be an object",
    }
)
"""Replacements where pydantic's own words speak of Python."""

PATTERN_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        NO_CONTROLS: "must have no control characters",
        _NO_ZEROS: "must have no control characters",
        PROFILE_NAME: "must be lower case letters, digits, dots, dashes and underscores, 63 at most",
        REGION_NAME: "must be letters, digits, dots, dashes and underscores, 63 at most",
        CPU_CLASS: "must be lower case letters, digits and . - _ /, such as x86-64/amd-epyc/2",
    }
)
"""What a pattern requires, for users."""

_TARGETS = "bit/s (throughput_at_least), J (energy_at_most), W (power_at_most) or s (deadline)"
_SLA_REASONS = MappingProxyType(
    {
        "extra_forbidden": f"is not a known field; the SLA's value is `target`, a number in {_TARGETS}, or `fraction`",
        "float_parsing": f"must be a number, without a unit: a target is in {_TARGETS}",
        "float_type": f"must be a number: a target is in {_TARGETS}",
    }
)
"""Their target has the unit of their kind, which its name cannot tell."""


_COUNTED = ("too_short", "too_long")
_ITEMS = re.compile(r"should have (at (?:least|most) \d+ \w+) after validation, not (.+)")
"""Pydantic's words for lists, which speak of tuples; ``more than N`` where it stopped counting."""


class Strict(BaseModel):
    """Immutable, refuses unknown fields and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants")


class Open(BaseModel):
    """An answer of the service: clients of this version ignore fields that later versions add."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def describe_validation_error(error: ErrorDetails) -> InvalidValue:
    """Return the first of pydantic's errors as field and phrase, fit for a quarantine row or a problem."""
    field = ".".join(str(part) for part in error["loc"]) or "row"
    if "sla" in error["loc"][:-1] and error["type"] in _SLA_REASONS:
        return InvalidValue(field, _SLA_REASONS[error["type"]])
    if error["type"] == "extra_forbidden":
        return InvalidValue(field, "is not a known field; units are part of the names, such as total_bytes and rtt_s")
    if error["type"] == "json_invalid":
        return InvalidValue("row", f"is not valid JSON: {error['msg'].removeprefix('Invalid JSON: ')}")
    if error["type"] in _COUNTED and (match := _ITEMS.search(error["msg"])) is not None:
        return InvalidValue(field, f"must have {match[1]}, has {match[2]}")
    if error["type"] == "string_pattern_mismatch":
        pattern = error["msg"].partition("'")[2].rpartition("'")[0]  # the context that has it as well is often left out
        return InvalidValue(field, PATTERN_DESCRIPTIONS.get(pattern, "is not of the form that it must have"))
    message = error["msg"].removeprefix("Value error, ")
    return InvalidValue(field, _PLAIN_REASONS.get(error["type"], message[0].lower() + message[1:]))

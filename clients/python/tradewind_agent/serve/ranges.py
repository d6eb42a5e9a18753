"""Byte ranges: the Range field of a download and the Content-Range field of an upload's part."""

import re
from http import HTTPStatus

from tradewind.units import format_count
from tradewind_agent.serve.messages import RequestRefused

# No file has more than 2^63 − 1 bytes, which has 19 digits.
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.IGNORECASE)
_CONTENT_RANGE = re.compile(r"bytes\s+([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19})", re.IGNORECASE)


def parse_range(field: str | None, size_bytes: int) -> tuple[int, int] | None:
    """Return the first and last requested byte, or None for the full file.

    A field that is malformed, in another unit, or that asks for several ranges is ignored, as RFC 9110 (14.2) permits:
    movers request one range at a time, and the full file is a correct answer to any other client.

    Raises
    ------
    RequestRefused : 416 when no byte of the file is in the range.
    """
    match = None if field is None else _RANGE.fullmatch(field)
    if match is None or match.groups() == ("", ""):
        return None
    first_text, last_text = match.groups()
    if not first_text:
        first, last = max(0, size_bytes - int(last_text)), size_bytes - 1
    else:
        first = int(first_text)
        last = min(int(last_text), size_bytes - 1) if last_text else size_bytes - 1
        if last_text and int(last_text) < first:
            return None
    if first >= size_bytes:
        raise RequestRefused(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            f"the file has {format_count(size_bytes, 'byte')}",
            ("Content-Range", f"bytes */{size_bytes}"),
        )
    return first, last


def parse_content_range(field: str) -> tuple[int, int, int]:
    """Return the first byte, last byte and total size that a part of an upload declares.

    Raises
    ------
    RequestRefused : 400 when the field is not ``bytes first-last/total`` with first ≤ last < total.
    """
    match = _CONTENT_RANGE.fullmatch(field.strip())
    if match is None:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"Content-Range {field!r} is not 'bytes first-last/total'")
    first, last, total = (int(number) for number in match.groups())
    if not first <= last < total:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"Content-Range {field!r} must have first ≤ last < total")
    return first, last, total

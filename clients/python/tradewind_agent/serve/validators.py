"""Validators of a file and the conditions a request puts on them (RFC 9110, section 13)."""

import os
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from tradewind_agent.serve.messages import format_http_date


def make_etag(status: os.stat_result) -> str:
    """Return the strong entity tag.

    Modification time in ns, size and inode, so that a file renamed over another differs; also the time of the last
    change of any kind, because uploads set the first one, and inodes are used again.
    """
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}-{status.st_ctime_ns:x}"'


def check_conditions(headers: Mapping[str, str], etag: str, modified_s: float) -> HTTPStatus | None:
    """Return 412 or 304 where a precondition fails, in the order of RFC 9110, 13.2.2; else None (GET and HEAD)."""
    if (requested := headers.get("if-match")) is not None:
        if not _has_match(requested, etag, weak=False):
            return HTTPStatus.PRECONDITION_FAILED
    elif (since := _parse_date(headers.get("if-unmodified-since"))) is not None and int(modified_s) > since:
        return HTTPStatus.PRECONDITION_FAILED
    if (known := headers.get("if-none-match")) is not None:
        return HTTPStatus.NOT_MODIFIED if _has_match(known, etag, weak=True) else None
    if (since := _parse_date(headers.get("if-modified-since"))) is not None and int(modified_s) <= since:
        return HTTPStatus.NOT_MODIFIED
    return None


def does_range_apply(headers: Mapping[str, str], etag: str, status: os.stat_result, now_s: float) -> bool:
    """Return whether If-Range, if any, names the file as it is now; a weak tag never does.

    Nor does a time that another version may have, too: the present second, or one that was set (RFC 9110, 8.8.2.2).
    """
    condition = headers.get("if-range")
    if condition is None:
        return True
    if condition.startswith(('"', "W/")):
        return condition == etag
    is_set = int(status.st_ctime) != int(status.st_mtime)
    is_strong = not is_set and int(status.st_mtime) < int(now_s)
    return is_strong and condition == format_http_date(status.st_mtime)


def _has_match(field: str, etag: str, *, weak: bool) -> bool:
    if field.strip() == "*":
        return True
    tags = (tag.strip() for tag in field.split(","))
    return any((tag.removeprefix("W/") if weak else tag) == etag for tag in tags)


def _parse_date(field: str | None) -> float | None:
    """Return the POSIX seconds of an HTTP date; a field that is none is ignored, as the RFC asks."""
    if field is None:
        return None
    try:
        return parsedate_to_datetime(field).timestamp()
    except ValueError:
        return None

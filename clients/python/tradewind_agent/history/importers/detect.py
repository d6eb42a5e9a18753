"""Detect the format of a log by its content, whatever the name of the file."""

import json
import re
from collections.abc import Mapping

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import list_missing, read_header, require_transfers

FORMATS = ("gridftp", "rclone", "fts", "aria2", "aws", "s5cmd", "csv", "ndjson")
"""That are read line by line; a HAR is one document, see `tradewind_agent.har.upload`."""

_LINES_LOOKED_AT = 200
_LEAST_COLUMNS = 3
_ARIA2 = re.compile(r"^\[#[0-9a-f]{6} |^\d\d/\d\d \d\d:\d\d:\d\d \[[A-Z]+\] |^gid\s*\|stat\s*\|avg speed")

_AWS = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - \S+ - awscli\.|^(?:upload|download|copy|move): \S.* to \S"
    r"|^Completed [\d.]+ \w+/~?[\d.]+ \w+ .*remaining"
)


def detect(sample: str) -> str:
    """Name of the format of a log that begins with ``sample``.

    Raises
    ------
    InvalidValue : empty, or of no known format; says what was seen and which option decides.
    """
    lines = [line for line in sample.split("\n")[:_LINES_LOOKED_AT] if line.strip()]
    if not lines:
        raise InvalidValue("file", "is empty")
    for line in lines:
        if (found := _format_of(line)) is not None:
            return found
    if lines[0].lstrip().startswith(("{", "[")):
        raise InvalidValue("--format", f"cannot be detected: it is JSON, but of no known log: {lines[0].strip()[:120]}")
    columns = read_header(lines[0])
    if not list_missing(columns):
        return "csv"
    if len(columns.header) >= _LEAST_COLUMNS:
        require_transfers(columns)
    raise InvalidValue("--format", f"cannot be detected from the content; name one of {', '.join(FORMATS)}, har")


def _format_of(line: str) -> str | None:
    """Format that a single line gives away, ``None`` if it could be anything."""
    if "NBYTES=" in line and "START=" in line and "DATE=" in line:
        return "gridftp"
    if _ARIA2.match(line):
        return "aria2"
    if _AWS.match(line):
        return "aws"
    if line.lstrip().startswith("{"):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return _format_of_message(message) if isinstance(message, dict) else None
    return None


def _format_of_message(message: Mapping[str, object]) -> str | None:
    inner = message.get("data")
    if "tr_id" in message or (isinstance(inner, dict) and "tr_id" in inner):
        return "fts"
    if "outcome" in message and "dataset" in message:
        return "ndjson"
    if "operation" in message and ("success" in message or "error" in message):
        return "s5cmd"
    if "msg" in message and "level" in message:
        return "rclone"
    return None

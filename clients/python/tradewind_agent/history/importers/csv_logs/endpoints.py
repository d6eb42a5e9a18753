"""Names of endpoints in a CSV log: hosts as they are, addresses of files by their host, local paths by the option."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.history.importers.endpoints import name_endpoint
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS, check_name

_BUCKETS = frozenset({"s3", "gs", "az", "abfs", "abfss", "wasb", "wasbs", "swift", "r2", "oci"})
"""Schemes whose host is a bucket, which has no meaning without them."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOCAL_PATH = re.compile(r"file:|[/~.\\]|[A-Za-z]:[\\/]")
_REMOTE_PATH = re.compile(r"(?:[^@/:\s]+@)?([\w.-]+):[/~].*")


def is_local(text: str) -> bool:
    """Return whether a text is a path of the host that wrote the log."""
    return _LOCAL_PATH.match(text.strip()) is not None


def is_copy_in_place(program: str | None, source: str, destination: str) -> bool:
    """Return whether a program copied within its store or its host: gsutil has Google copy between its own buckets."""
    in_store = source.startswith("gs://") and destination.startswith("gs://")
    if {_name_host(source), _name_host(destination)} <= _LOOPBACK:
        return True
    return program == "gsutil" and (in_store or (is_local(source) and is_local(destination)))


def find_endpoint(end: str, text: str, given: str | None, aliases: Mapping[str, str]) -> str:
    """Return the name of an end: the host of an address, or what the user named where it is a local path.

    Parameters
    ----------
    end : "source" or "destination".
    aliases : as in `name_endpoint`.

    Raises
    ------
    InvalidValue : nothing names it, or no name can be made of it.
    """
    stripped = text.strip()
    if stripped.lower() in UNKNOWN_TEXTS or is_local(stripped):
        if given is None:
            seen = "is a path of the host that wrote the log" if stripped else "is missing"
            raise InvalidValue(end, f"{seen}; name the end with --{end}")
        return check_name(end, given)
    if "://" in stripped:
        host = _find_host(stripped)
        return check_name(end, name_endpoint(host, aliases) if host else given or "")
    remote = _REMOTE_PATH.fullmatch(stripped)
    return check_name(end, name_endpoint(remote[1] if remote is not None else stripped, aliases))


def _name_host(text: str) -> str:
    """Return the host of an address, or the text, which is a host then."""
    return (_find_host(text) if "://" in text else text).lower()


def _find_host(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in _BUCKETS and host else host


def find_direction(source: str, destination: str) -> Direction | None:
    """Return the direction that the ends of a row show, ``None`` if both may be hosts."""
    if is_local(source) == is_local(destination):
        return None
    return Direction.UPLOAD if is_local(source) else Direction.DOWNLOAD

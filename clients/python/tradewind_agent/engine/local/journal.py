"""The journal of a part: source and version of its bytes, and the ranges that are safely on disk.

``.name.tradewind-part`` holds the bytes, ``.name.tradewind-journal`` a header line, then one line ``[first, last]`` a
range. The journal is replaced as a whole, after the bytes it speaks of were synced. A name that leaves no room for the
ending is hashed.
"""

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.ranges import RangeSet

_FORMAT = 1
_DRAFT_SUFFIX = ".new"
_LONGEST_STEM_BYTES = 224
"""File systems permit 255 bytes; the longest ending is that of a part among several, or of a journal being written."""


def name_part(name: str) -> str:
    """Return the name of the part of a file of this name."""
    return f".{_build_stem(name)}.tradewind-part"


def is_own_name(name: str) -> bool:
    """Return whether a file of this name is a part or a journal, of any copy or of serve-files."""
    return name.startswith(".") and (".tradewind-part" in name or ".tradewind-journal" in name)


def name_journal(name: str) -> str:
    """Return the name of the journal of a file of this name."""
    return f".{_build_stem(name)}.tradewind-journal"


def build_part_path(destination: Path) -> Path:
    return destination.with_name(name_part(destination.name))


def build_journal_path(destination: Path) -> Path:
    return destination.with_name(name_journal(destination.name))


def _build_stem(name: str) -> str:
    """Return the name, or a hash of one that is too long with an ending."""
    if 4 * len(name) <= _LONGEST_STEM_BYTES:  # no character has more bytes
        return name
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_STEM_BYTES else sha256(encoded).hexdigest()


def read_journal(destination: Path, source: str = "") -> tuple[FileIdentity, RangeSet] | None:
    """Return what an earlier run left of this file; ``None`` where nothing usable is left.

    A validator names versions of one resource alone (RFC 9110 §8.8.3): servers that count versions have the same one
    for other bytes. So what another ``source`` has left is of no use. One host may serve a file by several ports, which
    a strong ETag of the same path is taken to show.
    """
    try:
        path = build_journal_path(destination)
        if not path.is_file():  # a pipe would have no end
            return None
        lines = path.read_text("utf-8").splitlines()
        part_bytes = build_part_path(destination).stat().st_size
        header = json.loads(lines[0])
        identity = FileIdentity(
            header["size_bytes"], header["etag"], header["last_modified"], header.get("has_strong_time") is True
        )
        if header["format"] != _FORMAT or not _is_same_source(header.get("source", source), source, identity):
            return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    ranges = RangeSet()
    for line in lines[1:]:
        try:
            first, last = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            break
        if not 0 <= first <= last < part_bytes:
            break
        ranges.add(first, last)
    return identity, ranges


def _is_same_source(left: str, source: str, identity: FileIdentity) -> bool:
    if left == source:
        return True
    one, other = urlsplit(left), urlsplit(source)
    is_same_path = (one.hostname, one.path, one.query) == (other.hostname, other.path, other.query)
    return is_same_path and identity.etag is not None and identity.validator == identity.etag


def write_journal(destination: Path, source: str, identity: FileIdentity, received: RangeSet) -> None:
    """Replace the journal atomically: a reader sees the old text or the new one."""
    header = {"format": _FORMAT, "source": source, **identity._asdict()}
    path = build_journal_path(destination)
    fresh = path.with_name(path.name + _DRAFT_SUFFIX)
    text = "\n".join([json.dumps(header), *(json.dumps(each) for each in received)]) + "\n"
    try:
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def remove_journal(folder: str, name: str) -> None:
    """Remove the journal of a file of this name, and what a crash has left of a newer one."""
    path = os.path.join(folder, name_journal(name))
    for each in (path, path + _DRAFT_SUFFIX):
        with suppress(FileNotFoundError):
            os.unlink(each)

"""Ids of imported records: the same row of the same log gets the same id, however often and wherever it is read."""

from functools import lru_cache
from hashlib import sha1
from uuid import UUID

from tradewind.transfer import LinkKey
from tradewind_agent.history.importers.log_text import Line

_NAMESPACE = UUID("3f0f1c57-6a8e-5d0a-9a53-5b1f9f2f8d11").bytes
"""Namespace of records that were read from other programs' logs."""

_VERSION_5 = 5 << 76 | 0b10 << 62
_FREE_BITS = (1 << 128) - 1 - (0xF << 76 | 0b11 << 62)
"""Version and variant of a name-based id, and the bits that they leave to the digest (RFC 9562, section 5.5)."""

_REMEMBERED = 4096
"""Distinct links of a log."""


def compute_record_id(link: LinkKey, line: Line) -> UUID:
    """Return the name-based id (version 5, RFC 9562) of a row: its link, line number and text.

    Compression, line ends and the name of the file leave it alone, so that uploading a log twice stores it once. A log
    uploaded again with corrected ends, network or mover is another log: its rows are new, and feed the right link.
    """
    # A line has no line breaks and a name no control characters: the parts cannot run into one another.
    name = _encode_ends(link) + f"{line.number}\n{line.text}".encode(errors="replace")
    number = int.from_bytes(sha1(name, usedforsecurity=False).digest()[:16])
    return UUID(int=number & _FREE_BITS | _VERSION_5)


@lru_cache(_REMEMBERED)
def _encode_ends(link: LinkKey) -> bytes:
    """Return what all rows of a link are hashed with."""
    ends = (link.source, link.destination, link.network or "", link.mover, "")
    return _NAMESPACE + "\n".join(ends).encode(errors="replace")

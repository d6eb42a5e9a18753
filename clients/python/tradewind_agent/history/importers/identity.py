"""Ids of imported records: the same row of the same log gets the same id, however often and wherever it is read."""

from hashlib import sha1
from uuid import UUID

from tradewind.transfer import LinkKey
from tradewind_agent.history.importers.log_text import Line

_NAMESPACE = UUID("3f0f1c57-6a8e-5d0a-9a53-5b1f9f2f8d11").bytes
"""Namespace of records that were read from other programs' logs."""


def compute_record_id(link: LinkKey, line: Line) -> UUID:
    """Return the name-based id (version 5, RFC 9562) of a row: its link, line number and text.

    Compression, line ends and the name of the file leave it alone, so that uploading a log twice stores it once. A log
    uploaded again with corrected ends, network or mover is another log: its rows are new, and feed the right link.
    """
    # A line has no line breaks and a name no control characters: the parts cannot run into one another.
    ends = (link.source, link.destination, link.network or "", link.mover)
    name = "\n".join((*ends, str(line.number), line.text)).encode(errors="replace")
    digest = sha1(_NAMESPACE + name, usedforsecurity=False).digest()
    return UUID(bytes=digest[:16], version=5)

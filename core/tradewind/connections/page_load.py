"""The load of a web page as its objects: when each was received, how large it was, and over which connection it
came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Interval = tuple[float, float]
"""Begin and end, s since the begin of the page's load."""


class HttpVersion(StrEnum):
    """``OTHER``: the log does not tell, or it is older than 1.1."""

    HTTP_1 = "HTTP/1.1"
    HTTP_2 = "HTTP/2"
    HTTP_3 = "HTTP/3"
    OTHER = "other"

    @property
    def multiplexes(self) -> bool:
        """Return whether many objects come over one connection at once."""
        return self in (HttpVersion.HTTP_2, HttpVersion.HTTP_3)


class LeftOut(StrEnum):
    """Why an entry of a log is no object that came over the network."""

    MALFORMED = "not an entry"
    NO_START = "no start time"
    NOT_HTTP = "neither http nor https"
    FAILED = "failed or blocked"
    CACHED = "from the browser's cache"
    UPGRADED = "became a web socket"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebObject:
    """One object that came over the network.

    Attributes
    ----------
    origin : scheme, host and port, such as ``https://example.org:443``.
    started_s : when it was asked for, s since the begin of the load.
    sent_s : when the request left, after waiting for a connection, looking up names and connecting.
    receive : when its response was received; None where the log does not tell.
    wire_bytes : received for it, headers included; None where the log does not tell.
    handshake_s : of TCP, if the connection was opened for it: one round trip; None otherwise.
    opens : whether a connection was opened for it, as far as the log shows.
    connection_id : the log's name of the connection; None where it has none.
    x_cache : what caches say in the header of that name; empty without it.
    """

    origin: str
    encrypted: bool
    version: HttpVersion
    started_s: float
    sent_s: float
    receive: Interval | None
    wire_bytes: int | None
    handshake_s: float | None = None
    opens: bool = False
    connection_id: str | None = None
    x_cache: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLoad:
    """One page as a log has it.

    Attributes
    ----------
    name : of the page: the origin of its first entry.
    load_s : from its begin to the load event; None where the log does not tell.
    left_out : entries that are none of its objects, by reason.
    """

    name: str
    started_at: datetime
    load_s: float | None
    objects: Sequence[WebObject]
    left_out: Mapping[LeftOut, int]

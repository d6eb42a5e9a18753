"""Options of a server: limits, TLS and permissions."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.units import KIB, MIB
from tradewind_agent.compression.wire_names import PACKED_AT_ONCE
from tradewind_agent.session.metering import HostMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Bounds on what one client can make the server hold.

    Attributes
    ----------
    max_connections : beyond it one that waits for a request is dropped; where none does, the new one is answered 503.
    max_head_bytes : request line and header fields together; beyond it 431.
    max_queued_requests : pipelined requests held per connection before reading pauses.
    max_packed_downloads : packed at once, all on the same threads, one a core; others go as they are.
    max_body_bytes : one request's body; None for any. Beyond it 413.
    max_file_bytes : size of an uploaded file, in parts or whole; None for any. Beyond it 413.
    quota_bytes : what the served folder may hold once an upload is finished; None for any. Beyond it 507.
    head_timeout_s : to finish a request line and its header fields once started.
    idle_timeout_s : between requests of a connection.
    stall_timeout_s : without any progress of a body in either direction.
    sync_every_bytes : of an upload in parts, between syncs to disk: what a crash of the machine may cost at most.
    part_expiry_s : age of an untouched unfinished upload after which it may be removed.
    """

    max_connections: int = 1024
    max_head_bytes: int = 16 * KIB
    max_queued_requests: int = 256
    max_packed_downloads: int = PACKED_AT_ONCE
    max_body_bytes: int | None = None
    max_file_bytes: int | None = None
    quota_bytes: int | None = None
    head_timeout_s: float = 30.0
    idle_timeout_s: float = 120.0
    stall_timeout_s: float = 300.0
    sync_every_bytes: int = 64 * MIB
    part_expiry_s: float = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of the server's certificate chain and its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One answered request, as an access log has it."""

    peer: str
    method: str
    target: str
    status: int
    sent_bytes: int
    received_bytes: int
    duration_s: float


AccessObserver = Callable[[AccessEntry], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """All that ``serve_forever`` needs.

    Attributes
    ----------
    root : folder that is served; nothing outside it is ever read or written.
    port : 0 takes a free one.
    writable : whether PUT is allowed.
    bearer_token : required of every request when set.
    allowed_hosts : names by which it may be addressed, besides its own. See `tradewind_agent.serve.host_names`.
    hidden : whether what has a dot before its name is served too.
    sendfile : let the kernel copy large bodies (plain TCP only); off only to compare.
    grace_s : how long a stop waits for requests under way.
    observer : called with every answered request.
    meter : of this host's energy, which transfers that name themselves can ask for; None meters nothing.
    accepted_resources : resources of this host that clients may limit while they are served; see `resource_requests`.
    congestion_control : that its connections send by; None leaves the system's. See `Server.refusal`.
    """

    root: Path
    host: str = "127.0.0.1"
    port: int = 0
    writable: bool = False
    tls: TlsFiles | None = None
    bearer_token: str | None = field(default=None, repr=False)
    allowed_hosts: Sequence[str] = ()
    hidden: bool = False
    limits: ServerLimits = ServerLimits()
    sendfile: bool = True
    grace_s: float = 10.0
    observer: AccessObserver | None = None
    meter: HostMeter | None = None
    congestion_control: str | None = None
    accepted_resources: Collection[str] = ()

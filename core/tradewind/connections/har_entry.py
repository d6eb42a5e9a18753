"""One entry of a HAR log: an object that came over the network, or the reason why it is none.

HAR 1.2 leaves much open, and tools differ: unknown times are -1 or absent, ``ssl`` is part of ``connect``,
``connection`` may be the port of the server, and sizes stand in four places. Firefox deviates in three of them,
mitmproxy in one.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tradewind.connections.page_load import HttpVersion, LeftOut, WebObject

Json = Mapping[str, Any]

MS = 1e-3
MAX_MS = 1e10
"""Four months; a longer time is wrong."""

MAX_BYTES = 2**40
"""Most bytes of one object; a larger size is wrong."""

LEAST_RTT_S, MOST_RTT_S = 1e-6, 60.0
"""Bounds of a handshake; one that took less, or longer, says nothing of the path."""

_DEFAULT_PORT = {"http": 80, "https": 443}
_NO_BODY = frozenset({204, 304})
_SWITCHED_PROTOCOLS = 101
_LONGEST_HOST = 253
_HEADERS_READ = frozenset({"content-length", "content-encoding", "x-cache"})


CHROME = "WebInspector"
"""How the developer tools of Chromium browsers call themselves."""

WEBKIT = "WebKit Web Inspector"
"""How the developer tools of Safari and other WebKit browsers call themselves."""

_LOCAL_FETCHES = frozenset({"Memory Cache", "Disk Cache", "Service Worker", "Inspector Override"})
"""What WebKit calls answers that did not come over the network for this request."""

_WORKERS_SOURCES = frozenset({"cache-storage", "http-cache", "fallback-code"})
"""Where service workers of Chromium have answers from, other than the network."""

FIREFOX = "Firefox"
"""How its developer tools call themselves; other tools that drive it follow the format, and write a small f."""

MITMPROXY = "mitmproxy"
"""How the names of it and its older scripts start."""


def read_entry(entry: Any, *, page_started_at: datetime, tool: str) -> WebObject | LeftOut:
    """Return the object that an entry of ``tool`` describes, in seconds since the begin of its page's load."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("request"), Mapping):
        return LeftOut.MALFORMED
    if tool == FIREFOX:
        entry = _normalise_firefox(entry)
    if _has_tls_after_connect(entry, tool):
        entry = _move_tls_into_connect(entry)
    request, response = _read_object(entry, "request"), _read_object(entry, "response")
    address = _parse_address(request)
    if address is None:
        return LeftOut.NOT_HTTP
    started_at = parse_instant(entry.get("startedDateTime"))
    if started_at is None:
        return LeftOut.NO_START
    if (reason := _find_left_out_reason(entry, response)) is not None:
        return reason
    timings, version = _read_object(entry, "timings"), _find_version(response, request)
    encrypted = address.scheme == "https"
    started_s = (started_at - page_started_at).total_seconds()
    before_s = sum(_read_seconds(timings, phase) or 0.0 for phase in ("blocked", "dns", "connect"))
    connect_s, handshake_s = (
        _read_seconds(timings, "connect"),
        _compute_handshake_s(timings, version, encrypted=encrypted),
    )
    return WebObject(
        origin=parse_origin(address),
        encrypted=encrypted,
        version=version,
        started_s=started_s,
        sent_s=started_s + before_s,
        receive=_read_received(timings, started_s + before_s),
        wire_bytes=_compute_wire_bytes(response, method=str(request.get("method", ""))),
        handshake_s=handshake_s,
        opens=connect_s is not None and connect_s > 0,
        connection_id=_find_connection_id(entry, address, tool),
        x_cache=_read_header(response, "x-cache"),
    )


def _normalise_firefox(entry: Json) -> Json:
    """Return the entry as the format has it, which has bodies without headers and no times of a cache.

    Firefox has the entire answer, and times that are all 0 (its NetworkTimings.sys.mjs, har-builder.js). A connection
    has the port that it leads to for a name: behind a proxy, all have one.
    """
    timings, response = _read_object(entry, "timings"), dict(_read_object(entry, "response"))
    from_cache = bool(timings) and all(value == 0 for value in timings.values())
    if (body_bytes := _read_count(response, "bodySize")) is not None:
        response["bodySize"] = max(body_bytes - (_read_count(response, "headersSize") or 0), 0)
    named = {name: value for name, value in entry.items() if name != "connection"}
    return {**named, "response": response} | ({"_fromCache": True} if from_cache else {})


def _has_tls_after_connect(entry: Json, tool: str) -> bool:
    """Return whether ``ssl`` comes after ``connect``, as two tools write it, and as what takes longer than all must."""
    timings = _read_object(entry, "timings")
    connect_s, tls_s = _read_seconds(timings, "connect"), _read_seconds(timings, "ssl")
    if connect_s is None or tls_s is None:
        return False
    return tool == FIREFOX or tool.startswith(MITMPROXY) or tls_s > connect_s + LEAST_RTT_S


def _move_tls_into_connect(entry: Json) -> Json:
    """Return the entry as the format has it, which has TLS within ``connect``."""
    timings = _read_object(entry, "timings")
    total_s = (_read_seconds(timings, "connect") or 0.0) + (_read_seconds(timings, "ssl") or 0.0)
    return {**entry, "timings": {**timings, "connect": total_s / MS}}


def slim_entry(entry: Any) -> dict[str, Any]:
    """Reduce an entry to what `read_entry` reads: no paths, no cookies, no bodies, and few headers.

    Empty for what is no entry. It can be written as JSON, see `parse_finite`.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("request"), Mapping):
        return {}
    request, response = _read_object(entry, "request"), _read_object(entry, "response")
    headers = [_slim_header(each) for each in _list_headers(response) if _read_header_name(each) in _HEADERS_READ]
    address = _parse_address(request)
    slim = {name: entry[name] for name in _ENTRY_FIELDS_READ if name in entry}
    slim["request"] = {
        "method": request.get("method"),
        "url": "about:blank" if address is None else f"{parse_origin(address)}/",
        "httpVersion": request.get("httpVersion"),
    }
    slim["response"] = {name: response[name] for name in _RESPONSE_FIELDS_READ if name in response} | {
        "headers": headers
    }
    content = _read_object(response, "content")
    slim["response"]["content"] = {"size": content.get("size")}
    slim["timings"] = {name: value for name, value in _read_object(entry, "timings").items() if name in _TIMINGS_READ}
    return {name: parse_finite(value) for name, value in slim.items()}


def _slim_header(header: Json) -> dict[str, Any]:
    """Drop what tools add to a header."""
    return {name: header[name] for name in ("name", "value") if name in header}


_ENTRY_FIELDS_READ = (
    "pageref",
    "startedDateTime",
    "connection",
    "serverIPAddress",
    "_serverPort",
    "_fromCache",
    "_fetchType",
)
_RESPONSE_FIELDS_READ = (
    "status",
    "httpVersion",
    "headersSize",
    "bodySize",
    "_transferSize",
    "_error",
    "_serviceWorkerResponseSource",
)
_TIMINGS_READ = frozenset({"blocked", "dns", "connect", "ssl", "send", "wait", "receive"})


def parse_finite(value: Any) -> Any:
    """Replace numbers that are too large for a float by ``None``: they are read as inf and could not be written."""
    if isinstance(value, Mapping):
        return {name: parse_finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [parse_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def parse_instant(text: Any) -> datetime | None:
    """Parse a time as logs write it; without a zone it counts as UTC. ``None`` if it is no time."""
    try:
        read = datetime.fromisoformat(text)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def find_origin(entry: Any) -> str | None:
    """Return the origin of the requested address; ``None`` where it is neither http nor https."""
    address = _parse_address(_read_object(entry, "request")) if isinstance(entry, Mapping) else None
    return None if address is None else parse_origin(address)


def parse_origin(address: SplitResult) -> str:
    """Return scheme, host and port of an address, including a default port."""
    host = address.hostname or ""
    return f"{address.scheme}://{f'[{host}]' if ':' in host else host}:{address.port or _DEFAULT_PORT[address.scheme]}"


def parse_seconds(value: Any) -> float | None:
    """Convert milliseconds of a log to s; ``None`` where they are unknown."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_MS
    return float(value) * MS if known else None


def _read_object(parent: Json, name: str) -> Json:
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def _read_seconds(timings: Json, phase: str) -> float | None:
    return parse_seconds(timings.get(phase))


def _read_count(parent: Json, name: str) -> int | None:
    value = parent.get(name)
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_BYTES
    return int(value) if known else None  # type: ignore[arg-type]  # it is a number here


def _list_headers(response: Json) -> list[Json]:
    found = response.get("headers")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list | tuple) else []


def _read_header(response: Json, name: str) -> str:
    """Return all values of a header, separated by commas, as caches on the way have added them."""
    return ", ".join(str(each.get("value", "")) for each in _list_headers(response) if _read_header_name(each) == name)


def _read_header_name(header: Json) -> str:
    return str(header.get("name", "")).lower()


def _parse_address(request: Json) -> SplitResult | None:
    try:
        address = urlsplit(str(request.get("url", "")))
        usable = address.scheme in _DEFAULT_PORT and address.hostname and (address.port is None or address.port > 0)
    except ValueError:
        return None
    host = address.hostname or ""
    return address if usable and len(host) <= _LONGEST_HOST and host.isprintable() else None


def _find_left_out_reason(entry: Json, response: Json) -> LeftOut | None:
    status = _read_count(response, "status")
    if not status:
        return LeftOut.FAILED
    if status == _SWITCHED_PROTOCOLS:
        return LeftOut.UPGRADED
    nothing_sent = response.get("_transferSize") == 0 and status not in _NO_BODY
    is_local = (
        entry.get("_fetchType") in _LOCAL_FETCHES or response.get("_serviceWorkerResponseSource") in _WORKERS_SOURCES
    )
    return LeftOut.CACHED if entry.get("_fromCache") or is_local or nothing_sent else None


def _find_version(response: Json, request: Json) -> HttpVersion:
    value = str(response.get("httpVersion") or request.get("httpVersion") or "").lower()
    if value.startswith(("http/1.1", "h1")):
        return HttpVersion.HTTP_1
    if value.startswith(("http/3", "h3")) or "quic" in value:  # Chrome wrote http/2+quic/43 before it had a name
        return HttpVersion.HTTP_3
    if value.startswith(("http/2", "h2")):
        return HttpVersion.HTTP_2
    return HttpVersion.OTHER


def _read_received(timings: Json, sent_s: float) -> tuple[float, float] | None:
    receive_s = _read_seconds(timings, "receive")
    wait_s = _read_seconds(timings, "wait")
    if receive_s is None or wait_s is None:
        return None
    begin_s = sent_s + (_read_seconds(timings, "send") or 0.0) + wait_s
    return begin_s, begin_s + receive_s


def _compute_handshake_s(timings: Json, version: HttpVersion, *, encrypted: bool) -> float | None:
    """Return the part of connecting that takes one round trip: TCP's part, or all of QUIC's; ``None`` if unknown."""
    connect_s, tls_s = _read_seconds(timings, "connect"), _read_seconds(timings, "ssl")
    if connect_s is None:
        return None
    if encrypted and version is not HttpVersion.HTTP_3:
        if tls_s is None:
            return None
        connect_s -= tls_s
    return connect_s if LEAST_RTT_S <= connect_s <= MOST_RTT_S else None


def _compute_wire_bytes(response: Json, *, method: str) -> int | None:
    """Return the bytes received for an object: the largest of the sizes in the log.

    An uncompressed body is as long as its content: browsers count fewer bytes where some of it came late. The announced
    length counts where no other size is known, unless the transfer was broken off.
    """
    headers = _read_count(response, "headersSize") or 0
    value = [_read_count(response, "_transferSize")]
    if (body := _read_count(response, "bodySize")) is not None:
        value.append(headers + body)
    content = None
    if method != "HEAD" and _read_count(response, "status") not in _NO_BODY:
        if not _read_header(response, "content-encoding"):
            content = _read_count(_read_object(response, "content"), "size")
        if content is None and not response.get("_error"):
            content = _read_content_length(response)
    value.append(None if content is None else headers + content)
    return max((each for each in value if each is not None), default=None)


def _read_content_length(response: Json) -> int | None:
    value = _read_header(response, "content-length")
    return int(value) if value.isascii() and value.isdigit() and len(value) < len(str(MAX_BYTES)) else None


def _find_connection_id(entry: Json, address: SplitResult, tool: str) -> str | None:
    """Return the log's name of the connection; some tools write the server's port instead, which names none."""
    value = entry.get("connection")
    name = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    ports = {str(address.port or _DEFAULT_PORT[address.scheme]), str(entry.get("_serverPort"))}
    if tool in (CHROME, WEBKIT):  # they number their connections
        ports = set()
    if not name or name in {"0", "-1"} or name in ports:
        return None
    server = entry.get("serverIPAddress")
    return f"{server if isinstance(server, str) and server else parse_origin(address)} {name}"

"""Blocking requests of packing threads, with the engine's TLS, proxies and logins."""

from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import IPPROTO_TCP, TCP_NODELAY

from tradewind.units import KIB
from tradewind_agent.compression.wire_names import IDENTITY
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.retry import parse_retry_after
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import ConnectionFault, FileFault, RefusedByServer
from tradewind_agent.system_errors import explain_os_error

CONNECTION_ERRORS = (OSError, HTTPException)
"""Errors of a broken connection."""

_MOST_REASON_BYTES = 2000
_MOST_FORGOTTEN_BYTES = 64 * KIB
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504, 509})


def connect(url: Url, options: EngineOptions) -> HTTPConnection:
    """Return an open connection towards the server of ``url``.

    Raises
    ------
    ConnectionFault : also where a proxy refuses to go on to it.
    """
    origin, proxy = url.origin, options.proxies.find_proxy(url.origin)
    if proxy is not None and (proxy.fault is not None or proxy.is_socks):
        reason = "packed copies cannot go through a SOCKS proxy; leave out --compress"
        raise ConnectionFault(proxy.fault or reason, retryable=False)
    first = origin if proxy is None else proxy
    if origin.is_secure:
        connection: HTTPConnection = HTTPSConnection(
            first.host, first.port, timeout=options.answer_timeout_s, context=options.tls_in_use
        )
        if proxy is not None:
            connection.set_tunnel(origin.host, origin.port, proxy.build_headers())
    else:
        connection = HTTPConnection(first.host, first.port, timeout=options.answer_timeout_s)
    try:
        connection.connect()
    except CONNECTION_ERRORS as error:
        connection.close()
        reason = f"cannot connect to {first.host}:{first.port}: {_in_words(error)}"
        raise ConnectionFault(reason, before_answer=True) from error
    connection.sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    if options.congestion_control is not None:
        from tradewind_agent.transport.choosing import choose_congestion_control  # noqa: PLC0415 -- few need it

        choose_congestion_control([connection.sock], options.congestion_control)
    return connection


def send_head(
    connection: HTTPConnection, method: str, url: Url, headers: dict[str, str], options: EngineOptions
) -> None:
    """Send the head of a request; its body, if any, goes by ``connection.send``."""
    proxy = None if url.origin.is_secure else options.proxies.find_proxy(url.origin)
    connection.putrequest(method, str(url) if proxy else url.target, skip_accept_encoding=True)
    fields = {"User-Agent": options.user_agent, **options.credentials.build_headers(url), **headers}
    if options.tag is not None:
        fields |= options.tag.build_headers(url)
    for name, value in (fields | (proxy.build_headers() if proxy else {})).items():
        connection.putheader(name, value)
    connection.endheaders()


def send_request(
    connection: HTTPConnection, method: str, url: Url, headers: dict[str, str], options: EngineOptions
) -> HTTPResponse:
    """Ask without a body, and the head of the answer.

    Raises
    ------
    ConnectionFault
    """
    try:
        send_head(connection, method, url, headers, options)
        return connection.getresponse()
    except CONNECTION_ERRORS as error:
        raise make_connection_fault(error, before_answer=True) from error


def discard_body(answer: HTTPResponse, method: str) -> HTTPResponse:
    """Return the answer to ``method`` once its body is read.

    Raises
    ------
    ConnectionFault : also where there is more of a body than anybody would say.
    """
    try:
        too_long = len(answer.read(_MOST_FORGOTTEN_BYTES)) == _MOST_FORGOTTEN_BYTES
    except CONNECTION_ERRORS as error:
        raise make_connection_fault(error) from error
    if too_long:
        raise ConnectionFault(f"the answer to {method} has more than {_MOST_FORGOTTEN_BYTES} bytes")
    return answer


def encodes_on_the_fly(url: Url, options: EngineOptions) -> bool:
    """Return whether a server encodes on the fly; if not, the file itself is stored encoded, and must stay so.

    Raises
    ------
    ConnectionFault
    """
    with closing(connect(url, options)) as connection:
        answer = discard_body(send_request(connection, "HEAD", url, {"Accept-Encoding": IDENTITY}, options), "HEAD")
    return answer.status == HTTPStatus.OK and get_coding(answer) == IDENTITY


def get_coding(answer: HTTPResponse) -> str:
    return answer.headers.get("Content-Encoding", IDENTITY).strip().lower()


def make_connection_fault(error: BaseException, *, before_answer: bool = False) -> ConnectionFault:
    return ConnectionFault(f"the connection broke: {_in_words(error)}", before_answer=before_answer)


def _in_words(error: BaseException) -> str:
    return str(explain_os_error(error) if isinstance(error, OSError) else error) or type(error).__name__


def make_refusal(answer: HTTPResponse) -> FileFault:
    """Return why a server has refused, in its own words where it has any."""
    import json  # noqa: PLC0415 -- hardly ever needed

    try:
        text = answer.read(_MOST_REASON_BYTES)
    except CONNECTION_ERRORS:
        text = b""  # its status says enough
    try:
        detail = f": {json.loads(text)['detail']}"
    except (ValueError, LookupError, TypeError):
        detail = ""
    reason = f"the server answered {answer.status} {answer.reason}{detail}"
    fields = {name.lower(): value for name, value in answer.headers.items()}
    return RefusedByServer(
        reason, retryable=answer.status in _RETRYABLE, retry_after_s=parse_retry_after(fields), status=answer.status
    )

"""From bytes to requests: httptools with limits on what a head may hold."""

from collections.abc import Callable
from http import HTTPStatus

import httptools

from tradewind_agent.serve.body import RequestBody
from tradewind_agent.serve.messages import ReceivedRequest, RequestRefused
from tradewind_agent.serve.uploads.stated_sums import SUM_FIELDS

_SINGLE_FIELDS = frozenset({"host", "content-range", "content-length", "authorization", "range", "if-range"})


class RequestReader:
    """Parses what a connection receives; calls ``deliver`` with each request once its head is complete.

    Parameters
    ----------
    deliver : takes the request, whose body may still be under way.
    make_body : (declared length or None, whether the client awaits "100 Continue") → body.
    clock : seconds, monotonic.
    """

    def __init__(
        self,
        *,
        max_head_bytes: int,
        deliver: Callable[[ReceivedRequest], None],
        make_body: Callable[[int | None, bool], RequestBody],
        clock: Callable[[], float],
    ) -> None:
        self.in_head = False
        self._parser = httptools.HttpRequestParser(self)
        self._max_head_bytes = max_head_bytes
        self._deliver, self._make_body, self._clock = deliver, make_body, clock
        self._head_bytes = 0
        self._undelivered_bytes = 0
        self._started_s = 0.0
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: RequestBody | None = None
        self._refusal: RequestRefused | None = None
        self._last_request = False

    @property
    def body(self) -> RequestBody | None:
        """Return the body that is arriving now."""
        return self._body

    def feed(self, block: bytes) -> None:
        """Take what arrived.

        Raises
        ------
        RequestRefused : 400, 417 or 431; nothing after it can be understood.
        """
        if self._last_request and self._body is None:
            return  # the client announced the end of the connection: what follows is no request
        self._undelivered_bytes += len(block)
        try:
            self._parser.feed_data(block)
        except httptools.HttpParserUpgrade:
            pass  # no other protocol is spoken here: the request is answered as HTTP/1.1 and is the last
        except httptools.HttpParserCallbackError:
            if self._refusal is None:
                raise
            raise self._refusal from None
        except httptools.HttpParserError as error:
            if self._last_request and self._body is None:
                return
            raise RequestRefused(HTTPStatus.BAD_REQUEST, f"not HTTP/1.1: {error}") from error
        # In a body it is a trailer, or the extension of a chunk, that does not end.
        if self._undelivered_bytes > self._max_head_bytes:
            raise self._make_head_refusal()

    def on_message_begin(self) -> None:
        self.in_head = True
        self._started_s = self._clock()
        self._head_bytes = 0
        self._target = b""
        self._headers = {}

    def on_url(self, piece: bytes) -> None:
        self._target += piece
        self._grow(len(piece))

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        if not self.in_head:
            if self._body is not None and key in SUM_FIELDS:  # other trailers say nothing here
                self._body.trailer[key] = text
            return
        self._grow(len(name) + len(value) + 4)
        if key not in self._headers:
            self._headers[key] = text
        elif key in _SINGLE_FIELDS:
            self._refuse(HTTPStatus.BAD_REQUEST, f"header field {key} is given twice")
        else:
            self._headers[key] += ", " + text

    def on_headers_complete(self) -> None:
        self.in_head = False
        self._undelivered_bytes = 0
        http_minor = int(self._parser.get_http_version().partition(".")[2] or 0)
        if http_minor >= 1 and "host" not in self._headers:
            self._refuse(HTTPStatus.BAD_REQUEST, "HTTP/1.1 requests need a Host field")
        expects = self._headers.get("expect", "").lower()
        if expects not in ("", "100-continue"):
            self._refuse(HTTPStatus.EXPECTATION_FAILED, f"cannot meet expectation {expects!r}")
        if (coding := self._headers.get("transfer-encoding", "chunked").strip().lower()) != "chunked":
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, f"cannot undo the transfer coding {coding!r}")
        declared = None if "transfer-encoding" in self._headers else int(self._headers.get("content-length", 0))
        self._last_request = not self._parser.should_keep_alive() or self._parser.should_upgrade()
        self._body = self._make_body(declared, bool(expects) and declared != 0)
        self._deliver(
            ReceivedRequest(
                method=self._parser.get_method().decode("ascii"),
                target=self._target.decode("latin-1"),
                headers=self._headers,
                http_minor=http_minor,
                keep_alive=not self._last_request,
                body=self._body,
                arrived_s=self._started_s,
            )
        )

    def on_body(self, block: bytes) -> None:
        self._undelivered_bytes = 0
        if self._body is not None:
            self._body.feed(block)

    def on_message_complete(self) -> None:
        self._undelivered_bytes = 0
        if self._body is not None:
            self._body.finish()
            self._body = None

    def _grow(self, count: int) -> None:
        self._head_bytes += count
        if self._head_bytes > self._max_head_bytes:
            refusal = self._make_head_refusal()
            self._refuse(refusal.status, refusal.detail)

    def _make_head_refusal(self) -> RequestRefused:
        return RequestRefused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"request line and fields exceed {self._max_head_bytes} bytes"
        )

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        self._refusal = RequestRefused(status, detail)
        raise self._refusal  # httptools wraps it; feed() unwraps

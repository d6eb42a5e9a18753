"""Third-party copies between web servers: the destination fetches a file from the source, as grid storage does.

``COPY`` to the destination names the source and carries the credentials for it (HTTP-TPC). The answer shows progress
while the file moves, and its last line says whether it is there. An answer that breaks off says nothing: then HEAD
shows what the destination has.
"""

from collections.abc import Callable
from time import monotonic

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.http.http1 import REDIRECTS, RequestHead, ResponseHead
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.jobs import RelayJob, SizeTrust
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.legs import Instead, ServerCopy
from tradewind_agent.engine.relay.markers import CopyMarkers
from tradewind_agent.engine.relay.sending import PutReceiver
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.engine.transfer_host import FileExchange, TransferHost
from tradewind_agent.engine.upload_exchange import SendingFile, UploadExchange
from tradewind_agent.errors import FileFault

_ANSWERED = frozenset({200, 201, 202, 204})
_OK, _NOT_FOUND, _CONFLICT = 200, 404, 409
_UNKNOWN_METHOD = frozenset({400, 404, 405, 501})
_REFUSED = frozenset({401, 403, 412})
_CLOCK_STEP_S = 2.0


class CopyExchange(SentAlone, UploadExchange):
    """A COPY with its markers, or a HEAD that asks for what it made."""

    def __init__(
        self, file: SendingFile, url: Url, request: RequestHead, on_moved: Callable[[int], None] | None
    ) -> None:
        super().__init__(file, url, request, None, is_full=False)
        self.markers = CopyMarkers()
        self._on_moved = on_moved

    @property
    def is_copy(self) -> bool:
        return self._on_moved is not None

    def on_data(self, data: memoryview) -> None:
        self.markers.feed(data)
        if self._on_moved is not None:
            self._on_moved(self.markers.moved_bytes)

    def on_end(self) -> None:
        self.markers.close()
        super().on_end()


class ThirdPartyCopy(ServerCopy):
    """The copy of one file by the server that is to have it."""

    def __init__(self, job: RelayJob, host: TransferHost) -> None:
        super().__init__(job.fetched, job.destination, host)
        assert job.size_bytes is not None
        self._relay, self._size_bytes = job, job.size_bytes
        self._in_flight: CopyExchange | None = None
        self._noted_bytes = 0
        self._copied_at_s: float | None = None  # to be asked about
        self._is_confirmed = False  # by the last line
        self._has_folder = self._is_preparing = False

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    @property
    def remaining_bytes(self) -> int:
        return 0 if self.is_over else max(self._size_bytes - self._noted_bytes, 0)

    @property
    def has_undealt(self) -> bool:
        return not (self.is_over or self.is_waiting or self._is_preparing or self._in_flight is not None)

    def take(self, streams: int, most_bytes: int) -> FileExchange | None:  # noqa: ARG002 -- the servers move the bytes
        if not self.has_undealt:
            return None
        if self._copied_at_s is not None:
            request, on_moved = self.request("HEAD", {"Accept-Encoding": "identity"}), None
        else:
            self._started_at_s = monotonic()
            request, on_moved = self.request("COPY", self._build_copy_headers(streams)), self._note_markers
        self._in_flight = CopyExchange(self, self.url, request, on_moved)
        return self._in_flight

    def _build_copy_headers(self, streams: int) -> dict[str, str]:
        source = self._relay.source
        headers = {
            "Source": str(source),
            "Overwrite": "T",
            "Credential": "none",
            "X-Number-Of-Streams": str(streams),
            "Content-Length": "0",
        }
        for name, value in self.host.options.credentials.build_headers(source).items():
            headers[f"TransferHeader{name}"] = value
        return headers

    def _note_markers(self, moved_bytes: int) -> None:
        moved_bytes = min(moved_bytes, self._size_bytes)
        if not self.is_over and moved_bytes > self._noted_bytes:
            self.host.note_moved(self, moved_bytes - self._noted_bytes)
            self._noted_bytes = moved_bytes

    # Answers.

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        assert isinstance(exchange, CopyExchange)
        self._in_flight = None
        self.learn_cookies(exchange, head)
        if self.is_over:
            return
        if not exchange.is_copy:
            self._judge_stored(head)
        elif head.status in REDIRECTS:
            self.redirect(head)
        elif head.status in _ANSWERED:
            self._judge_end(exchange.markers)
        elif head.status == _CONFLICT and not self._has_folder:
            self._has_folder = self._is_preparing = True
            self.host.make_remote_folder(self.url, self._go_on)
        elif head.status in _UNKNOWN_METHOD or head.status in _REFUSED:
            self.instead = Instead(
                f"the destination answered {head.status_line} to COPY", holds_for_all=head.status in _UNKNOWN_METHOD
            )
            self.give_up(self.instead.reason)
        else:
            self.refuse(exchange, head)

    def _go_on(self, _refusal: str) -> None:
        """Ask for the copy again: it may have been refused for something else than its folder."""
        self._is_preparing = False
        self.host.make_available(self)

    def _judge_end(self, markers: CopyMarkers) -> None:
        if markers.succeeded is False:
            self.fault(FileFault(f"the destination could not copy it: {markers.reason or 'it does not say why'}"))
            return
        self._is_confirmed = markers.succeeded is True
        self._copied_at_s = self._started_at_s
        self.host.make_available(self)

    def _judge_stored(self, head: ResponseHead) -> None:
        """Judge by what the destination has now: a file of this size, that is new where no last line has said so."""
        started_at_s, self._copied_at_s = self._copied_at_s, None
        assert started_at_s is not None
        length = head.content_length if head.status == _OK else None
        is_new = self._is_confirmed or _is_written_since(head, started_at_s)
        if length == self._size_bytes and is_new:
            self._note_markers(self._size_bytes)
            self.is_over = True
            self.host.note_done(self)
        elif self._is_confirmed and head.status == _OK and length is not None:
            self.give_up(
                f"the destination has {length} bytes of it, the source listed {self._size_bytes}; copy it again"
            )
        elif self._is_confirmed:
            self.fault(FileFault(f"the destination says that it has the file, and answers {head.status_line} for it"))
        else:
            self.fault(FileFault("the destination broke off without saying whether the file is there"))

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        assert isinstance(exchange, CopyExchange)
        self._in_flight = None
        if self.is_over:
            return
        if exchange.is_copy and exchange.markers.succeeded is not None:
            self._judge_end(exchange.markers)
            return
        if exchange.is_copy and fault is not None:
            self._is_confirmed, self._copied_at_s = False, self._started_at_s
        if (counted := self.count_loss(fault)) is not None:
            self.fault(counted)
        if self.has_undealt:
            self.host.make_available(self)

    def checkpoint(self) -> None:
        """Do nothing: no byte of the file is here."""

    def make_closer(self) -> Callable[[], None]:
        return lambda: None


def _is_written_since(head: ResponseHead, started_at_s: float) -> bool:
    """Return whether a file was written since a time of this host, by the clock of its server."""
    now, written = (parse_http_date(head.headers.get(name, "")) for name in ("date", "last-modified"))
    elapsed_s = monotonic() - started_at_s + _CLOCK_STEP_S
    return now is not None and written is not None and (now - written).total_seconds() <= elapsed_s


class ThirdPartyReceiver(PutReceiver):
    """Servers that fetch files from others themselves."""

    def make_server_copy(self, job: RelayJob, host: TransferHost) -> ThirdPartyCopy | None:
        """Return the copy by the destination, of a file that may be fetched by it."""
        return ThirdPartyCopy(job, host) if may_be_fetched(job, host.options) else None


def may_be_fetched(job: RelayJob, options: EngineOptions) -> bool:
    """Return whether the destination may fetch a file: its size shows whether all of it has arrived.

    A file whose sum is to be compared goes through this host, and so does one whose source wants credentials that would
    cross the network in the clear.
    """
    fetched = job.fetched
    is_known = fetched.size_bytes is not None and fetched.size_trust is not SizeTrust.ROUNDED
    if not is_known or fetched.checksum is not None or options.checksum:
        return False
    return job.destination.origin.is_secure or not options.credentials.build_headers(job.source)


async def takes_third_party_copies(folder: Url, options: EngineOptions) -> bool:
    """Return whether a server says that it copies files; it may still refuse to fetch them from another."""
    try:
        answer = await fetch(folder, options.limit_for_questions(), {}, method="OPTIONS")
    except FileFault:
        return False
    methods = {method.strip().upper() for method in answer.head.headers.get("allow", "").split(",")}
    return "COPY" in methods and "dav" in answer.head.headers

"""The sending half of a relayed file for servers that take PUT: in resumable parts if they take those, else streamed.

A file of one unit goes in one request once all of it is here and its sum is right. A longer one streams: its last unit
leaves only after the sum of all was compared, and a receiver gets no file whose body was cut.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from time import monotonic

from tradewind.units import MIB
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.jobs import RelayJob, UploadJob
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.legs import SendingLeg, ServerCopy
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload import FileUpload
from tradewind_agent.engine.upload_exchange import FileSlice, SliceSource, UploadExchange
from tradewind_agent.errors import FileFault

_UNIT_BYTES = 8 * MIB


class RelayedSlice(FileSlice):
    """Bytes of units that are here, or will be when their turn comes.

    ``release`` : called with the number of each unit whose last byte was read, where it is not needed again.
    """

    file_body = None

    def __init__(
        self,
        source: SliceSource,
        file: RelayedFile,
        first: int,
        last: int,
        release: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(source, first, last)
        self._file, self._release = file, release

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when the next unit is here, or the file has failed."""
        self._file.call_when_room(wake)

    def read(self, most_bytes: int) -> bytes:
        number = self._file.units.find_unit(self.position)
        if not self._file.is_ready(number) and not self._file.is_ended:
            return b""
        unit_last = self._file.units.get_range(number)[1]
        block = super().read(min(most_bytes, unit_last + 1 - self.position))
        if self.position > unit_last:
            self._release(number)
        return block


class StreamedExchange(SentAlone, UploadExchange):
    """The only request of a file that is received while it is sent."""


class RelayedUpload(FileUpload, SendingLeg):
    """The sending half of one file."""

    form = "relayed"

    def __init__(self, file: RelayedFile, host: TransferHost) -> None:
        super().__init__(make_upload_job(file), host)
        self._file = file
        self._digest = file.stated_sha256
        version = (str(file.job.source), file.units.size_bytes, file.validator)
        self._upload_id = sha256(repr(version).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        # Parts are joined under one id, which must name one version of the file.
        self._in_parts = file.units.is_divided and file.validator is not None
        self._must_ask = self._in_parts

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._preparing:
            return False
        if self._in_parts and not self._must_ask:
            return self._find_ready_part() is not None or (not self._undealt and not self._in_flight)
        if self._in_flight:
            return False
        return self._must_ask or self._has_sent_all_at_s is not None or self._file.is_ready(1) or self._file.is_gone(1)

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:  # noqa: ARG002 -- units decide
        if not self.has_undealt:
            return None
        if self._in_parts and not self._must_ask:
            if (part := self._find_ready_part()) is not None:
                exchange = self._put_part(*part)
                self._undealt = self._find_missing()
                return exchange
            self._must_ask = True  # all are confirmed, but not the file
        return None if self._in_flight else self._make_sole_request()

    def _make_sole_request(self) -> UploadExchange | None:
        """Return a request that must be the only one of the file."""
        if self._must_ask:
            return self._ask_received()
        if self._has_sent_all_at_s is not None:
            return self._send("HEAD", {}, None)
        if self._file.is_gone(1):
            self._file.begin_again("its request was broken off")
            return None
        return self._put_full_file()

    def _find_ready_part(self) -> tuple[int, int] | None:
        """Return the next range to send that is here."""
        for first, last in self._undealt:
            for number in range(self._file.units.find_unit(first), self._file.units.find_unit(last) + 1):
                if self._file.is_ready(number):
                    unit_first, unit_last = self._file.units.get_range(number)
                    return max(first, unit_first), min(last, unit_last)
        return None

    def note_unit_ready(self, number: int) -> None:  # noqa: ARG002 -- whichever it is
        if self.has_undealt:
            self.host.make_available(self)

    # Requests.

    def _put_full_file(self) -> UploadExchange:
        self._undealt = RangeSet()
        self._put_at_s = monotonic()
        headers = self.describe() | {"Content-Length": str(self.job.size_bytes)}
        last = self.job.size_bytes - 1
        if not self._file.units.is_divided:
            return self._send("PUT", headers, self._make_slice(0, last))
        self._file.note_streaming(is_streaming=True)
        body = RelayedSlice(self, self._file, 0, last, self._file.release)
        exchange = StreamedExchange(self, self.url, self.request("PUT", self._add_digest(headers)), body, is_full=False)
        self._in_flight.add(exchange)
        return exchange

    def _put_part(self, first: int, last: int) -> UploadExchange:
        headers = self.describe() | {
            "Content-Length": str(last - first + 1),
            "Content-Range": f"bytes {first}-{last}/{self.job.size_bytes}",
            "Tradewind-Upload": self._upload_id,
        }
        return self._send("PUT", headers, self._make_slice(first, last))

    def _make_slice(self, first: int, last: int) -> FileSlice:
        return RelayedSlice(self, self._file, first, last)

    def _add_digest(self, headers: dict[str, str]) -> dict[str, str]:
        return headers if self._digest is None else headers | {"Tradewind-Sha256": self._digest}

    def describe(self) -> dict[str, str]:
        """Return what the receiver is to know of the file."""
        return {name: value for name, value in self._file.described.items() if name == "Content-Type"}

    def read_at(self, position: int, length: int) -> bytes:
        if self.is_over:
            raise FileFault("not to be sent any more")
        block = self._file.read(position, length)
        self.host.note_moved(self, len(block))
        return block

    # Answers.

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        self._note_stream_end(exchange)
        super().handle_answer(exchange, head)

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        self._note_stream_end(exchange)
        super().handle_loss(exchange, fault)

    def _note_stream_end(self, exchange: UploadExchange) -> None:
        if isinstance(exchange, StreamedExchange):
            self._file.note_streaming(is_streaming=False)

    def _learn_received(self, head: ResponseHead) -> None:
        super()._learn_received(head)
        if self.is_over or not self._in_parts:
            return
        numbers = range(1, self._file.units.count + 1)
        there = [number for number in numbers if self._received.holds(*self._file.units.get_range(number))]
        if any(self._file.is_gone(number) for number in numbers if number not in there):
            self._file.begin_again("the receiver has lost a part of it")
            return
        if there and self._file.skip(there):
            self._file.note_skipped(RangeSet(self._file.units.get_range(number) for number in there))
        self._file.allow_all_units()

    def _confirm(self, sent: FileSlice) -> None:
        super()._confirm(sent)
        number = self._file.units.find_unit(sent.first)
        if self._received.holds(*self._file.units.get_range(number)):
            self._file.release(number)

    def _give_up_changed(self) -> None:
        """Do nothing: the reading half sees changes of the source."""


def make_upload_job(file: RelayedFile) -> UploadJob:
    """Return the job of a sending half; its source is a path below the source of the copy, and no local file."""
    assert file.units.size_bytes is not None
    return UploadJob(
        source=Path(file.job.fetched.destination),
        destination=file.job.destination,
        size_bytes=file.units.size_bytes,
        modified_at_ns=0,
    )


class PutReceiver:
    """Servers that take files by PUT."""

    def is_there(self, _job: RelayJob, _options: EngineOptions) -> bool:
        """Return false: such servers are asked when the file is sent, if they take parts."""
        return False

    def choose_unit_bytes(self, _size_bytes: int) -> int:
        return _UNIT_BYTES

    def make_sending(self, file: RelayedFile, host: TransferHost) -> RelayedUpload:
        return RelayedUpload(file, host)

    def make_server_copy(self, _job: RelayJob, _host: TransferHost) -> ServerCopy | None:
        """Return nothing: this server is not known to fetch files from others."""
        return None


PUT_RECEIVER = PutReceiver()

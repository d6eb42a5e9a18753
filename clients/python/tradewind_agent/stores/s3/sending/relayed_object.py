"""The sending half of an object that comes from another server: in one PUT, or in parts of the units that are relayed.

An upload in parts that an earlier run has left is used if its first part is that of the file; of the other parts each
that has the MD5 sum of its unit is not sent again. All of them are fetched: only their bytes show what they are.
"""

from collections.abc import Mapping, Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.relay.legs import SendingLeg
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.engine.relay.sending import RelayedSlice, make_upload_job
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload_exchange import FileSlice, UploadExchange
from tradewind_agent.errors import FileFault
from tradewind_agent.stores.s3.sending.divided_upload import OTHER_BYTES, find_part_tag
from tradewind_agent.stores.s3.sending.multipart import Division, StoredPart
from tradewind_agent.stores.s3.sending.object_requests import ObjectExchange, UploadStep
from tradewind_agent.stores.s3.sending.object_upload import ObjectUpload


class RelayedObject(ObjectUpload, SendingLeg):
    """The sending half of one object. Parts to send are those whose units are here."""

    _has_local_source = False

    def __init__(
        self, file: RelayedFile, host: TransferHost, bucket: Url, key: str, *, sends_sums: bool = True
    ) -> None:
        super().__init__(make_upload_job(file), host, bucket, key, sends_sums=sends_sums)
        self._file = file
        self._division = Division(self.job.size_bytes, file.units.unit_bytes)
        self._step = UploadStep.FIND if file.units.is_divided else UploadStep.PUT
        self._left: dict[int, StoredPart] = {}  # by an earlier run
        self._awaits_first_unit = False
        if file.units.is_divided:
            self._open_note()
        file.allow_all_units()

    def plan_parts(self, part_bytes: int | None) -> None:
        """Do nothing: parts are the units that are relayed."""

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._preparing or self._awaits_first_unit:
            return False
        if self._step is UploadStep.PUT:
            return not self._in_flight and self._file.is_ready(1)
        if self._step is UploadStep.PART and not self._reason:
            return bool(self._to_send) or (not self._in_flight and len(self._etags) == self._division.count)
        return not self._in_flight

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:  # noqa: ARG002 -- units decide
        if not self.has_undealt:
            return None
        if self._step is UploadStep.PART and self._to_send:
            return self._send_part(self._to_send.pop())
        if self._step is UploadStep.PUT:
            self._sums[1] = self._file.sums[1].crc32
        return self._make_request()

    def note_unit_ready(self, number: int) -> None:
        if self._awaits_first_unit and number == 1:
            self._choose_upload()
        elif self._step is UploadStep.PART:
            self._take_unit(number)
        self._go_on_if_undealt()

    def _take_unit(self, number: int) -> None:
        """Send a unit as a part, unless an earlier run has left the same bytes."""
        sums, left = self._file.sums[number], self._left.get(number)
        first, length = self._division.get_range(number)
        self._sums[number] = sums.crc32
        if left is not None and (left.etag, left.size_bytes) == (sums.tag, length):
            self._etags[number] = left.etag
            self._received.add(first, first + length - 1)
            self._file.release(number)
            self.note_progress()
        else:
            self._to_send.insert(0, number)

    # Parts of an earlier run.

    def _reuse_parts(self, store_id: str, listed: Sequence[StoredPart]) -> None:
        self._left = {part.number: part for part in listed}
        if not listed and self._may_have_started:
            self._begin_parts(store_id, {})
        elif store_id == self._noted_id:
            self._is_adopted = True
            self._begin_parts(store_id, {})
        elif 1 in self._left and not self._file.is_ready(1):
            self._awaits_first_unit = True
        else:
            self._choose_upload()

    def _choose_upload(self) -> None:
        """Use the upload of an earlier run if its first part is that of the file; else it is of somebody else."""
        self._awaits_first_unit = False
        first = self._left.get(1)
        if first is not None and self._file.is_ready(1) and first.etag == self._file.sums[1].tag:
            self._is_adopted = True
            self._begin_parts(self._store_id, {})
        else:
            self._left = {}
            self._step, self._store_id = UploadStep.BEGIN, ""
            self.host.make_available(self)

    def _begin_parts(self, store_id: str, reused: Mapping[int, str]) -> None:  # noqa: ARG002 -- each unit shows whether it is
        self._step, self._store_id, self._etags, self._to_send = UploadStep.PART, store_id, {}, []
        self._note_upload()
        for number in self._file.list_ready():
            self._take_unit(number)
        self.host.make_available(self)

    def _sum_next_parts(self) -> None:
        """Do nothing: units have been summed when they are ready."""

    def _compare_part(self, number: int, head: ResponseHead) -> None:
        if (tag := find_part_tag(head)) is None:
            return
        if tag == self._file.sums[number].tag:
            self._has_proven_tag = True
        else:
            self._altered_parts.append(number)
        if self._has_proven_tag and self._altered_parts:  # where none is right, tags are no sums of this store
            self.give_up(OTHER_BYTES)

    # Requests and answers.

    def _make_slice(self, first: int, last: int) -> FileSlice:
        return RelayedSlice(self, self._file, first, last)

    def read_at(self, position: int, length: int) -> bytes:
        if self.is_over:
            raise FileFault("not to be sent any more")
        block = self._file.read(position, length)
        self.host.note_moved(self, len(block))
        return block

    def _describe(self) -> dict[str, str]:
        return {"Content-Type": "application/octet-stream", **self._file.described}

    def _has_source_changed(self) -> bool:
        """Return false: the fetching half sees changes of the source."""
        return False

    def _go_on_from(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        super()._go_on_from(exchange, head)
        if exchange.step is UploadStep.PART:
            self._file.release(exchange.number)

    def _restart(self) -> None:
        """Begin again with the first unit: somebody has ended the upload, and its units are gone."""
        if self._received:
            self._store_id = ""
            self._file.begin_again("its upload in parts was ended by somebody else")
        else:
            super()._restart()
            self._etags = {}

"""The parts of an upload: which ones an earlier run has sent, their sums, and the note by which a run knows its own."""

from collections.abc import Mapping, Sequence

from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.local.stated_checksums import find_tagged_checksum, has_encryption
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.stores.s3.sending.body_sums import compute_crc32, compute_tag
from tradewind_agent.stores.s3.sending.compared_upload import ComparedUpload
from tradewind_agent.stores.s3.sending.multipart import StoredPart
from tradewind_agent.stores.s3.sending.object_requests import UploadStep
from tradewind_agent.stores.s3.sending.upload_notes import UploadNote, open_note

SUM_HEADER = "x-amz-checksum-crc32"
OTHER_BYTES = "the store has other bytes than were sent, though it answered 200 OK: the sum that it states is another"

_MOST_ALTERED = 3
"""Parts that are sent again because the store has other bytes of them."""

_SUMMED_BEFORE = 4
"""Parts that are summed before their turn."""


class DividedUpload(ComparedUpload):
    """An upload that may go in parts."""

    def __init__(self, job: UploadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._step = UploadStep.PUT
        self._store_id = ""  # of the upload in parts
        self._to_send: list[int] = []  # numbers of parts, the next one last
        self._etags: dict[int, str] = {}
        self._unproven_tags: dict[int, str] = {}  # of parts, still to be compared with the file
        self._is_comparing_tags = False
        self._altered_parts: list[int] = []
        self._has_proven_tag = False
        self._is_summing = False
        self._listed: list[StoredPart] = []
        self._is_adopted = self._may_have_started = False
        self._note: UploadNote | None = None
        self._has_ended_upload = False

    @property
    def _noted_id(self) -> str:
        """Return the id of the upload that is this user's own; empty where there is none."""
        return "" if self._note is None else self._note.upload_id

    def _open_note(self) -> None:
        self._note = open_note(self.host.options.stores.notes_folder, str(self.url))

    def _note_upload(self) -> None:
        """Note the upload in parts, unless it may be somebody else's."""
        if self._note is not None and not self._is_adopted:
            self._note.write(self._store_id)

    def _finish(self, *, skipped: bool = False) -> None:
        self._has_ended_upload = bool(self._store_id)
        super()._finish(skipped=skipped)

    def _close(self) -> None:
        super()._close()
        note, self._note = self._note, None
        if note is not None:
            note.close(is_over=self._has_ended_upload)

    def _begin_parts(self, store_id: str, reused: Mapping[int, str]) -> None:
        """Send the parts that the store does not have."""
        self._step, self._store_id, self._etags = UploadStep.PART, store_id, dict(reused)
        self.used_part_bytes = self._division.part_bytes
        self._note_upload()
        self._to_send = [number for number in range(self._division.count, 0, -1) if number not in reused]
        for number in reused:
            first, length = self._division.get_range(number)
            self._received.add(first, first + length - 1)
        self._sum_next_parts()
        self.host.make_available(self)

    def _sum_next_parts(self) -> None:
        """Sum the next parts while those before them are sent."""
        unsummed = [number for number in self._to_send[-_SUMMED_BEFORE:] if number not in self._sums]
        if not unsummed or self._is_summing:
            return
        self._is_summing, number = True, unsummed[-1]

        def note(crc: str) -> None:
            self._is_summing, self._sums[number] = False, crc
            self._sum_next_parts()
            self.host.make_available(self)

        first, length = self._division.get_range(number)
        self._run_then(lambda: compute_crc32(self.job.source, first, length), note)

    def _compare_part(self, number: int, head: ResponseHead) -> None:
        """Compare a part with the file by its tag, where that is an MD5 sum and the store states no other sum."""
        if (tag := find_part_tag(head)) is not None:
            self._unproven_tags[number] = tag
            self._compare_next_tag()

    def _compare_next_tag(self) -> None:
        """Compare one tag after the other while parts are sent; the parts are joined when all are right."""
        if self._is_comparing_tags or not self._unproven_tags:
            return
        self._is_comparing_tags, number = True, next(iter(self._unproven_tags))

        def note(tag: str) -> None:
            self._is_comparing_tags = False
            stored = self._unproven_tags.pop(number, None)
            self._has_proven_tag = self._has_proven_tag or stored == tag
            if stored not in (None, tag):
                self._send_again(number)
            self._compare_next_tag()
            if self.has_undealt:
                self.host.make_available(self)

        self._run_then(lambda: compute_tag(self.job.source, *self._division.get_range(number)), note)

    def _send_again(self, number: int) -> None:
        """Send a part again that the store has with other bytes.

        Where the same part has a wrong tag again, and no other has a right one, tags are no sums of this store.
        """
        if self._step is not UploadStep.PART or (number in self._altered_parts and not self._has_proven_tag):
            return
        self._altered_parts.append(number)
        if len(self._altered_parts) > _MOST_ALTERED:
            self.give_up(OTHER_BYTES)
        else:
            self._etags.pop(number, None)
            self._to_send.append(number)

    def _reuse_parts(self, store_id: str, listed: Sequence[StoredPart]) -> None:
        """Reuse the parts of an earlier run that are those of this file, and send the others."""

        def compare() -> dict[int, str]:
            reused = {}
            for part in listed:
                first, length = self._division.get_range(part.number)
                if part.size_bytes == length > 0 and compute_tag(self.job.source, first, length) == part.etag:
                    reused[part.number] = part.etag
                    self._sums[part.number] = compute_crc32(self.job.source, first, length)
            return reused

        self._preparing = True
        planned, self._division = self._division, self._find_division(listed)

        def begin(reused: dict[int, str]) -> None:
            self._preparing = False
            is_ours = self._may_have_started and not listed
            if reused or is_ours or store_id == self._noted_id:
                self._is_adopted = not is_ours
                self._begin_parts(store_id, reused)
            else:  # it is of another file, or of somebody else
                self._division, self._step, self._store_id = planned, UploadStep.BEGIN, ""
                self.host.make_available(self)

        self._run_then(compare, begin)


def find_part_tag(head: ResponseHead) -> str | None:
    """Return the tag of a stored part that is the only sum the store states of it: an MD5 sum in hex and quotes."""
    tagged = find_tagged_checksum(head.headers)
    if tagged is None or SUM_HEADER in head.headers or has_encryption(head.headers):
        return None
    return f'"{tagged.digest.hex()}"'

"""Uploads of objects that the store may have already, and whose bodies go with their sums."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from tradewind.flags import LEAST_PART_BYTES
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.skipping import SkipDecision
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload import FileUpload
from tradewind_agent.stores.s3.sending.body_sums import compute_crc32, compute_tag
from tradewind_agent.stores.s3.sending.multipart import (
    Division,
    StoredPart,
    choose_part_bytes,
    compute_joined_tag,
    list_possible_part_bytes,
)
from tradewind_agent.system_errors import explain_os_error

Result = TypeVar("Result")

_PARTS_OF_A_STREAM = 4
"""Files up to this many parts go in one request over a single stream, as each part costs that a round trip."""

_SUMMED_AT_ONCE_BYTES = 64 * 1024
"""Bodies up to this size are summed in the event loop."""


class ComparedUpload(FileUpload):
    """The upload of a file that is compared with the object that has its key."""

    form = "object"

    def __init__(self, job: UploadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._division = Division(job.size_bytes, choose_part_bytes(job.size_bytes))
        self._sums: dict[int, str] = {}
        self._has_planned_parts = False

    def plan_parts(self, part_bytes: int | None) -> None:
        if self._fd is None:
            self._has_planned_parts = part_bytes is not None
            self._division = Division(self.job.size_bytes, choose_part_bytes(self.job.size_bytes, part_bytes))

    def _count_parts_at_once(self, streams: int) -> int:
        """Return how many parts may go in one request instead: what has arrived of one request is lost with it."""
        return 1 if streams > 1 or self._has_planned_parts else _PARTS_OF_A_STREAM

    def _find_division(self, listed: Sequence[StoredPart]) -> Division:
        """Return the division of an unfinished upload: all its parts but the last one are of one size."""
        size = max((part.size_bytes for part in listed), default=0)
        is_possible = size >= LEAST_PART_BYTES and size >= choose_part_bytes(self.job.size_bytes, LEAST_PART_BYTES)
        return Division(self.job.size_bytes, size) if is_possible else self._division

    @abstractmethod
    def _begin(self) -> bool:
        """Begin to send the file; return whether that can be done at once."""

    def _begin_or_compare(self) -> bool:
        """Begin to send the file; return whether that can be done at once.

        Where size and time say nothing, the tag of the object decides: it has to be the MD5 sum of the file.
        """
        stored = self.job.stored
        if self._decision is not SkipDecision.COMPARE or stored is None:
            return self._begin()
        self._preparing = True

        def go_on(tag: str | None) -> None:
            self._preparing = False
            if tag == stored.content_tag:
                self._finish(skipped=True)
            else:
                self._begin()
                self.host.make_available(self)

        is_divided = "-" in (stored.content_tag or "")
        self._run_then(self._compute_divided_tag if is_divided else self._compute_tag, go_on)
        return False

    def _compute_tag(self) -> str | None:
        return compute_tag(self.job.source, 0, self.job.size_bytes)

    def _compute_divided_tag(self) -> str | None:
        """Return the tag of the stored object, if it has one that this file has in as many parts of some size."""
        stored = self.job.stored.content_tag if self.job.stored is not None else None
        count = (stored or "").strip('"').rpartition("-")[2]
        size, tag = self.job.size_bytes, None
        sizes = list_possible_part_bytes(size, int(count), self._division.part_bytes) if count.isdecimal() else ()
        for division in (Division(size, each) for each in sizes):
            ranges = {number: division.get_range(number) for number in range(1, division.count + 1)}
            tag = compute_joined_tag({number: compute_tag(self.job.source, *each) for number, each in ranges.items()})
            if tag == stored:
                break
        return tag

    def _sum_object(self) -> bool:
        """Sum a file that goes in one request, a large one in a thread; return whether it is done."""
        if self.job.size_bytes <= _SUMMED_AT_ONCE_BYTES:
            self._sums[1] = compute_crc32(self.job.source, 0, self.job.size_bytes)
            return True
        self._preparing = True
        self._run_then(lambda: compute_crc32(self.job.source, 0, self.job.size_bytes), self._note_sum)
        return False

    def _note_sum(self, crc: str) -> None:
        self._preparing = False
        self._sums[1] = crc
        self.host.make_available(self)

    def _run_then(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Run work that reads the file in a thread, then go on with what it returns; the file fails if it cannot."""

        def go_on(outcome: asyncio.Future[object]) -> None:
            if outcome.cancelled() or self.is_over:
                return
            if (error := outcome.exception()) is not None:
                reason = explain_os_error(error) if isinstance(error, OSError) else error
                self.give_up(f"cannot read {self.job.source}: {reason}")
            else:
                then(cast("Result", outcome.result()))

        self.host.run_blocking(work).add_done_callback(go_on)

"""The completion of an ended transfer: its ticks in parts of bounded size, and without those that the service refuses.

One tick that cannot be stored is no reason to lose the others: the service is asked with the records alone, then with
what is left of the ticks when those are out that it names, else with halves.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from tradewind.units import MIB
from tradewind.wire.heartbeats import MAX_LATE_HEARTBEATS, Completion, CompletionReceipt, SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import BodyTooLarge, ConflictRefused, ObjectNotFound, RequestRefused, ServiceProblem

COMPLETION_BYTES = MIB * 3 // 4
"""Ticks of one completion: the service takes a MiB. More go in several completions, each with the records."""

MOST_REFUSALS = 64
"""After so many a service wants none of these ticks; it is not asked for each of thousands."""

_NO_SUCH_CALL = 405
_NAMED = re.compile(r"heartbeats\.(\d+)\b")


class CompletionService(Protocol):
    """The call of `tradewind_agent.service.client.Client` that this module needs; tests replace it."""

    def complete(self, transfer_id: UUID, completion: Completion) -> CompletionReceipt: ...


class RefusedTick(NamedTuple):
    """A tick that the service does not take, and why."""

    tick: SpooledHeartbeat
    reason: str


class CompletionResult(NamedTuple):
    """The result of a completion.

    ``as_logs`` : whether the service took no completion at all: it is older than completions, or refuses this one.
    ``quarantined`` : records that it keeps aside, and neither learns from nor bills.
    """

    as_logs: bool
    refused: tuple[RefusedTick, ...]
    quarantined: int = 0


class _CompletionRefused(Exception):
    """The service does not take the records as a completion, with ticks or without."""


def complete(
    service: CompletionService, transfer_id: UUID, records: Sequence[WireRecord], ticks: Sequence[SpooledHeartbeat]
) -> CompletionResult:
    """Report to the service that a transfer has finished.

    Raises
    ------
    ServiceUnreachable, KeyRefused, ScopeMissing, ServiceFailed : ask again later, with all of it.
    """
    attempt = _CompletionAttempt(service, transfer_id, tuple(records))
    try:
        attempt.send_all(ticks)
    except _CompletionRefused as refusal:
        refused = {each.tick.heartbeat.sequence for each in attempt.refused}
        left = [each for each in ticks if each.heartbeat.sequence not in refused]
        return CompletionResult(True, (*attempt.refused, *(RefusedTick(each, str(refusal)) for each in left)))
    return CompletionResult(False, tuple(attempt.refused), attempt.quarantined)


class _CompletionAttempt:
    def __init__(self, service: CompletionService, transfer_id: UUID, records: tuple[WireRecord, ...]) -> None:
        self._service, self._transfer_id, self._records = service, transfer_id, records
        self._refusals = 0
        self._records_taken = False
        self.refused: list[RefusedTick] = []
        self.quarantined = 0

    def send_all(self, ticks: Sequence[SpooledHeartbeat]) -> None:
        """Send every part, and as much as possible of a refused one."""
        parts = deque(_list_parts(ticks))
        while parts:
            part = parts.popleft()
            if (refusal := self._send_part(part)) is None:
                continue
            self._refusals += 1
            self._send_records_once()
            parts.extendleft(reversed(self._split_off_blamed(part, refusal)))

    def _send_part(self, part: tuple[SpooledHeartbeat, ...]) -> ServiceProblem | None:
        try:
            taken = self._service.complete(self._transfer_id, Completion(records=self._records, heartbeats=part))
        except (ConflictRefused, ObjectNotFound) as refusal:
            raise _CompletionRefused(str(refusal)) from None
        except (BodyTooLarge, RequestRefused) as refusal:
            if not part or refusal.status == _NO_SUCH_CALL:
                raise _CompletionRefused(str(refusal)) from None
            return refusal
        self._records_taken = True
        self.quarantined = taken.rejected
        return None

    def _send_records_once(self) -> None:
        if not self._records_taken:
            self._send_part(())

    def _split_off_blamed(
        self, part: tuple[SpooledHeartbeat, ...], refusal: ServiceProblem
    ) -> list[tuple[SpooledHeartbeat, ...]]:
        """Set aside the ticks to blame, and return the parts to send next."""
        blamed = _find_blamed(refusal, len(part))
        if len(part) == 1 or self._refusals >= MOST_REFUSALS:
            blamed = dict.fromkeys(range(len(part)), str(refusal))
        if not blamed:
            middle = len(part) // 2
            return [part[:middle], part[middle:]]
        self.refused += [RefusedTick(part[at], reason) for at, reason in sorted(blamed.items())]
        left = tuple(each for at, each in enumerate(part) if at not in blamed)
        return [left] if left else []


def _find_blamed(refusal: ServiceProblem, count: int) -> dict[int, str]:
    """Return the positions of the ticks that the service names, and what is wrong with each."""
    blamed: dict[int, str] = {}
    for field, reason in refusal.wrong_fields:
        match = _NAMED.match(field)
        if match is not None and int(match[1]) < count:
            blamed.setdefault(int(match[1]), f"{field.removeprefix(match[0]).lstrip('.') or 'tick'}: {reason}")
    return blamed


def _list_parts(ticks: Sequence[SpooledHeartbeat]) -> Iterator[tuple[SpooledHeartbeat, ...]]:
    """Yield ``ticks`` in parts of bounded size and number; one empty part where there are none."""
    part: list[SpooledHeartbeat] = []
    part_bytes = 0
    for tick in ticks:
        tick_bytes = len(tick.model_dump_json(exclude_none=True))
        if part and (part_bytes + tick_bytes > COMPLETION_BYTES or len(part) == MAX_LATE_HEARTBEATS):
            yield tuple(part)
            part, part_bytes = [], 0
        part.append(tick)
        part_bytes += tick_bytes
    yield tuple(part)

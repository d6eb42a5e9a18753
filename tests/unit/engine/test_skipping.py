"""Which files need not be sent, by size, times and clocks."""

import os
from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.skipping import (
    CLOCKS_DIFFER_S,
    SkipDecision,
    SkipRule,
    StoredFile,
    judge_stored,
    measure_clock_offset_s,
)

CHANGED_S = 1_600_000_000.75
SKIP, COMPARE, SEND = SkipDecision.SKIP, SkipDecision.COMPARE, SkipDecision.SEND


def stat(*, size_bytes: int = 10, changed_s: float = CHANGED_S) -> os.stat_result:
    mode_to_gid = (0o100644, 1, 1, 1, 0, 0)
    return os.stat_result((*mode_to_gid, size_bytes, changed_s, changed_s, changed_s), {})


def stored(after_s: float | None, *, size_bytes: int = 10, **fields: object) -> StoredFile:
    """A file whose time is so long after the last change of the source."""
    at = None if after_s is None else datetime.fromtimestamp(int(CHANGED_S + after_s), UTC)
    return StoredFile(size_bytes=size_bytes, modified_at=at, **fields)


@pytest.mark.parametrize(
    ("there", "checksum", "decision"),
    [
        (None, False, SEND),
        (StoredFile(), False, SEND),
        (stored(0, keeps_times=True), False, SKIP),
        (stored(0, keeps_times=True), True, SEND),
        (stored(0, keeps_times=True, checksum=Checksum("md5", bytes(16))), True, COMPARE),
        (stored(0), False, SEND),
        (stored(60), False, SEND),
        (stored(60, content_tag='"t"'), False, COMPARE),
        (stored(CLOCKS_DIFFER_S + 1), False, SKIP),
        (stored(CLOCKS_DIFFER_S + 1, content_tag='"t"'), True, COMPARE),
        (stored(CLOCKS_DIFFER_S + 1, size_bytes=11), False, SEND),
        (stored(-60, keeps_times=True), False, SEND),
        (stored(None, content_tag='"t"'), False, SEND),
    ],
)
def test_a_file_is_the_same_by_size_and_a_time_that_proves_it(
    there: StoredFile, decision: SkipDecision, *, checksum: bool
):
    assert judge_stored(there, stat(), SkipRule.SAME, checksum=checksum) is decision


@pytest.mark.parametrize("there", [StoredFile(), stored(-1e6, size_bytes=3), stored(None)])
def test_a_file_that_exists_stays_whatever_it_is(there: StoredFile):
    assert judge_stored(there, stat(), SkipRule.EXISTING, checksum=True) is SKIP


@pytest.mark.parametrize(
    ("there", "decision"),
    [
        (stored(5, size_bytes=3), SKIP),
        (stored(0, size_bytes=3, keeps_times=True), SKIP),
        (stored(-5, size_bytes=3, keeps_times=True), SEND),
        (stored(None, size_bytes=3), SEND),
        # The clock of the server is ten minutes before this one: the file was stored before the source was changed.
        (stored(500, size_bytes=3, clock_offset_s=600.0), SEND),
        (stored(700, size_bytes=3, clock_offset_s=600.0), SKIP),
        (stored(500, size_bytes=3, clock_offset_s=600.0, keeps_times=True), SEND),
        # It is ten minutes behind: what looks older was stored later, unless it is a time of this clock.
        (stored(-500, size_bytes=3, clock_offset_s=-600.0), SKIP),
        (stored(-500, size_bytes=3, clock_offset_s=-600.0, keeps_times=True), SEND),
        (stored(3, size_bytes=3, clock_offset_s=1.0), SKIP),
    ],
)
def test_a_file_is_not_older_by_a_clock_that_is_known(there: StoredFile, decision: SkipDecision):
    assert judge_stored(there, stat(), SkipRule.NEWER, checksum=False) is decision


def test_an_older_file_stays_if_it_is_the_same():
    changed_later = stored(CLOCKS_DIFFER_S + 1, clock_offset_s=5_000.0)
    assert judge_stored(changed_later, stat(), SkipRule.NEWER, checksum=False) is SKIP


def test_the_clock_of_a_server_is_measured_by_its_date():
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert measure_clock_offset_s(datetime(2026, 5, 1, 12, 10, tzinfo=UTC), now) == 600.0
    assert measure_clock_offset_s(None, now) == 0.0


@pytest.mark.parametrize("changed_s", [0.0, 1.0, 86_400.0])
def test_time_of_the_first_days_of_1970_proves_nothing(changed_s: float):
    source = stat(changed_s=changed_s)
    there = StoredFile(size_bytes=10, modified_at=datetime.fromtimestamp(changed_s, UTC), keeps_times=True)
    assert judge_stored(there, source, SkipRule.SAME, checksum=False) is SEND

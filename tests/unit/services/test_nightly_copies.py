"""When the next copy of the database is due, and how its age is told."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from services.backup.errors import BackupFailed
from services.backup.folder import Backup
from services.backup.health import format_age, require_copied
from services.backup.nightly import copy_nightly, find_next_copy_time
from tradewind.errors import TradewindError

AT = time(1, 0)
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def copied(ended_at: datetime) -> Backup:
    return Backup(Path("copy"), ended_at, 1, "0" * 24)


def test_the_first_copy_is_due_at_once() -> None:
    assert find_next_copy_time([], AT, now=NOW) == NOW


@pytest.mark.parametrize(
    ("newest", "due"),
    [
        (datetime(2026, 11, 23, 0, 59, tzinfo=UTC), datetime(2026, 11, 23, 1, 0, tzinfo=UTC)),
        (datetime(2026, 11, 23, 1, 0, tzinfo=UTC), datetime(2026, 11, 24, 1, 0, tzinfo=UTC)),
        (datetime(2026, 11, 23, 11, 0, tzinfo=UTC), datetime(2026, 11, 24, 1, 0, tzinfo=UTC)),
    ],
)
def test_the_next_copy_is_due_the_next_time_that_it_is_so_late(newest: datetime, due: datetime) -> None:
    older = copied(newest - timedelta(days=3))
    assert find_next_copy_time([older, copied(newest)], AT, now=NOW) == due


def test_backup_with_a_time_in_the_future_does_not_delay_the_next() -> None:
    ahead = copied(NOW + timedelta(days=30))
    assert find_next_copy_time([ahead], AT, now=NOW) == NOW
    newest = copied(NOW - timedelta(hours=3))
    assert find_next_copy_time([ahead, newest], AT, now=NOW) == find_next_copy_time([newest], AT, now=NOW)


def test_unreadable_backups_are_reported_as_a_failed_one() -> None:
    class FailureReportedError(Exception):
        """Ends what does not return."""

    def backups() -> Sequence[Backup]:
        raise BackupFailed("backup.json is not as it was written")

    def failed(error: TradewindError) -> None:
        raise FailureReportedError(error)

    with pytest.raises(FailureReportedError, match=r"^backup.json is not as it was written$"):
        copy_nightly(AT, backups=backups, make=lambda: None, failed=failed)


def test_backup_that_is_too_old_is_reported_with_its_age() -> None:
    require_copied([copied(NOW - timedelta(hours=30))], within=timedelta(hours=30), now=NOW)
    with pytest.raises(BackupFailed, match=r"^the newest copy is 3 days old$"):
        require_copied([copied(NOW - timedelta(days=3))], within=timedelta(hours=30), now=NOW)


def test_backup_with_a_time_in_the_future_does_not_count_as_recent() -> None:
    ahead = copied(NOW + timedelta(days=30))
    with pytest.raises(BackupFailed, match=r"^there is no copy yet$"):
        require_copied([ahead], within=timedelta(hours=30), now=NOW)
    with pytest.raises(BackupFailed, match=r"^the newest copy is 3 days old$"):
        require_copied([ahead, copied(NOW - timedelta(days=3))], within=timedelta(hours=30), now=NOW)


@pytest.mark.parametrize(
    ("age_s", "words"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (100_000, "28 h"), (172_800, "2 days")],
)
def test_age_is_formatted_in_everyday_words(age_s: int, words: str) -> None:
    assert format_age(timedelta(seconds=age_s)) == words

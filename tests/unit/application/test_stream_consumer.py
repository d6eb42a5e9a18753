"""What a batch of heartbeats tells of a transfer, in whatever order the stream gives them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from services.application.transfers.heartbeat_consumer import AnsweredHeartbeat, to_news
from services.application.transfers.repository import Workload
from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_consumer import StreamEntry
from tradewind.transfer import LinkKey
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WORKLOAD = Workload(link=LinkKey("alpha", "omega", None, "rclone"), file_count=10, total_bytes=1_000)


def answered(sequence: int, heard_before_s: float, *, interval_s: float = 5.0) -> AnsweredHeartbeat:
    beat = Heartbeat.model_validate(
        {
            "sequence": sequence,
            "at": NOW,
            "interval_s": interval_s,
            "bytes_moved": 0,
            "throughput_bps": 0.0,
            "remaining_bytes": 1_000,
            "remaining_files": 10,
            "parameters": {},
        }
    )
    entry = StreamEntry(f"{sequence}-0", NOW - timedelta(seconds=heard_before_s), {})
    return AnsweredHeartbeat(
        entry, TransferKey(UUID(int=1), UUID(int=2)), WORKLOAD, SpooledHeartbeat(heartbeat=beat), None, None
    )


def test_start_and_last_heartbeat_do_not_depend_on_order() -> None:
    (news,) = to_news([answered(2, 5.0), answered(3, 0.0), answered(0, 15.0), answered(1, 10.0)], NOW)
    assert (news.started_at, news.heard_at) == (NOW - timedelta(seconds=15), NOW)
    assert sorted(news.beats) == [0, 1, 2, 3]


def test_later_heartbeat_of_the_same_sequence_replaces_the_earlier() -> None:
    (news,) = to_news([answered(1, 1.0, interval_s=7.0), answered(1, 9.0)], NOW)
    assert news.beats[1].heartbeat.interval_s == 7.0


def test_transfer_is_silent_after_several_of_its_latest_ticks() -> None:
    (news,) = to_news([answered(1, 0.0, interval_s=60.0), answered(0, 60.0)], NOW)
    assert news.silent_at == NOW + timedelta(seconds=180)

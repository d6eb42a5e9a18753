"""What a heartbeat tells that its transfer uses of the caps it shares."""

import pytest

from services.application.limits.claims import count_used
from tests.unit.agent.session.tuning_story import Story
from tradewind.wire.heartbeats import ChunkSample, Heartbeat
from tradewind.wire.recommendations import WireParameters
from tradewind_agent.tuning.wire_ticks import to_heartbeat


def sample(kind: str, concurrency: int, parallelism: int, remaining_bytes: int) -> ChunkSample:
    setting = WireParameters(concurrency=concurrency, parallelism=parallelism)
    return ChunkSample.model_validate(
        {"chunk": kind, "parameters": setting, "throughput_bps": 0.0, "remaining_bytes": remaining_bytes}
    )


@pytest.fixture
def beat() -> Heartbeat:
    return to_heartbeat(Story(None).run(1).tuning.ticks[-1].sample)


def test_finished_chunk_uses_no_share_of_a_cap(beat: Heartbeat) -> None:
    chunks = (sample("small", 4, 1, 10**6), sample("large", 1, 4, 0))
    assert count_used(beat.model_copy(update={"chunks": chunks})) == (4, 4)


def test_usage_counts_the_entire_setting_where_no_chunk_has_bytes_left(beat: Heartbeat) -> None:
    whole = WireParameters(concurrency=2, parallelism=3)
    done = beat.model_copy(update={"chunks": (sample("large", 1, 4, 0),), "parameters": whole})
    assert count_used(done) == (2, 6)


def test_nothing_is_used_before_the_first_byte(beat: Heartbeat) -> None:
    assert count_used(beat.model_copy(update={"sequence": 0})) == (0, 0)

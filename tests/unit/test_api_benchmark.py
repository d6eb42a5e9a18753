"""The figures of the API benchmark, from the rounds they are made of."""

from pathlib import Path

import pytest

from benchmarks.api import summary
from benchmarks.api_cases import (
    DESTINATIONS,
    FAMILIES,
    ROWS_A_FAMILY,
    live_enquiries,
    live_transfer,
    log_lines,
    requests,
)
from benchmarks.http_load import Load, LoadError, Measured
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import parse_row


def test_the_ratio_is_taken_round_by_round() -> None:
    def measured(echo: float, recommend: float) -> dict[str, Measured]:
        return {
            "echo": Measured(echo, 1.0),
            "direct_echo": Measured(echo * 2, 0.5),
            "recommend": Measured(recommend, 2.0),
            "echo_redis": Measured(echo / 2, 3.0),
            "heartbeat": Measured(echo / 4, 4.0),
        }

    figures = summary([measured(1000, 800), measured(100, 90), measured(2000, 1000)])
    assert figures["recommend_ratio"] == 0.8
    assert figures["recommend_ratio_direct"] == 0.4
    assert figures["heartbeat_ratio"] == 0.5
    assert figures["recommend_rps"] == 800
    assert (figures["echo_p99_ms"], figures["recommend_p99_ms"], figures["echo_redis_p99_ms"]) == (1.0, 2.0, 3.0)


def test_all_that_is_asked_and_uploaded_is_valid() -> None:
    lines = list(log_lines(1))
    assert len({parse_row(line).id for line in lines}) == len(DESTINATIONS) * len(FAMILIES) * ROWS_A_FAMILY
    asked = [RecommendRequest.model_validate(body) for body in requests()]
    assert len({body.model_dump_json() for body in asked}) == len(asked)


def test_a_missing_load_generator_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LoadError, match="apt-get install wrk"):
        Load(tmp_path, [], "tw_x")


def test_a_live_transfer_tells_valid_heartbeats_of_what_it_was_recommended() -> None:
    for enquiry in live_enquiries():
        plan = {"concurrency": 4, "parallelism": 2}
        recommended = {
            "transfer_id": "t",
            "parameters": plan,
            "chunks": [{"chunk": "large", "parameters": plan}],
            "predicted": {"throughput_bps": {"mean": 4e8}},
        }
        transfer = live_transfer(enquiry, recommended)
        assert (transfer.throughput_bps, transfer.chunks) == (4e8, 1)
        filled = {"@sequence@": "7", "@rate@": "4e8", "@chunk_rate@": "4e8"}
        body = transfer.body
        for mark, value in filled.items():
            body = body.replace(f'"{mark}"', value)
        assert Heartbeat.model_validate_json(body).to_sample().sequence == 7

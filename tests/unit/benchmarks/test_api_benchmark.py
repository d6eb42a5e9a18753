"""The figures of the API benchmark, from the rounds they are made of."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.api.__main__ import summarise
from benchmarks.api.cases import (
    DESTINATIONS,
    FAMILIES,
    ROWS_A_FAMILY,
    make_live_requests,
    make_log_lines,
    make_requests,
)
from benchmarks.api.live_transfers import WARM_UP_TICKS, ObedientTransfer, fill_marks
from benchmarks.support.http_load import Load, LoadError, LoadResult
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import parse_row


def test_the_ratio_is_taken_round_by_round() -> None:
    def measured(echo: float, recommend: float) -> dict[str, LoadResult]:
        return {
            "echo": LoadResult(echo, 1.0),
            "direct_echo": LoadResult(echo * 2, 0.5),
            "recommend": LoadResult(recommend, 2.0),
            "echo_redis": LoadResult(echo / 2, 3.0),
            "direct_echo_redis": LoadResult(echo, 2.0),
            "heartbeat": LoadResult(echo / 4, 4.0),
        }

    figures = summarise([measured(1000, 800), measured(100, 90), measured(2000, 1000)])
    assert figures["recommend_ratio"] == 0.8
    assert figures["recommend_ratio_direct"] == 0.4
    assert (figures["heartbeat_ratio"], figures["heartbeat_ratio_direct"]) == (0.5, 0.25)
    assert figures["recommend_rps"] == 800
    assert (figures["echo_p99_ms"], figures["recommend_p99_ms"], figures["echo_redis_p99_ms"]) == (1.0, 2.0, 3.0)


def test_all_requests_and_uploads_of_the_benchmark_are_valid() -> None:
    lines = list(make_log_lines(1))
    assert len({parse_row(line).id for line in lines}) == len(DESTINATIONS) * len(FAMILIES) * ROWS_A_FAMILY
    asked = [RecommendRequest.model_validate(body) for body in make_requests()]
    assert len({body.model_dump_json() for body in asked}) == len(asked)


def test_missing_load_generator_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LoadError, match="apt-get install wrk"):
        Load(tmp_path, [], "tw_x")


def test_live_transfer_follows_the_decisions_of_the_service() -> None:
    for enquiry in make_live_requests():
        transfer = ObedientTransfer(enquiry, {"transfer_id": "t", **make_decision(2)})
        sent = transfer.warm_up(lambda body: make_decision(4))
        beats = [
            Heartbeat.model_validate_json(body) for body in (*sent, fill_marks(transfer.to_live_transfer().body, 99))
        ]
        assert [beat.to_sample().sequence for beat in beats] == [*range(WARM_UP_TICKS), 99]
        assert [beat.chunks[0].parameters.concurrency for beat in beats] == [2] + WARM_UP_TICKS * [4]
        assert (beats[0].throughput_bps, beats[0].interval_s) == (0, 0)
        assert beats[-1].throughput_bps > 0


def make_decision(concurrency: int) -> dict[str, Any]:
    plan = {"concurrency": concurrency, "parallelism": 2}
    return {"parameters": plan, "chunks": [{"chunk": "large", "max_file_bytes": None, "parameters": plan}]}

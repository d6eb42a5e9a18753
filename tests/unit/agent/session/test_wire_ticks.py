"""Samples of this host and the heartbeats that are made of them say the same."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.agent.session.tuning_story import REQUEST, Story
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Caps, Parameters
from tradewind.transfer import ResourceUsage
from tradewind.tuning.sample import ChunkProgress
from tradewind.wire.heartbeats import Heartbeat
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.tuning.share import ShareOfUser
from tradewind_agent.tuning.transfer_sample import MeteredEnd, TransferSample
from tradewind_agent.tuning.wire_ticks import to_heartbeat

BARE = TransferSample(
    sequence=0,
    at=datetime(2026, 11, 28, 4, 38, 51, tzinfo=UTC),
    interval_s=0.0,
    bytes_moved=0,
    throughput_bps=0.0,
    remaining_bytes=100,
    remaining_files=2,
    parameters=Parameters(concurrency=2),
    request=REQUEST,
)
FULL = replace(
    BARE,
    sequence=3,
    at=datetime(2026, 11, 28, 4, 38, 51, 998_629, tzinfo=UTC),
    interval_s=5.0,
    rtt_s=0.06,
    min_rtt_s=0.05,
    sent_bytes=1000,
    retransmitted_bytes=10,
    power_w=1.5,
    power_method=EnergyMethod.CPU_MODEL,
    power_quality=EnergyQuality.ASSUMED,
    power_ends=(MeteredEnd(Host.DESTINATION, 1.5, EnergyMethod.CPU_MODEL, None), MeteredEnd(Host.SOURCE, 2.5)),
    usage=ResourceUsage(cpu=0.5, disk=0.25),
    chunks=(ChunkProgress(ChunkKind.SMALL, Parameters(concurrency=2, parallelism=1), 8e6, 100),),
)


@pytest.mark.parametrize("sample", [BARE, FULL], ids=["bare", "full"])
def test_a_sample_is_reported_as_its_heartbeat_is(sample: TransferSample) -> None:
    beat = to_heartbeat(sample)
    document = beat.model_dump(mode="json", exclude={"enquiry"}, exclude_none=True)
    assert sample.build_document() == document
    assert list(sample.build_document()) == list(document)


@pytest.mark.parametrize("sample", [BARE, FULL], ids=["bare", "full"])
def test_both_are_the_same_to_the_controller(sample: TransferSample) -> None:
    assert sample.to_tick_sample() == to_heartbeat(sample).to_sample()


def test_the_request_goes_with_a_heartbeat_unless_it_is_left_out() -> None:
    assert to_heartbeat(BARE).enquiry == REQUEST.to_wire()
    assert to_heartbeat(BARE, has_request=False).enquiry is None


def test_a_transfer_that_follows_no_decision_claims_its_share_alone() -> None:
    beat = to_heartbeat(FULL, claimed=ShareOfUser(2, 4, is_all=True))
    assert beat.chunks == ()
    assert beat.wanted is not None
    assert (beat.wanted.concurrency, beat.wanted.streams) == (2, 4)
    assert len(to_heartbeat(FULL, claimed=ShareOfUser(2, 4, is_all=False)).chunks) == 1


def test_samples_survive_json() -> None:
    beat = to_heartbeat(Story(None).run(1).tuning.ticks[-1].sample)
    assert Heartbeat.model_validate_json(beat.model_dump_json()) == beat


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (replace(REQUEST, source=""), "source"),
        (replace(REQUEST, destination="d" * 201), "destination"),
        (replace(REQUEST, network="a\nb"), "network"),
        (replace(REQUEST, load=1.5), "load"),
        (replace(REQUEST, caps=Caps(concurrency=40_000)), "concurrency"),
        (replace(REQUEST, rate_limit_bps=0.5), "throughput_bps"),
    ],
)
def test_a_request_that_no_service_could_read_is_refused(wrong: PlanRequest, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        wrong.check()
    assert refused.value.field == field


def test_a_name_of_another_script_is_no_wrong_name() -> None:
    replace(REQUEST, source="Ørsted").check()

from dataclasses import replace
from uuid import UUID

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.agent.service.fake_service import answering, problem
from tradewind.dataset import ChunkKind, SizeBin, bin_sizes
from tradewind.errors import Unauthenticated
from tradewind.parameters import Caps, Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.wire.recommendations import RecommendRequest, WireSla, WireWorkload
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import plan_sizes
from tradewind_agent.copy.reporting.report import build_plan_document, describe_plan
from tradewind_agent.resources.limits import Limits
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.planning import (
    Plan,
    find_chunk,
    override_settings,
    plan_by_rules,
    plan_set_by_hand,
    request_plan,
)
from tradewind_agent.tuning.local_controller import build_basis

ID = UUID(int=1)
WAN = Path(bandwidth_bps=1e9, rtt_s=0.06)  # BDP 7.5 MB
MIXED = bin_sizes([100_000] * 1000 + [50_000_000] * 20 + [2_000_000_000] * 2)
REQUEST = RecommendRequest(
    source="alpha",
    destination="beta",
    dataset=WireWorkload(file_count=10, total_bytes=10_000_000),
    sla=WireSla(kind=SlaKind.MAX_THROUGHPUT),
)
ANSWER = {
    "transfer_id": str(UUID(int=5)),
    "parameters": {"concurrency": 8, "parallelism": 2, "pipelining": 4},
    "chunks": [{"chunk": "whole", "parameters": {"concurrency": 8, "parallelism": 2, "pipelining": 4}}],
    "predicted": {"throughput_bps": {"mean": 9e8, "low": 8e8, "high": 1e9}},
    "sla": {
        "kind": "max_throughput",
        "confidence": 0.9,
        "energy_basis": "total",
        "probability": 0.9,
        "feasible": True,
    },
    "table": {},
    "rationale": "cluster 3",
    "source": "release",
    "release": 7,
    "flags": {},
}


def test_the_services_plan_is_taken_over():
    service = answering(httpx.Response(200, json=ANSWER))
    with service.client() as client:
        plan = request_plan(client, REQUEST)
    assert isinstance(plan, Plan)
    assert plan.transfer_id == UUID(int=5)
    assert plan.source == "release"
    assert plan.chunks == (ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=8, parallelism=2, pipelining=4)),)
    assert plan.predicted.throughput_bps.low == 8e8


def test_promise_and_price_of_the_service_are_reported():
    price = {"amount": "0.012264", "currency": "EUR", "basis": "total", "book_id": str(UUID(int=9)), "quote": "q"}
    promised = ANSWER["sla"] | {"tier": "15 Mbit/s to 33 Mbit/s", "price": price}
    service = answering(httpx.Response(200, json=ANSWER | {"sla": promised}))
    with service.client() as client:
        plan = request_plan(client, REQUEST)
    *_, promise, reason = describe_plan(plan).splitlines()
    assert promise == (
        "tier 15 Mbit/s to 33 Mbit/s, met with a probability of 90 %, "
        "price 0.012264 EUR for this transfer, on total energy"
    )
    assert reason == f"release: {plan.rationale}"
    assert describe_plan(replace(plan, rationale="release 7: why")).splitlines()[-1] == "release 7: why"
    sla = build_plan_document(plan)["sla"]
    assert (sla["probability"], sla["tier"], sla["price"]["amount"]) == (0.9, "15 Mbit/s to 33 Mbit/s", "0.012264")


@pytest.mark.parametrize("answer", [httpx.ConnectError("refused"), problem(503), problem(500), problem(422)])
def test_a_service_that_gives_no_plan_is_a_reason_not_an_error(answer):
    service = answering(answer)
    with service.client(NO_RETRIES) as client:
        assert isinstance(request_plan(client, REQUEST), str)


def test_a_plan_that_leaves_files_without_a_home_is_not_followed():
    chunks = [{"chunk": "small", "max_file_bytes": 1000, "parameters": {"concurrency": 2}}]
    service = answering(httpx.Response(200, json=ANSWER | {"chunks": chunks}))
    with service.client() as client:
        assert "no chunk" in request_plan(client, REQUEST)


def test_a_refused_key_is_the_users_to_correct():
    service = answering(problem(401))
    with service.client() as client, pytest.raises(Unauthenticated):
        request_plan(client, REQUEST)


def test_plan_without_a_service_reports_that():
    assert "no service" in request_plan(None, REQUEST)


@pytest.mark.parametrize("kind", ["max_throughput", "min_energy", "energy_efficiency"])
def test_rules_give_every_size_class_its_own_parameters(kind):
    plan = plan_by_rules(ID, MIXED, WAN, Sla(kind=SlaKind(kind)), because="away")
    assert [chunk.chunk for chunk in plan.chunks] == [ChunkKind.SMALL, ChunkKind.MEDIUM, ChunkKind.LARGE]
    small, _, large = plan.chunks
    assert small.parameters.pipelining > large.parameters.pipelining
    assert large.max_file_bytes is None
    assert plan.source == "heuristic"
    assert plan.rationale.startswith("away; closed-form rule")
    assert 0 < plan.predicted.throughput_bps.mean <= 1e9


@pytest.mark.parametrize(("path", "is_shown"), [(WAN, True), (replace(WAN, bandwidth_bps=None), False)])
def test_prediction_for_an_unknown_path_is_shown_only_where_its_rate_is_known(path, is_shown):
    plan = plan_by_rules(ID, MIXED, path, Sla(kind=SlaKind.MAX_THROUGHPUT), because="away")
    assert plan.predicted is not None
    assert (plan.founded_prediction is not None) is is_shown
    assert any(line.startswith("expect ") for line in describe_plan(plan).splitlines()) is is_shown


def test_prediction_of_a_release_is_shown_whatever_the_path():
    service = answering(httpx.Response(200, json=ANSWER))
    with service.client() as client:
        plan = request_plan(client, REQUEST)
    assert plan.founded_prediction == plan.predicted


@pytest.mark.parametrize(
    "sla",
    [
        Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.5),
        Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=5e8),
        Sla(kind=SlaKind.DEADLINE, target=60),
        Sla(kind=SlaKind.ENERGY_AT_MOST, target=4000),
        Sla(kind=SlaKind.POWER_AT_MOST, target=15),
    ],
)
def test_rules_serve_every_kind_of_sla_within_the_caps(sla):
    caps = Caps(concurrency=3, pipelining=5)
    plan = plan_by_rules(ID, MIXED, WAN, sla, caps, because="away")
    assert all(caps.allow(chunk.parameters) for chunk in plan.chunks)
    assert sum(chunk.parameters.concurrency for chunk in plan.chunks) <= 3


def test_caps_too_narrow_for_a_channel_a_size_class_leave_one_class():
    sla = Sla(kind=SlaKind.MAX_THROUGHPUT)
    (whole,) = plan_by_rules(ID, MIXED, WAN, sla, Caps(streams=2), because="away").chunks
    assert (whole.chunk, whole.parameters.streams) == (ChunkKind.WHOLE, 2)


def test_plan_leaves_out_the_share_that_others_use():
    sla = Sla(kind=SlaKind.MAX_THROUGHPUT)
    idle, loaded = (plan_by_rules(ID, MIXED, WAN, sla, load=load, because="away") for load in (None, 0.6))
    assert loaded.predicted.throughput_bps.mean <= 0.4e9 < idle.predicted.throughput_bps.mean
    assert loaded.chunks[0].parameters.pipelining < idle.chunks[0].parameters.pipelining
    assert "at load 0.60" in loaded.rationale


def test_a_rate_that_the_user_limits_is_planned_with_and_reported_to_the_service():
    options = CopyOptions(resources=Limits(nic_bps=2e7, disk_bps=8e7))
    planned = plan_sizes([5_000_000] * 40, WAN, ("alpha", "beta"), options, None, mover="tradewind")
    assert planned.request.rate_limit_bps == 2e7
    assert planned.plan.predicted.throughput_bps.high <= 2e7
    assert "no more than 20 Mbit/s, as set" in planned.plan.rationale
    basis = build_basis(planned.plan, planned.request, bin_sizes([5_000_000] * 40))
    assert basis.ceiling_bps == 2e7


def test_rules_admit_what_they_assume():
    plan = plan_by_rules(ID, MIXED, Path(), Sla(kind=SlaKind.MAX_THROUGHPUT), because="away")
    assert "assuming bandwidth 1 Gbit/s and RTT 50 ms" in plan.rationale


def test_an_empty_file_and_a_path_within_one_machine_have_a_plan_too():
    path = Path(rtt_s=2e-5)
    plan = plan_by_rules(ID, (SizeBin(1, 1, 0),), path, Sla(kind=SlaKind.MAX_THROUGHPUT), because="away")
    assert plan.parameters.concurrency == 1


def test_settings_by_hand_win_in_every_chunk_and_share_concurrency():
    plan = plan_by_rules(ID, MIXED, WAN, Sla(kind=SlaKind.MAX_THROUGHPUT), because="away")
    tuned = override_settings(plan, Parameters(concurrency=5, io_block_bytes=65536))
    assert sum(chunk.parameters.concurrency for chunk in tuned.chunks) == 5
    assert {chunk.parameters.io_block_bytes for chunk in tuned.chunks} == {65536}
    assert [c.parameters.pipelining for c in tuned.chunks] == [c.parameters.pipelining for c in plan.chunks]
    assert "set by hand" in tuned.rationale


def test_nothing_set_by_hand_changes_nothing():
    plan = plan_set_by_hand(ID, Parameters(concurrency=4, parallelism=1, pipelining=1))
    assert override_settings(plan, Parameters()) is plan


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=30), st.integers(1, 40))
def test_every_file_has_a_chunk_and_every_chunk_a_channel(sizes, concurrency):
    plan = plan_by_rules(ID, bin_sizes(sizes), WAN, Sla(kind=SlaKind.MIN_ENERGY), because="away")
    plan = override_settings(plan, Parameters(concurrency=concurrency))
    assert all(find_chunk(plan.chunks, size) for size in sizes)
    channels = [chunk.parameters.concurrency for chunk in plan.chunks]
    assert min(channels) >= 1
    assert sum(channels) == max(concurrency, len(channels))


def test_the_plan_carries_the_quote_of_the_answer():
    price = {"amount": "0.012300", "currency": "EUR", "basis": "total", "book_id": str(ID), "quote": "0.012300 EUR"}
    service = answering(httpx.Response(200, json=ANSWER | {"sla": ANSWER["sla"] | {"price": price}}))
    with service.client() as client:
        assert request_plan(client, REQUEST).quote == "0.012300 EUR"
    with answering(httpx.Response(200, json=ANSWER)).client() as client:
        assert request_plan(client, REQUEST).quote is None

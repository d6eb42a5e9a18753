"""Who plans a queue, and which of its jobs go at once."""

import httpx
import pytest

from tests.unit.agent.service.fake_service import answering, problem
from tradewind.errors import NotFound
from tradewind.mobile.batching import BatchTerms, plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.queue import QueuedJob
from tradewind.wire.batching import BatchingAdvice
from tradewind_agent.errors import KeyRefused, ScopeMissing
from tradewind_agent.queued.advice import RadioChoice, advise_queue

LTE = load_shipped_catalogue().find_radio("lte")
CHOICE = RadioChoice(radio="lte", capacity_bps=16e6)
JOBS = [
    QueuedJob(name="photos", total_bytes=300_000, throughput_bps=8e6),
    QueuedJob(name="notes", total_bytes=300_000, throughput_bps=8e6),
    QueuedJob(name="log", total_bytes=300_000, throughput_bps=8e6, ready_s=86400.0, deadline_s=90000.0),
]
PLAN = plan_batches(JOBS, BatchTerms(radio=LTE, waiting_price_w=1.0, capacity_bps=16e6))


def test_a_service_plans_and_the_host_where_it_is_unreachable():
    told = httpx.Response(200, text=BatchingAdvice.from_domain(PLAN, LTE).model_dump_json())
    by_service = advise_queue(JOBS, CHOICE, answering(told).client())
    assert (by_service.source, by_service.plan.bursts) == ("the service", PLAN.bursts)
    assert advise_queue(JOBS, CHOICE, answering(httpx.ConnectError("away")).client()).source == "this host"


@pytest.mark.parametrize("status", [404, 422, 500])
def test_a_host_plans_where_the_service_gives_no_advice(status):
    assert advise_queue(JOBS, CHOICE, answering(problem(status)).client()).source == "this host"


@pytest.mark.parametrize(("status", "refusal"), [(401, KeyRefused), (403, ScopeMissing)])
def test_a_key_that_is_refused_is_reported_instead_of_planning_without_the_service(status, refusal):
    with pytest.raises(refusal):
        advise_queue(JOBS, CHOICE, answering(problem(status)).client())


def test_jobs_that_go_at_once_are_distinguished_from_those_that_go_alone():
    told = httpx.Response(200, text=BatchingAdvice.from_domain(PLAN, LTE).model_dump_json())
    assert advise_queue(JOBS, CHOICE, answering(told).client()).concurrent_jobs == {"photos", "notes"}


def test_a_service_is_not_requested_from_a_radio_that_there_is_not():
    service = answering(httpx.Response(500))
    with pytest.raises(NotFound, match="no radio 'LTE'; there are 5g, lte, wifi"):
        advise_queue(JOBS, RadioChoice(radio="LTE"), service.client())
    assert service.requests == []

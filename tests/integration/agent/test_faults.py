import time

import pytest

from tests.conditions import stretched
from tests.integration.agent.support.faulty_service import CUT, DROP, STORE_AND_DROP, faulty_service
from tests.unit.agent.records import lines, records
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import RetryPolicy

PATIENT = RetryPolicy(attempts=6, first_wait_s=0.01, longest_wait_s=0.05)


@pytest.fixture
def service():
    with faulty_service() as running:
        yield running


@pytest.mark.parametrize("fault", [DROP, STORE_AND_DROP, CUT, (503, {"Retry-After": "0"}), (502, {}), (504, {})])
def test_an_upload_through_faults_arrives_once(service, fault):
    service.faults.extend([fault, fault])
    with Client(service.url, "key", retries=PATIENT) as client:
        assert client.upload_logs(records(5)).accepted == 5
    assert service.rows == [line.strip() for line in lines(5)]


def test_retry_after_is_honoured(service):
    service.faults.append((429, {"Retry-After": "1"}))
    waits = []
    with Client(service.url, "key", retries=PATIENT, pause=waits.append) as client:
        client.upload_logs(records(1))
    assert waits == [1.0]


def test_a_service_that_is_gone_is_reported_in_one_line(service):
    with faulty_service() as gone:
        url = gone.url
    with (
        Client(url, "key", retries=PATIENT) as client,
        pytest.raises(ServiceUnreachable, match="does not answer") as raised,
    ):
        client.inventory.links()
    assert "\n" not in str(raised.value)


def test_an_answer_that_never_comes_ends_by_the_timeout(service):
    with Client(service.url, "key", timeout_s=0.2, retries=RetryPolicy(attempts=1)) as client:
        service.arrived.acquire()  # the handler waits for the condition before it answers
        try:
            with pytest.raises(ServiceUnreachable, match="does not answer"):
                client.upload_logs(records(1))
        finally:
            service.arrived.release()
    service.wait_for_rows(1)


def test_a_spool_drained_through_faults_and_restarts_arrives_once_and_in_order(service, tmp_path):
    spool = Spool(tmp_path / "spool", warn=lambda _: None)
    for number in range(1, 11):
        spool.append(records(2, 2 * number))
    service.faults.extend([STORE_AND_DROP, (503, {}), DROP, CUT] * 4)
    deadline = time.monotonic() + stretched(30)
    while spool.list_segments():
        assert time.monotonic() < deadline
        with Client(service.url, "key", retries=RetryPolicy(attempts=1)) as client:
            try:
                spool.drain(client)
            except ServiceUnreachable:
                continue
    assert service.rows == [line.strip() for line in lines(20, 2)]

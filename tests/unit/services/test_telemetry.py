"""What the processes' logs hold, and what they must not."""

import io
import json
import socket
from uuid import uuid4

import pytest

from services.application.models.gate import Verdict
from services.application.shared.events import LinkRefused
from services.observability.telemetry import Event, create_logger
from workers.metrics import WorkerMetrics
from workers.reports import Reports


def failing(secret: str) -> None:
    raise ValueError(str(len(secret)))


def test_an_error_is_logged_with_its_trace_but_without_the_values_of_variables() -> None:
    output = io.StringIO()
    log = create_logger("api", output=output)
    secret = "tw_" + "x" * 10
    try:
        failing(secret)
    except ValueError:
        log.exception(Event.REQUEST_FAILED)
    (error,) = json.loads(output.getvalue())["exception"]
    assert [frame["name"] for frame in error["frames"]][-1] == "failing"
    assert secret not in output.getvalue()


def test_a_line_is_one_write_so_that_processes_that_share_a_log_do_not_write_into_each_others() -> None:
    ours, reader = socket.socketpair(type=socket.SOCK_DGRAM)  # a datagram is what one write wrote
    with ours, reader, io.TextIOWrapper(io.FileIO(ours.fileno(), "w", closefd=False), write_through=True) as output:
        log = create_logger("worker", output=output)
        log.info(Event.TASK_DONE)
        log.info(Event.TASK_FAILED)
        lines = [reader.recv(4096) for _ in range(2)]
    assert all(line.endswith(b"}\n") for line in lines)
    assert [json.loads(line)["event"] for line in lines] == [Event.TASK_DONE, Event.TASK_FAILED]


FAILED = Verdict(
    accuracy=0.2,
    coverage90=0.9,
    held_out_rows=9,
    compared_rows=0,
    error=None,
    error_of_current=None,
    reasons=("too inaccurate",),
)


@pytest.mark.parametrize(("verdict", "failures"), [(FAILED, 1), (None, 0)], ids=["by the gate", "nothing to judge"])
def test_a_refused_link_is_a_failure_of_the_gate_if_there_was_a_model_to_judge(
    verdict: Verdict | None, failures: int
) -> None:
    metrics = WorkerMetrics.create()
    refused = LinkRefused(
        tenant_id=uuid4(), release_id=1, link_id=uuid4(), reason="no", duration_s=0.1, verdict=verdict
    )
    Reports(metrics, create_logger("worker", output=io.StringIO())).report(refused)
    assert metrics.registry.get_sample_value("tradewind_gate_failures_total") == failures

"""What a worker says of its tasks."""

import io
import json
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from celery import Celery

from services.observability.telemetry import create_logger
from workers.metrics import WorkerMetrics
from workers.task import TimedTask
from workers.tasks import export, journal_heartbeats, journal_quotes, refresh_usage, roll_up, sweep


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def app(output: io.StringIO) -> Celery:
    app = Celery(set_as_current=False)
    app.parts = SimpleNamespace(
        metrics=WorkerMetrics.create(), log=create_logger("worker", output=output), tracing=None
    )
    return app


def nothing(_: object) -> None:
    """The body of a task that finds nothing to do."""


def outcomes(app: Celery) -> dict[str, float]:
    """Tasks counted by outcome."""
    (family,) = app.parts.metrics.task_seconds.collect()
    return {each.labels["outcome"]: each.value for each in family.samples if each.name.endswith("_count")}


def test_finished_task_is_logged_and_counted(app: Celery, output: io.StringIO) -> None:
    app.task(nothing, bind=True, base=TimedTask, name="once")()
    assert json.loads(output.getvalue())["event"] == "task.done"
    assert outcomes(app) == {"done": 1}


def test_a_task_of_the_clock_that_is_done_is_counted_and_does_not_fill_the_log(
    app: Celery, output: io.StringIO
) -> None:
    app.task(nothing, bind=True, base=TimedTask, name="again and again", by_clock=True)()
    assert output.getvalue() == ""
    assert outcomes(app) == {"done": 1}


def test_failed_scheduled_task_is_logged(app: Celery, output: io.StringIO) -> None:
    def fails(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        app.task(fails, bind=True, base=TimedTask, name="again and again", by_clock=True)()
    assert json.loads(output.getvalue())["event"] == "task.failed"


@pytest.mark.parametrize("task", [export, journal_heartbeats, journal_quotes, roll_up, sweep])
def test_scheduled_tasks_are_marked_by_clock(task: TimedTask) -> None:
    assert task.by_clock


@pytest.mark.parametrize(("failing", "error"), [(1, ZeroDivisionError), (2, ExceptionGroup)])
@pytest.mark.parametrize("task", [roll_up, refresh_usage])
def test_tenant_whose_rows_cannot_be_computed_stops_no_other(task: TimedTask, failing: int, error: type) -> None:
    tenant_ids = [uuid4() for _ in range(4)]
    computed: list[UUID] = []

    def run(tenant_id: UUID) -> int:
        if tenant_id in tenant_ids[:failing]:
            raise ZeroDivisionError
        computed.append(tenant_id)
        return 0

    registry = SimpleNamespace(
        list_tenants_with_changed_days=lambda: tenant_ids, list_tenants_with_changed_usage=lambda: tenant_ids
    )
    use_case = SimpleNamespace(run=run)
    parts = SimpleNamespace(roll_up=use_case, refresh_usage=use_case, store=SimpleNamespace(registry=registry))
    with pytest.raises(error) as caught:
        task.run.__func__(SimpleNamespace(parts=parts))
    assert computed == tenant_ids[failing:]
    errors = getattr(caught.value, "exceptions", (caught.value,))
    assert [each.__notes__ for each in errors] == [[f"tenant {each}"] for each in tenant_ids[:failing]]

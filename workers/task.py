"""The base of all tasks: timing, a log line for each outcome, and retries of temporary errors only.

A use case opens its own transactions and publishes after their commit, so a task that fails or dies leaves no
partial work.
"""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from celery import Task
from celery.exceptions import Retry
from structlog.contextvars import bound_contextvars

from services.application.shared.jobs import REQUEST_ID
from services.observability.telemetry import Event
from services.observability.tracing import CARRIED
from tradewind.errors import TradewindError
from workers.parts import WorkerParts

MAX_RETRIES = 8
LONGEST_DELAY_S = 60.0


class TimedTask(Task):  # type: ignore[misc]  # celery is untyped
    """A task whose body calls one use case of ``self.parts``.

    ``by_clock`` : it runs regularly and reports its results itself; that it is done is counted and not logged.
    """

    abstract = True
    by_clock = False
    max_retries = MAX_RETRIES

    @property
    def parts(self) -> WorkerParts:
        parts: WorkerParts = self.app.parts
        return parts

    @property
    def is_retry(self) -> bool:
        """Whether the worker of the last attempt asked for this retry itself, and did not die."""
        return self.request.retries > 0 and not (self.request.delivery_info or {}).get("redelivered")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task; retry an error marked retryable later, with a delay that doubles each time.

        Every log line until its end has the ids of its subject and of the request that caused it.
        """
        subject = {name: value for name, value in kwargs.items() if name.endswith("_id")}
        if request_id := (self.request.headers or {}).get(REQUEST_ID):
            subject[REQUEST_ID] = request_id
        with self._start_span(subject), bound_contextvars(**subject):
            return self._run_timed(*args, **kwargs)

    def _start_span(self, subject: Mapping[str, str]) -> AbstractContextManager[object]:
        """Return a span of the task, where the request that caused it is traced."""
        tracing, sent = self.parts.tracing, self.request.headers or {}
        carried = {name: sent[name] for name in CARRIED if name in sent}
        if tracing is None or not carried:
            return nullcontext()
        return tracing.open_consumer_span(
            self.name, of=carried, attributes={f"tradewind.{name}": subject[name] for name in subject}
        )

    def _run_timed(self, *args: Any, **kwargs: Any) -> Any:
        started_s = time.monotonic()
        try:
            result = super().__call__(*args, **kwargs)
        except TradewindError as error:
            if not error.retryable:
                self._log(Event.TASK_FAILED, started_s, reason=str(error))
                raise
            self._log(Event.TASK_RETRIED, started_s, reason=str(error))
            raise self._create_retry(error) from error
        except Exception as error:
            self._log(Event.TASK_FAILED, started_s, reason=repr(error))
            raise
        self._log(Event.TASK_DONE, started_s)
        return result

    def _create_retry(self, error: TradewindError) -> Retry:
        delay_s = min(2.0**self.request.retries, LONGEST_DELAY_S)
        retry: Retry = self.retry(exc=error, countdown=delay_s, throw=False)
        return retry

    def _log(self, event: Event, started_s: float, **data: object) -> None:
        duration_s = time.monotonic() - started_s
        outcome = event.rpartition(".")[2]
        self.parts.metrics.task_seconds.labels(self.name, outcome).observe(duration_s)
        if self.by_clock and event is Event.TASK_DONE:
            return
        self.parts.log.info(event, task=self.name, task_id=self.request.id, duration_s=round(duration_s, 4), **data)

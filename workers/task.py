"""The base of all tasks: timing, a log line an outcome, and retries of what may pass and of nothing else.

A use case opens its own transactions and publishes after their commit, so a task that fails or dies leaves nothing
half done.
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

    ``by_clock`` : it runs again and again, and reports what it found itself; that it is done is counted alone.
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
        """Whether this is a retry: nothing ended the worker that tried before, which asked for it itself."""
        return self.request.retries > 0 and not (self.request.delivery_info or {}).get("redelivered")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task; an error marked retryable is tried again later, twice as late each time.

        Every log line until its end tells what it is about, and which request it goes back to.
        """
        about = {name: value for name, value in kwargs.items() if name.endswith("_id")}
        if asked := (self.request.headers or {}).get(REQUEST_ID):
            about[REQUEST_ID] = asked
        with self._span(about), bound_contextvars(**about):
            return self._timed(*args, **kwargs)

    def _span(self, about: Mapping[str, str]) -> AbstractContextManager[object]:
        """Of the task, where what led to it is traced."""
        tracing, sent = self.parts.tracing, self.request.headers or {}
        carried = {name: sent[name] for name in CARRIED if name in sent}
        if tracing is None or not carried:
            return nullcontext()
        return tracing.consumer(self.name, of=carried, attributes={f"tradewind.{name}": about[name] for name in about})

    def _timed(self, *args: Any, **kwargs: Any) -> Any:
        began = time.monotonic()
        try:
            result = super().__call__(*args, **kwargs)
        except TradewindError as error:
            if not error.retryable:
                self._log(Event.TASK_FAILED, began, reason=str(error))
                raise
            self._log(Event.TASK_RETRIED, began, reason=str(error))
            raise self._later(error) from error
        except Exception as error:
            self._log(Event.TASK_FAILED, began, reason=repr(error))
            raise
        self._log(Event.TASK_DONE, began)
        return result

    def _later(self, error: TradewindError) -> Retry:
        delay_s = min(2.0**self.request.retries, LONGEST_DELAY_S)
        retry: Retry = self.retry(exc=error, countdown=delay_s, throw=False)
        return retry

    def _log(self, event: Event, began: float, **data: object) -> None:
        duration_s = time.monotonic() - began
        outcome = event.rpartition(".")[2]
        self.parts.metrics.task_seconds.labels(self.name, outcome).observe(duration_s)
        if self.by_clock and event is Event.TASK_DONE:
            return
        self.parts.log.info(event, task=self.name, task_id=self.request.id, duration_s=round(duration_s, 4), **data)

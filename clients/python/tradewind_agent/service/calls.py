"""HTTP to the service: JSON both ways; calls that are safe to repeat are retried within bounds.

A call that changes nothing, or that the service recognises when it comes again (a batch by its idempotency key), is
sent again after a connection error, 502, 503, 504, or a 429 that says when. A call that would do a thing a second time
(a new key, a rollback) is sent again only where the first cannot have arrived.
"""

import json
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from tradewind_agent.config import check_url
from tradewind_agent.errors import ServiceFailed, ServiceUnreachable, build_error
from tradewind_agent.service.retries import TOO_MANY_REQUESTS, UNAVAILABLE_STATUSES, RetryPolicy, retry_after_s
from tradewind_agent.system_errors import ErrorExplanation, explain_os_error, find_os_error

if TYPE_CHECKING:
    from tradewind_agent.service.call_traces import CallTraces

DEFAULT_TIMEOUT_S = 30.0
LONGEST_CONNECT_S = 5.0
MOST_CONNECTIONS = 20
IDLE_CONNECTION_S = 30.0
"""For how long a connection is kept for the next request: longer than the time between two heartbeats, shorter than the
service keeps it, so that no request meets a connection that is just being closed."""

TRACES_LIBRARY = "opentelemetry.trace"

_CHECK_ADDRESS = "check the address and that the service runs"
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_Answer = TypeVar("_Answer")


class Calls:
    """Requests to one service under one key; safe to share between threads. Parameters are those of `Client`."""

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        retries: RetryPolicy = RetryPolicy(),  # noqa: B008 -- an immutable value
        pause: Callable[[float], object] = time.sleep,
        jitter: Random | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.base_url = check_url(base_url)
        self._retries = retries
        self._pause = pause
        self._jitter = jitter or Random()  # noqa: S311 -- spreads retries, guards nothing
        self._monotonic_s = monotonic_s
        self._traces = _build_traces_if_loaded()
        self._http = httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, LONGEST_CONNECT_S)),
            limits=httpx.Limits(
                max_connections=MOST_CONNECTIONS,
                max_keepalive_connections=MOST_CONNECTIONS,
                keepalive_expiry=IDLE_CONNECTION_S,
            ),
            transport=transport,
            verify=_choose_authorities(self.base_url),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        answer: TypeAdapter[_Answer],
        *,
        body: BaseModel | None = None,
        params: Mapping[str, int | str] | None = None,
        repeatable: bool = True,
        timeout_s: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> _Answer:
        options: dict[str, Any] = {"params": params} if params else {}
        if timeout_s is not None:
            options["timeout"] = httpx.Timeout(timeout_s, connect=min(timeout_s, LONGEST_CONNECT_S))
        if body is not None:
            options["content"] = body.model_dump_json(exclude_unset=True).encode()
            options["headers"] = {"Content-Type": "application/json"}
        return self.parse(self.send(method, path, repeatable=repeatable, retries=retries, **options), answer)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        body: BaseModel | None = None,
        params: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> Iterator[httpx.Response]:
        """Yield an answer to be read piece by piece; the request is not retried.

        Raises
        ------
        ServiceUnreachable : also while the answer is read, where it breaks off.
        ServiceFailed : also while it is read, where it is not encoded as it says.
        """
        timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, LONGEST_CONNECT_S))
        options: dict[str, Any] = {"headers": {"Accept": "*/*"}, "timeout": timeout, "params": params}
        if body is not None:
            options["headers"]["Content-Type"] = "application/json"
            options["content"] = body.model_dump_json(exclude_unset=False).encode()
        try:
            with self._http.stream(method, path, **options) as response:
                if response.status_code >= 400:
                    with _report_undecodable(response):
                        response.read()
                    requested_wait_s = retry_after_s(response.headers.get("Retry-After"), datetime.now(UTC))
                    raise self._to_error(response, requested_wait_s, repeatable=False)[0]
                with _report_undecodable(response):
                    yield response
        except httpx.RemoteProtocolError as broken:
            raise ServiceUnreachable(
                f"{self.base_url} ended its answer early: a limit was reached, or it was stopped"
            ) from broken
        except httpx.TransportError as failure:
            raise self._to_unreachable(failure) from failure

    def parse(self, response: httpx.Response, answer: TypeAdapter[_Answer]) -> _Answer:
        try:
            return answer.validate_json(response.content)
        except ValidationError as invalid:
            where = ".".join(str(part) for part in invalid.errors()[0]["loc"]) or "the body"
            detail = f"{response.request.url.path} gave an unexpected answer at {where}"
            raise ServiceFailed(response.status_code, {"detail": detail}) from None

    def send(
        self, method: str, path: str, *, repeatable: bool = True, retries: RetryPolicy | None = None, **options: Any
    ) -> httpx.Response:
        """Send until there is an answer, the retries are used up, or a retry could do a thing twice."""
        retries = retries or self._retries
        deadline_s = self._monotonic_s() + retries.budget_s
        waits_s = retries.waits_s(self._jitter)
        while True:
            failure_to_raise: Exception
            try:
                response = self._send_traced(method, path, options)
            except httpx.TransportError as failure:
                failure_to_raise, requested_wait_s = self._to_unreachable(failure), None
                again = repeatable or isinstance(failure, _NEVER_SENT)
            else:
                if response.status_code < 400:
                    return response
                requested_wait_s = retry_after_s(response.headers.get("Retry-After"), datetime.now(UTC))
                failure_to_raise, again = self._to_error(response, requested_wait_s, repeatable=repeatable)
            wait_s = next(waits_s, None) if again else None
            if wait_s is None:
                raise failure_to_raise
            wait_s = max(wait_s, requested_wait_s or 0.0)
            if self._monotonic_s() + wait_s > deadline_s:
                raise failure_to_raise
            self._pause(wait_s)

    def _send_traced(self, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        if self._traces is None:
            return self._read(method, path, options)
        with self._traces.call(method, path) as call:
            headers = {**options.get("headers", {}), **call.headers}
            response = self._read(method, path, {**options, "headers": headers})
            call.record_answer(response)
            return response

    def _read(self, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        with self._http.stream(method, path, **options) as response, _report_undecodable(response):
            response.read()
        return response

    def _to_unreachable(self, failure: httpx.TransportError) -> ServiceUnreachable:
        cause = find_os_error(failure)
        explanation = (
            explain_os_error(cause)
            if cause is not None
            else ErrorExplanation(str(failure) or type(failure).__name__, _CHECK_ADDRESS)
        )
        return ServiceUnreachable(f"{self.base_url} does not answer: {explanation}")

    def _to_error(
        self, response: httpx.Response, requested_wait_s: float | None, *, repeatable: bool
    ) -> tuple[Exception, bool]:
        """Return the exception for an error status, and whether the request may be sent again."""
        status = response.status_code
        if status == TOO_MANY_REQUESTS or status in UNAVAILABLE_STATUSES:
            when = f"try again in {requested_wait_s:.0f} s" if requested_wait_s else "try again later"
            failure_to_raise = ServiceUnreachable(
                f"{self.base_url} cannot answer now ({status}); {when}", retry_after_s=requested_wait_s
            )
            # A 429 without Retry-After is a verdict on this caller; 502 and 504 may hide a request that was done.
            again = requested_wait_s is not None if status == TOO_MANY_REQUESTS else repeatable or status == 503
            return failure_to_raise, again
        return build_error(status, _read_problem(response)), False


@contextmanager
def _report_undecodable(response: httpx.Response) -> Iterator[None]:
    """Report an answer that is not encoded as it says as a failure of the service."""
    try:
        yield
    except httpx.DecodingError as damaged:
        path, encoding = response.request.url.path, response.headers.get("Content-Encoding")
        detail = f"{path} answered something else than {encoding}, which it says it is"
        raise ServiceFailed(response.status_code, {"detail": detail}) from damaged


def _build_traces_if_loaded() -> "CallTraces | None":
    """Return traces if the program has loaded OpenTelemetry: each call is then a span, and carries its context."""
    if TRACES_LIBRARY not in sys.modules:
        return None
    from tradewind_agent.service.call_traces import CallTraces  # noqa: PLC0415 -- most programs do without

    return CallTraces()


def _choose_authorities(base_url: str) -> ssl.SSLContext | bool:
    """Return the TLS authorities: those that httpx finds, or none without TLS, since reading them takes a while."""
    if base_url.lower().startswith("https:") or getproxies().keys() - {"no"}:
        return True
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _read_problem(response: httpx.Response) -> dict[str, Any]:
    try:
        content = json.loads(response.content)
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {"detail": response.reason_phrase}

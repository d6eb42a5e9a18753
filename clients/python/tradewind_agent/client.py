"""SDK: the calls of API v1, retried within bounds where the same call twice is the same as once.

A call that changes nothing, or that the service recognises when it comes again (a batch by its idempotency key), is
sent again after a connection error, 502, 503, 504, or a 429 that says when. A call that would do a thing a second time
(a new key, a rollback) is sent again only where the first cannot have arrived.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from tradewind.transfer import TransferRecord
from tradewind.wire.heartbeats import Completion, CompletionReceipt, Heartbeat, HeartbeatAnswer
from tradewind.wire.inventory import (
    Cluster,
    CreatedKey,
    Endpoint,
    EndpointChange,
    Key,
    Link,
    NewEndpoint,
    NewKey,
    Release,
    Surface,
)
from tradewind.wire.logs import ALREADY_STORED, BatchReceipt
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse
from tradewind.wire.records import WireRecord
from tradewind_agent.batches import LogBatch, split_into_batches
from tradewind_agent.config import check_url
from tradewind_agent.errors import RequestRefused, ScopeMissing, ServiceAway, ServiceBroken, UnknownThing, problem_of
from tradewind_agent.retries import AWAY_STATUSES, NO_RETRIES, TOO_MANY_REQUESTS, RetryPolicy, retry_after_s
from tradewind_agent.system_errors import Plain, in_words, system_error_behind

DEFAULT_TIMEOUT_S = 30.0
LONGEST_CONNECT_S = 5.0
HEARTBEAT_TIMEOUT_S = 3.0
"""A heartbeat that takes longer is of no use: the next tick is near, and the transfer has decided by itself."""
COMPLETION_TIMEOUT_S = 10.0

_CHECK_ADDRESS = "check the address and that the service runs"
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_SCOPE_PROBES = (
    ("agent", "POST", "/v1/recommend"),
    ("provider", "POST", "/v1/endpoints"),
    ("operator", "GET", "/v1/keys"),
)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class UploadReport:
    """What became of uploaded logs; one receipt a batch, in order."""

    receipts: tuple[BatchReceipt, ...] = field(default=())

    @property
    def accepted(self) -> int:
        return sum(receipt.accepted for receipt in self.receipts)

    @property
    def rejected(self) -> int:
        return sum(receipt.rejected for receipt in self.receipts)

    @property
    def stored_any(self) -> bool:
        """Whether the service has any of it, be it from before."""
        rejections = (each for receipt in self.receipts for each in receipt.rejections)
        return bool(self.accepted) or any(each.reason == ALREADY_STORED for each in rejections)


class Client:
    """One tenant's view of a service; safe to share between threads, to be closed after use (a context manager).

    Parameters
    ----------
    base_url : such as ``https://tradewind.example.org``.
    key : API key; its scopes decide which calls are permitted.
    transport : seam for tests and for unusual networks; by default TLS, proxies and CA files as httpx finds them.
    timeout_s : of one attempt, between bytes.
    retries : bounds of trying again.
    pause, jitter, monotonic_s : the clock and the randomness of retries.

    Raises (every call)
    -------------------
    ServiceAway : not reached, or away after all retries.
    ServiceProblem : refused; one subclass a status.
    """

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
        self._base_url = check_url(base_url)
        self._retries = retries
        self._pause = pause
        self._jitter = jitter or Random()  # noqa: S311 -- spreads retries, guards nothing
        self._monotonic_s = monotonic_s
        self._http = httpx.Client(
            base_url=self._base_url,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, LONGEST_CONNECT_S)),
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @property
    def base_url(self) -> str:
        return self._base_url

    # Transfers

    def recommend(self, request: RecommendRequest) -> RecommendResponse:
        """Plan, prediction and table for a transfer that is about to begin; an offer, nothing is claimed by it."""
        return self._call("POST", "/v1/recommend", TypeAdapter(RecommendResponse), body=request)

    def heartbeat(
        self, transfer_id: UUID, heartbeat: Heartbeat, *, timeout_s: float = HEARTBEAT_TIMEOUT_S
    ) -> HeartbeatAnswer:
        """Tell one tick of a live transfer and learn what to do until the next; asked once, never again by itself."""
        path = f"/v1/transfers/{transfer_id}/heartbeats"
        answer = TypeAdapter(HeartbeatAnswer)
        return self._call("POST", path, answer, body=heartbeat, timeout_s=timeout_s, retries=NO_RETRIES)

    def complete(
        self, transfer_id: UUID, completion: Completion, *, timeout_s: float = COMPLETION_TIMEOUT_S
    ) -> CompletionReceipt:
        """End a transfer: its records, and the heartbeats that the service may not have stored. Twice is once."""
        path = f"/v1/transfers/{transfer_id}/complete"
        return self._call("POST", path, TypeAdapter(CompletionReceipt), body=completion, timeout_s=timeout_s)

    # Logs

    def upload_logs(
        self,
        records: Iterable[WireRecord | TransferRecord | bytes],
        *,
        idempotency_key: str | None = None,
        on_receipt: Callable[[BatchReceipt], None] | None = None,
    ) -> UploadReport:
        """Upload any number of records in batches of bounded size; memory does not grow with their number.

        Parameters
        ----------
        records : wire or domain records, or NDJSON lines.
        idempotency_key : of the whole upload; batch n is sent under ``key-n``. By default each batch is known by its
            content, so that the same records sent again are stored once.
        on_receipt : called after each batch.
        """
        receipts = []
        for number, batch in enumerate(split_into_batches(records)):
            key = batch.sha256 if idempotency_key is None else f"{idempotency_key}-{number}"
            receipts.append(self.upload_batch(batch, idempotency_key=key))
            if on_receipt is not None:
                on_receipt(receipts[-1])
        return UploadReport(tuple(receipts))

    def upload_batch(self, batch: LogBatch, *, idempotency_key: str | None = None) -> BatchReceipt:
        """Upload one batch under its content's hash, or the key given.

        A batch of which no row is valid has a receipt too: the service keeps its rows in quarantine.
        """
        try:
            response = self._send(
                "POST",
                "/v1/logs",
                content=batch.compressed,
                headers={
                    "Content-Type": "application/x-ndjson",
                    "Content-Encoding": "zstd",
                    "Idempotency-Key": idempotency_key or batch.sha256,
                },
            )
        except RequestRefused as refusal:
            receipt = _receipt_in(refusal)
            if receipt is None:
                raise
            return receipt
        return self._parse(response, TypeAdapter(BatchReceipt))

    def batch(self, batch_id: UUID) -> BatchReceipt:
        """The receipt of a batch, later."""
        return self._call("GET", f"/v1/logs/batches/{batch_id}", TypeAdapter(BatchReceipt))

    # What was learned

    def links(self) -> tuple[Link, ...]:
        return self._call("GET", "/v1/links", TypeAdapter(tuple[Link, ...]))

    def clusters(self, link_id: UUID) -> tuple[Cluster, ...]:
        return self._call("GET", f"/v1/links/{link_id}/clusters", TypeAdapter(tuple[Cluster, ...]))

    def surface(self, cluster_id: UUID) -> Surface:
        return self._call("GET", f"/v1/clusters/{cluster_id}/surface", TypeAdapter(Surface))

    def releases(self, *, before: int | None = None, limit: int | None = None) -> tuple[Release, ...]:
        """A page of releases, the newest first; the id of its last one is the ``before`` of the next page."""
        asked = {"before": before, "limit": limit}
        given = {name: value for name, value in asked.items() if value is not None}
        return self._call("GET", "/v1/releases", TypeAdapter(tuple[Release, ...]), params=given)

    def rollback(self, release_id: int) -> Release:
        """Return to ``release_id``, or from it to its parent when it is the one in force; the release now in force."""
        return self._call("POST", f"/v1/releases/{release_id}/rollback", TypeAdapter(Release), repeatable=False)

    # Endpoints and keys

    def endpoints(self) -> tuple[Endpoint, ...]:
        return self._call("GET", "/v1/endpoints", TypeAdapter(tuple[Endpoint, ...]))

    def create_endpoint(self, endpoint: NewEndpoint) -> Endpoint:
        return self._call("POST", "/v1/endpoints", TypeAdapter(Endpoint), body=endpoint, repeatable=False)

    def change_endpoint(self, endpoint_id: UUID, change: EndpointChange) -> Endpoint:
        return self._call("PATCH", f"/v1/endpoints/{endpoint_id}", TypeAdapter(Endpoint), body=change)

    def keys(self) -> tuple[Key, ...]:
        return self._call("GET", "/v1/keys", TypeAdapter(tuple[Key, ...]))

    def create_key(self, key: NewKey) -> CreatedKey:
        """A new key; the only time that its secret is seen."""
        return self._call("POST", "/v1/keys", TypeAdapter(CreatedKey), body=key, repeatable=False)

    def revoke_key(self, key_id: UUID) -> None:
        self._send("DELETE", f"/v1/keys/{key_id}")

    def scopes(self) -> tuple[str, ...]:
        """What the key permits, found out without changing anything.

        The calls lack what they need: a key without the scope is refused first, any other because of the body.
        """
        permitted = []
        for scope, method, path in _SCOPE_PROBES:
            try:
                self._send(method, path, content=b"{}", headers={"Content-Type": "application/json"})
            except RequestRefused:
                permitted.append(scope)
            except (ScopeMissing, UnknownThing):
                continue
            else:
                permitted.append(scope)
        return tuple(permitted)

    # Health

    def healthy(self) -> datetime | None:
        """Ask ``/healthz``: the service's clock where its answer tells the date."""
        response = self._send("GET", "/healthz")
        return _date_of(response)

    def _call(
        self,
        method: str,
        path: str,
        answer: TypeAdapter[_Answer],
        *,
        body: BaseModel | None = None,
        params: Mapping[str, int] | None = None,
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
        return self._parse(self._send(method, path, repeatable=repeatable, retries=retries, **options), answer)

    def _parse(self, response: httpx.Response, answer: TypeAdapter[_Answer]) -> _Answer:
        try:
            return answer.validate_json(response.content)
        except ValidationError as invalid:
            where = ".".join(str(part) for part in invalid.errors()[0]["loc"]) or "the body"
            detail = f"{response.request.url.path} answered something else than expected at {where}"
            raise ServiceBroken(response.status_code, {"detail": detail}) from None

    def _send(
        self, method: str, path: str, *, repeatable: bool = True, retries: RetryPolicy | None = None, **options: Any
    ) -> httpx.Response:
        """Send until there is an answer, the retries are used up, or sending again could do a thing twice."""
        retries = retries or self._retries
        deadline_s = self._monotonic_s() + retries.budget_s
        waits_s = retries.waits_s(self._jitter)
        while True:
            away: Exception
            try:
                response = self._http.request(method, path, **options)
            except httpx.TransportError as failure:
                away, asked_s = self._unreached(failure), None
                again = repeatable or isinstance(failure, _NEVER_SENT)
            else:
                if response.status_code < 400:
                    return response
                asked_s = retry_after_s(response.headers.get("Retry-After"), datetime.now(UTC))
                away, again = self._refused(response, asked_s, repeatable=repeatable)
            wait_s = next(waits_s, None) if again else None
            if wait_s is None:
                raise away
            wait_s = max(wait_s, asked_s or 0.0)
            if self._monotonic_s() + wait_s > deadline_s:
                raise away
            self._pause(wait_s)

    def _unreached(self, failure: httpx.TransportError) -> ServiceAway:
        cause = system_error_behind(failure)
        told = in_words(cause) if cause is not None else Plain(str(failure) or type(failure).__name__, _CHECK_ADDRESS)
        return ServiceAway(f"{self._base_url} does not answer: {told}")

    def _refused(self, response: httpx.Response, asked_s: float | None, *, repeatable: bool) -> tuple[Exception, bool]:
        """What to raise for an error status, and whether the request may be sent again."""
        status = response.status_code
        if status == TOO_MANY_REQUESTS or status in AWAY_STATUSES:
            when = f"try again in {asked_s:.0f} s" if asked_s else "try again later"
            away = ServiceAway(f"{self._base_url} cannot answer now ({status}); {when}", retry_after_s=asked_s)
            # A 429 without Retry-After is a verdict on this caller; 502 and 504 may hide a request that was done.
            again = asked_s is not None if status == TOO_MANY_REQUESTS else repeatable or status == 503
            return away, again
        return problem_of(status, _problem(response)), False


def _receipt_in(refusal: RequestRefused) -> BatchReceipt | None:
    """The receipt that comes with the problem of a batch without a valid row; ``None`` of any other problem."""
    try:
        return BatchReceipt.model_validate(refusal.problem)
    except ValidationError:
        return None


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        content = json.loads(response.content)
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {"detail": response.reason_phrase}


def _date_of(response: httpx.Response) -> datetime | None:
    header = response.headers.get("Date")
    try:
        return datetime.strptime(header, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC) if header else None
    except ValueError:
        return None

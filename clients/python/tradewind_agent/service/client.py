"""SDK: the calls of API v1; see `tradewind_agent.service.calls` for how they are sent and repeated."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import UUID

import httpx
from pydantic import TypeAdapter, ValidationError

from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import TransferRecord
from tradewind.wire.heartbeats import Completion, CompletionReceipt, Heartbeat, HeartbeatAnswer
from tradewind.wire.limits import LearnedLimit
from tradewind.wire.logs import BatchReceipt
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import RequestRefused, ServiceUnreachable
from tradewind_agent.service.batches import LogBatch, split_into_batches
from tradewind_agent.service.calls import DEFAULT_TIMEOUT_S, Calls
from tradewind_agent.service.key_scopes import find_permitted_scopes
from tradewind_agent.service.older_services import OlderService
from tradewind_agent.service.retries import NO_RETRIES, RequestedPause, RetryPolicy

if TYPE_CHECKING:
    from tradewind.connections.har import Har
    from tradewind.wire.connections import ConnectionAnalysis
    from tradewind_agent.compression.service import Compression
    from tradewind_agent.service.inventory import Inventory
    from tradewind_agent.service.mobile import Mobile
    from tradewind_agent.service.prices import Prices
    from tradewind_agent.service.regions import Regions
    from tradewind_agent.service.releases import Releases
    from tradewind_agent.service.usage import Usage
    from tradewind_agent.service.warehouse import Warehouse

HEARTBEAT_TIMEOUT_S = 3.0
"""A heartbeat that takes longer is of no use: the next tick is near, and the transfer has decided by itself."""
COMPLETION_TIMEOUT_S = 10.0


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
    def not_quarantined(self) -> int:
        """Rejected rows that the service has not stored, as the quarantine was full."""
        return sum(receipt.not_quarantined for receipt in self.receipts)

    @property
    def stored_any(self) -> bool:
        """Whether the service has any of it, be it from before."""
        return any(receipt.stored_any for receipt in self.receipts)


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
    ServiceUnreachable : not reached, or unavailable after all retries.
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
        self._calls = Calls(
            base_url,
            key,
            transport=transport,
            timeout_s=timeout_s,
            retries=retries,
            pause=pause,
            jitter=jitter,
            monotonic_s=monotonic_s,
        )
        self._heartbeat_pause = RequestedPause(monotonic_s)
        self._older_service = OlderService(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    @property
    def base_url(self) -> str:
        return self._calls.base_url

    # Transfers

    def recommend(self, request: RecommendRequest) -> RecommendResponse:
        """Return plan, prediction and table for a transfer before it starts; this claims no share."""
        return self._older_service.post("/v1/recommend", TypeAdapter(RecommendResponse), request)

    def heartbeat(
        self, transfer_id: UUID, heartbeat: Heartbeat, *, timeout_s: float = HEARTBEAT_TIMEOUT_S
    ) -> HeartbeatAnswer:
        """Send one tick of a live transfer and return what to do until the next; it is never repeated.

        If the service says when to come back, no heartbeat is sent before then, and transfers decide by themselves.
        """
        path = f"/v1/transfers/{transfer_id}/heartbeats"
        answer = TypeAdapter(HeartbeatAnswer)
        self._heartbeat_pause.require_over()
        try:
            return self._older_service.post(path, answer, heartbeat, timeout_s=timeout_s, retries=NO_RETRIES)
        except ServiceUnreachable as away:
            self._heartbeat_pause.begin(away)
            raise

    def complete(
        self, transfer_id: UUID, completion: Completion, *, timeout_s: float = COMPLETION_TIMEOUT_S
    ) -> CompletionReceipt:
        """Finish a transfer with its records and the heartbeats that the service may lack; repeating it is harmless."""
        path = f"/v1/transfers/{transfer_id}/complete"
        answer = TypeAdapter(CompletionReceipt)
        return self._older_service.post(path, answer, completion, timeout_s=timeout_s)

    def report_learned_limit(self, learned: LearnedLimit) -> None:
        """Report that a server has refused more connections than it permitted; reporting it twice is harmless."""
        self._calls.send("POST", "/v1/limits/learned", json=learned.model_dump(mode="json"))

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

        A batch without a valid row has a receipt too: the service keeps its rows in quarantine.
        """
        try:
            coding = {"Content-Type": "application/x-ndjson", "Content-Encoding": "zstd"}
            headers = {**coding, "Idempotency-Key": idempotency_key or batch.sha256}
            response = self._calls.send("POST", "/v1/logs", content=batch.compressed, headers=headers)
        except RequestRefused as refusal:
            if (receipt := _parse_receipt(refusal)) is None:
                raise
            return receipt
        return self._calls.parse(response, TypeAdapter(BatchReceipt))

    def batch(self, batch_id: UUID) -> BatchReceipt:
        """Return the receipt of a batch that was uploaded earlier."""
        return self._calls.call("GET", f"/v1/logs/batches/{batch_id}", TypeAdapter(BatchReceipt))

    # Connections

    def analyse_connections(
        self, har: "Har", *, path: Path = UNKNOWN_PATH, proxy: str | None = None
    ) -> "ConnectionAnalysis":
        """Have a browser's log analysed and kept; the same log again replaces what was kept of it.

        Parameters
        ----------
        har : as `har_file.read_har` or ``tradewind.connections.har.decode_har`` read it: of addresses the origins are
            sent, of headers those of caches and sizes.
        path : what is known of the path to the servers.
        proxy : name of one's own cache.
        """
        from tradewind.wire.connections import ConnectionAnalysis  # noqa: PLC0415 -- a copy does without

        parameters = {"rtt_s": path.rtt_s, "bandwidth_bps": path.bandwidth_bps, "proxy": proxy}
        response = self._calls.send(
            "POST",
            "/v1/connections/analyse",
            params={name: value for name, value in parameters.items() if value is not None},
            content=json.dumps(har.slim(), separators=(",", ":")).encode(),
            headers={"Content-Type": "application/json"},
        )
        return self._calls.parse(response, TypeAdapter(ConnectionAnalysis))

    # What else there is, each loaded when it is used

    @cached_property
    def inventory(self) -> "Inventory":
        """Links with what was learned of them, endpoints and keys."""
        from tradewind_agent.service.inventory import Inventory  # noqa: PLC0415 -- a copy does without

        return Inventory(self._calls)

    @cached_property
    def releases(self) -> "Releases":
        """Releases, and publishing one."""
        from tradewind_agent.service.releases import Releases  # noqa: PLC0415 -- a copy does without

        return Releases(self._calls)

    @cached_property
    def warehouse(self) -> "Warehouse":
        """SQL on what was logged and learned."""
        from tradewind_agent.service.warehouse import Warehouse  # noqa: PLC0415 -- a copy does without

        return Warehouse(self._calls)

    @cached_property
    def compression(self) -> "Compression":
        """Codecs: what to pack a file with on its way."""
        from tradewind_agent.compression.service import Compression  # noqa: PLC0415 -- a copy does without

        return Compression(self._calls)

    @cached_property
    def mobile(self) -> "Mobile":
        """Device profiles, and when to send queued jobs over a radio."""
        from tradewind_agent.service.mobile import Mobile  # noqa: PLC0415 -- a copy does without

        return Mobile(self._calls)

    @cached_property
    def regions(self) -> "Regions":
        """Electricity regions, their hours, and those of a transfer's ends."""
        from tradewind_agent.service.regions import Regions  # noqa: PLC0415 -- a copy does without

        return Regions(self._calls)

    @cached_property
    def usage(self) -> "Usage":
        """What customer keys used, and what they pay."""
        from tradewind_agent.service.usage import Usage  # noqa: PLC0415 -- a copy does without

        return Usage(self._calls)

    @cached_property
    def prices(self) -> "Prices":
        """Price books, and what they would have earned."""
        from tradewind_agent.service.prices import Prices  # noqa: PLC0415 -- a copy does without

        return Prices(self._calls)

    # The key and the service

    def scopes(self) -> tuple[str, ...]:
        """Find out what the key permits, without changing anything."""
        return find_permitted_scopes(self._calls)

    def healthy(self) -> datetime | None:
        """Call ``/healthz`` and return the service's clock, if the answer has a date."""
        response = self._calls.send("GET", "/healthz")
        return _find_date(response)


def _parse_receipt(refusal: RequestRefused) -> BatchReceipt | None:
    """Return the receipt that comes with the problem of a batch without a valid row; ``None`` for any other problem."""
    try:
        return BatchReceipt.model_validate(refusal.problem)
    except ValidationError:
        return None


def _find_date(response: httpx.Response) -> datetime | None:
    header = response.headers.get("Date")
    try:
        return datetime.strptime(header, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC) if header else None
    except ValueError:
        return None

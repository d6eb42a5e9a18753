"""Notices to every process by Redis publish and subscribe: something that a process caches has changed.

Notices may be lost, so nothing depends on one: keys are looked up again after seconds, releases are checked regularly.
"""

import threading
from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import orjson
import redis
from structlog.typing import FilteringBoundLogger

from services.application.shared.jobs import (
    EndpointsChanged,
    KeyChanged,
    LimitsChanged,
    Notice,
    PricesChanged,
    ReleaseChanged,
)

CHANNEL = "tradewind:notices"
POLL_S = 0.5
RETRY_S = 1.0


def encode(notice: Notice) -> bytes:
    match notice:
        case ReleaseChanged(tenant_id, release_id):
            return orjson.dumps({"kind": "release_changed", "tenant_id": tenant_id, "release_id": release_id})
        case KeyChanged(tenant_id, key_id):
            return orjson.dumps({"kind": "key_changed", "tenant_id": tenant_id, "key_id": key_id})
        case LimitsChanged(tenant_id):
            return orjson.dumps({"kind": "limits_changed", "tenant_id": tenant_id})
        case PricesChanged(tenant_id):
            return orjson.dumps({"kind": "prices_changed", "tenant_id": tenant_id})
        case EndpointsChanged(tenant_id):
            return orjson.dumps({"kind": "endpoints_changed", "tenant_id": tenant_id})


def decode(message: bytes) -> Notice | None:
    """Return the notice; ``None`` for a kind that a later version added."""
    fields = orjson.loads(message)
    match fields["kind"]:
        case "release_changed":
            return ReleaseChanged(UUID(fields["tenant_id"]), fields["release_id"])
        case "key_changed":
            return KeyChanged(UUID(fields["tenant_id"]), UUID(fields["key_id"]))
        case "limits_changed":
            return LimitsChanged(UUID(fields["tenant_id"]))
        case "prices_changed":
            return PricesChanged(UUID(fields["tenant_id"]))
        case "endpoints_changed":
            return EndpointsChanged(UUID(fields["tenant_id"]))
    return None


class NoticeListener:
    """A thread that passes notices on.

    Parameters
    ----------
    client : of Redis; its connection pool gives the thread its own connection.
    on_notice : called for each notice.
    on_subscribed : called whenever a subscription begins: notices before it were missed.
    log : receives a notice that cannot be read or acted on; later ones are still handled.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        on_notice: Callable[[Notice], None],
        on_subscribed: Callable[[], None],
        log: FilteringBoundLogger,
    ) -> None:
        self._client = client
        self._log = log
        self._on_notice = on_notice
        self._on_subscribed = on_subscribed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except redis.RedisError:
                self._stopping.wait(RETRY_S)

    def _follow(self) -> None:
        with closing(self._client.pubsub()) as subscription:  # type: ignore[no-untyped-call]  # as redis has it
            subscription.subscribe(CHANNEL)
            while not self._stopping.is_set():
                message = subscription.get_message(timeout=POLL_S)
                if message is None:
                    continue
                if message["type"] == "subscribe":
                    self._on_subscribed()
                elif message["type"] == "message":
                    self._hand_on(message["data"])

    def _hand_on(self, message: bytes) -> None:
        try:
            notice = decode(message)
            if notice is not None:
                self._on_notice(notice)
        except Exception:  # noqa: BLE001 - without this thread the process would hear nothing any more
            self._log.exception("notice.failed")

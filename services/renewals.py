"""What an API process does once another process has changed something."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from uuid import UUID

import redis
from structlog.typing import FilteringBoundLogger

from services.application.access.authenticate import Keyring
from services.application.recommend.lookup import Snapshots
from services.application.shared.jobs import (
    EndpointsChanged,
    KeyChanged,
    LimitsChanged,
    Notice,
    PricesChanged,
    ReleaseChanged,
)
from services.observability.telemetry import Event
from services.queue.notices import NoticeListener
from tradewind.errors import TradewindError


class Renewals:
    """Renews snapshots whose release has changed, in a thread of their own, one after the other."""

    def __init__(self, snapshots: Snapshots, log: FilteringBoundLogger, closing: ExitStack) -> None:
        self.snapshots = snapshots
        self._log = log
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="renewals")
        closing.callback(self._thread.shutdown, cancel_futures=True)

    def renew(self, tenant_id: UUID) -> None:
        """Renew a snapshot soon; one that cannot be renewed is read with the next request."""
        self._thread.submit(self._renew, tenant_id)

    def _renew(self, tenant_id: UUID) -> None:
        try:
            self.snapshots.renew(tenant_id)
        except TradewindError:
            self.snapshots.forget(tenant_id)
        except Exception:  # noqa: BLE001  # nobody waits for it
            self.snapshots.forget(tenant_id)
            self._log.exception(Event.NOTICE_FAILED)


def create_listener(
    client: redis.Redis, keyring: Keyring, renewals: Renewals, log: FilteringBoundLogger
) -> NoticeListener:
    """Return a listener that drops what other processes have changed."""
    snapshots = renewals.snapshots

    def on_notice(notice: Notice) -> None:
        match notice:
            case KeyChanged():
                keyring.forget(notice.key_id)
            case ReleaseChanged():
                renewals.renew(notice.tenant_id)
            case LimitsChanged() | PricesChanged() | EndpointsChanged():
                snapshots.forget(notice.tenant_id)

    def on_subscribed() -> None:
        keyring.forget_all()
        snapshots.forget_all()

    return NoticeListener(client, on_notice=on_notice, on_subscribed=on_subscribed, log=log)

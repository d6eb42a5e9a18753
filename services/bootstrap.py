"""Put the parts of a process together: the one place that knows which part fills which port."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import httpx
import redis
import redis.asyncio
from structlog.typing import FilteringBoundLogger

from services.application.access.authenticate import Keyring
from services.application.access.passwords import Passwords
from services.application.access.pending_sign_ins import SealingKey
from services.application.access.refused_sign_ins import RefusedSignIn, RefusedSignIns
from services.application.access.single_sign_on import Provider, SignOnRules
from services.application.advice.compression import Histories
from services.application.billing.spending import NotedSpending, SpendingLimits
from services.application.limits.live_shares import LiveShares
from services.application.limits.rate_limits import CallLimits, RateLimits, RefusedCalls
from services.application.logs.lines import BodyLimits
from services.application.monitoring.watch_service import ServiceWatch
from services.application.recommend.lookup import Snapshots
from services.application.shared.audit import SERVICE
from services.application.shared.ports import Clock
from services.application.shared.single_flight import SingleFlight
from services.application.shared.slots import AT_ONCE, Slots
from services.application.shared.yielding_processes import YieldingProcesses
from services.application.transfers.owners import OwnerLookups
from services.application.transfers.sessions import SessionLimits
from services.application.transfers.tune import Tuner
from services.application.warehouse.noted_statements import NotedStatements
from services.application.warehouse.query import QueryLimits, StoredLogin, ensure_query_login
from services.application.warehouse.query_log import QueryLog
from services.observability.telemetry import Event, Metrics, create_logger
from services.observability.tracing import Tracing
from services.persistence.patience import PATIENCE_OF_REQUESTS, Patience
from services.persistence.store import Store
from services.persistence.warehouse.views import Warehouse
from services.queue.dispatcher import TIMEOUT_S, Dispatcher, create_job_publisher
from services.queue.notices import NoticeListener
from services.queue.queued_state import QueuedStates
from services.queue.quote_recorder import QuoteRecorder
from services.queue.sealing_key import RedisSealingKey
from services.queue.sessions import RedisSessions
from services.queue.shared_rates import RedisLevels
from services.readiness import Readiness, require_redis
from services.renewals import Renewals, create_listener
from services.spools import Spools
from services.system_clock import SystemClock
from services.upload_storage import AT_ONCE as UPLOADS_AT_ONCE
from services.upload_storage import UploadStorage

if TYPE_CHECKING:
    from services.openid.provider import OpenIdProvider

SESSION_TIMEOUT_S = 1.0
"""How long a heartbeat waits for a store of sessions that does not answer, before it is answered without."""


@dataclass(frozen=True, slots=True)
class SignOn:
    """The provider at which users may sign in, and the rules for them."""

    provider: "OpenIdProvider"
    rules: SignOnRules

    @classmethod
    def at(cls, provider: Provider, rules: SignOnRules) -> "SignOn":
        """Return the sign-on for a provider; nothing is requested yet."""
        from services.openid.provider import TIMEOUT_S, OpenIdProvider  # noqa: PLC0415 -- most installations have none

        http = httpx.Client(timeout=TIMEOUT_S, follow_redirects=False)
        return cls(OpenIdProvider(provider, http, monotonic_s=time.monotonic, now_s=time.time), rules)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What an operator may choose of an API process.

    Attributes
    ----------
    reader_address : host and port at which analysts reach the database, where these differ from the application's.
    export_place : where workers write logs as Parquet, as it is shown; None: nowhere.
    log_months : past months of logs that are stored; None: all.
    sign_on : the OpenID provider at which users may sign in; None: by password only.
    notice : at the head of every page.
    call_limits : how often a key and a tenant may call.
    session_limits : how many transfers may be live at once.
    tracing : where spans go; None: nowhere.
    patience : limits of locks and statements of the database.
    """

    query_limits: QueryLimits = field(default_factory=QueryLimits)
    reader_address: str | None = None
    export_place: str | None = None
    log_months: int | None = None
    sign_on: SignOn | None = None
    notice: str = ""
    call_limits: CallLimits = field(default_factory=CallLimits.usual)
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    tracing: Tracing | None = None
    patience: Patience = PATIENCE_OF_REQUESTS


@dataclass(frozen=True, kw_only=True)
class Container:
    """The parts of an API process."""

    store: Store
    warehouse: Warehouse
    keyring: Keyring
    rate_limits: RateLimits
    snapshots: Snapshots
    histories: Histories
    lookups: SingleFlight
    unknown_path_lock: asyncio.Lock
    analysis_slots: Slots
    completion_slots: Slots
    upload_slots: Slots
    upload_storage: UploadStorage
    planning_slots: Slots
    repeated_slots: Slots
    computing: YieldingProcesses
    spools: Spools
    client: redis.Redis
    session_client: redis.asyncio.Redis
    sessions: RedisSessions
    owners: OwnerLookups
    tuner: Tuner
    live_shares: LiveShares
    quotes: QuoteRecorder
    spending_limits: SpendingLimits
    notices: NoticeListener
    clock: Clock
    metrics: Metrics
    watch: ServiceWatch
    log: FilteringBoundLogger
    body_limits: BodyLimits
    passwords: Passwords
    refused_sign_ins: RefusedSignIns
    sealing_key: SealingKey
    options: Options
    readiness: Readiness


@contextmanager
def build_container(*, database_url: str, redis_url: str, options: Options | None = None) -> Iterator[Container]:
    """Yield the parts of an API process; connections open when first used and close at the end.

    ``database_url`` : of the application's role. The provider at which users sign in is closed with the rest.
    """
    options = options or Options()
    log = create_logger("api", output=sys.stderr)
    client, session_client = _build_redis_clients(redis_url)
    with ExitStack() as closing:
        closing.callback(client.close)
        tracing = options.tracing
        if tracing is not None:
            closing.callback(tracing.close)
        carried = dict if tracing is None else tracing.build_headers
        dispatcher = Dispatcher(create_job_publisher(redis_url), client, log, carried)
        closing.callback(dispatcher.close)
        if options.sign_on is not None:
            closing.callback(options.sign_on.provider.close)
        store = closing.enter_context(Store(database_url, dispatcher, options.patience))
        keyring = Keyring(store.registry.find_key, time.monotonic)
        snapshots = Snapshots(store.index, store.model, time.monotonic)
        sessions = RedisSessions(
            session_client, limits=options.session_limits, trace=lambda: carried().get("traceparent", "")
        )
        lookups = SingleFlight()
        quotes = QuoteRecorder(
            session_client, partial(_log_waiting_quotes, log), partial(_log_dropped_quotes, log), time.time
        )
        owners = OwnerLookups(store.unit_of_work, quotes.find_key, lookups, time.monotonic)
        computing, passwords, metrics = YieldingProcesses(), Passwords(), Metrics.create()
        upload_storage = UploadStorage(database_url, options.patience, dispatcher)
        closing.callback(upload_storage.close)
        closing.callback(computing.close)
        closing.callback(passwords.close)
        yield Container(
            store=store,
            warehouse=_build_warehouse(options, store, database_url),
            keyring=keyring,
            rate_limits=_build_rate_limits(options, session_client, log),
            snapshots=snapshots,
            histories=Histories(store.unit_of_work, time.monotonic),
            lookups=lookups,
            unknown_path_lock=asyncio.Lock(),
            analysis_slots=Slots("logs of browsers", done="analysed", at_once=1),
            completion_slots=Slots("ends of transfers", of_group=AT_ONCE - 1, of_member=AT_ONCE - 2),
            upload_slots=Slots(
                "uploads", at_once=UPLOADS_AT_ONCE, of_group=UPLOADS_AT_ONCE - 1, of_member=UPLOADS_AT_ONCE - 2
            ),
            upload_storage=upload_storage,
            planning_slots=Slots("queues of jobs", done="planned", at_once=1),
            repeated_slots=Slots("repeated requests", done="answered", of_group=AT_ONCE - 1),
            computing=computing,
            spools=Spools(),
            client=client,
            session_client=session_client,
            sessions=sessions,
            owners=owners,
            tuner=Tuner(sessions, owners),
            live_shares=LiveShares(sessions, snapshots.list_capped_scopes, partial(_log_failed_look, log)),
            quotes=quotes,
            spending_limits=SpendingLimits(store.unit_of_work, lookups, partial(_note_spending, log, metrics)),
            notices=create_listener(client, keyring, Renewals(snapshots, log, closing), log),
            clock=SystemClock(),
            metrics=metrics,
            watch=_watch(options, store, client),
            log=log,
            body_limits=BodyLimits(),
            passwords=passwords,
            refused_sign_ins=RefusedSignIns(partial(_log_refused_sign_in, log)),
            sealing_key=RedisSealingKey(client),
            options=options,
            readiness=Readiness((store.require_ready,), log, spared=(partial(require_redis, client),)),
        )


def _build_redis_clients(redis_url: str) -> tuple[redis.Redis, redis.asyncio.Redis]:
    """Return the client of threads, and that of sessions, which has less patience."""
    client = redis.Redis.from_url(
        redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, health_check_interval=30
    )
    sessions = redis.asyncio.Redis.from_url(
        redis_url, socket_timeout=SESSION_TIMEOUT_S, socket_connect_timeout=SESSION_TIMEOUT_S
    )
    return client, sessions


def _build_warehouse(options: Options, store: Store, database_url: str) -> Warehouse:
    return Warehouse(
        database_url,
        login=_query_login(store),
        note=NotedStatements(store.unit_of_work, time.monotonic).note,
        record=QueryLog(store.unit_of_work).record,
        clock=SystemClock(),
        limits=options.query_limits,
        reader_address=options.reader_address,
    )


def _build_rate_limits(options: Options, client: redis.asyncio.Redis, log: FilteringBoundLogger) -> RateLimits:
    return RateLimits(
        options.call_limits,
        RedisLevels(client),
        time.monotonic,
        on_refused=partial(_log_refused, log),
        on_failed=partial(_log_unshared, log),
    )


def _watch(options: Options, store: Store, client: redis.Redis) -> ServiceWatch:
    return ServiceWatch(
        store.stored_states,
        QueuedStates(client),
        store.months_of_logs,
        clock=SystemClock(),
        monotonic=time.monotonic,
        exports=options.export_place is not None,
        log_months=options.log_months,
    )


def _log_refused(log: FilteringBoundLogger, refused: RefusedCalls) -> None:
    log.warning(
        Event.CALLS_REFUSED,
        tenant_id=str(refused.tenant_id),
        key_id=str(refused.key_id),
        kind=refused.kind,
        limit=refused.limit,
        calls=refused.calls,
    )


def _note_spending(log: FilteringBoundLogger, metrics: Metrics, tenant_id: UUID, noted: NotedSpending) -> None:
    metrics.spending_limits_near.inc()
    log.warning(
        Event.SPENDING_NEAR_LIMIT,
        tenant_id=str(tenant_id),
        customer_id=str(noted.customer_id),
        month=noted.month,
        share=noted.share,
    )


def _log_refused_sign_in(log: FilteringBoundLogger, refused: RefusedSignIn) -> None:
    log.warning(Event.SIGN_IN_REFUSED, **refused._asdict())


def _log_unshared(log: FilteringBoundLogger, error: Exception) -> None:
    log.error(Event.CALLS_NOT_SHARED, exc_info=error)


def _log_failed_look(log: FilteringBoundLogger, error: Exception) -> None:
    log.error(Event.LOOK_AT_SHARES_FAILED, exc_info=error)


def _log_waiting_quotes(log: FilteringBoundLogger, error: Exception) -> None:
    log.warning(Event.QUOTES_WAIT, reason=str(error))


def _log_dropped_quotes(log: FilteringBoundLogger, dropped: int) -> None:
    log.error(Event.QUOTES_DROPPED, dropped=dropped, reason="nothing takes them, and there is no room for more")


def _query_login(store: Store) -> Callable[[UUID, bool], StoredLogin]:
    """Return the look-up of the account by which the service itself reads a tenant's warehouse."""

    def ensure_login(tenant_id: UUID, rotate: bool) -> StoredLogin:
        units = store.unit_of_work
        return ensure_query_login(tenant_id, actor=SERVICE, units=units, clock=SystemClock(), rotate=rotate)

    return ensure_login

"""Settings from the environment, read once at the edge and passed on as a value."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import urlsplit

from services.application.access.single_sign_on import Provider, SignOnRules
from services.application.limits.rate_limits import USUAL_CALLS_PER_S, CallLimits, parse_call_rates
from services.application.transfers.sessions import KEYS_AT_ONCE, MOST_LIVE_OF_KEY, SessionLimits
from services.listening import MAX_PORT, parse_proxies
from services.openid.settings import parse_sign_on
from tradewind.errors import InvalidValue
from tradewind.units import GIB

T = TypeVar("T")

MAX_WORKERS = 256
MAX_RETAINED_RELEASES = 10_000
MAX_QUERY_ROWS = 10**12
MAX_QUERY_BYTES = 10**15
MAX_LOG_MONTHS = 1_200
MAX_LIVE_TRANSFERS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the server's processes; each is read from the variable named next to it.

    ``X_FILE`` instead of a variable ``X`` names a file that holds the value: passwords then stand in no environment.
    """

    host: str = "127.0.0.1"
    """TRADEWIND_HOST: Address on which the API listens."""

    port: int = 8080
    """TRADEWIND_PORT: Port on which the API listens."""

    proxies: str = ""
    """TRADEWIND_PROXIES: Addresses or networks of trusted proxies, separated by commas. The API believes what they say
    of a client's address and of TLS. Without it nobody is believed, not on this machine either: `127.0.0.1` names a
    proxy here, and with it every program."""

    database_url: str | None = None
    """DATABASE_URL: PostgreSQL, as the application's ordinary role. Without it the embedded PostgreSQL is used."""

    admin_database_url: str | None = None
    """TRADEWIND_ADMIN_DATABASE_URL: PostgreSQL, as a role that may create roles and migrate. Without it the schema must
    be ready."""

    migration_lock_s: float = 5.0
    """TRADEWIND_MIGRATION_LOCK_TIMEOUT_S: Seconds that a migration waits for a lock. Queries behind it wait as long."""

    migration_statement_s: float = 600.0
    """TRADEWIND_MIGRATION_STATEMENT_TIMEOUT_S: Seconds that one statement of a migration may take."""

    redis_url: str | None = None
    """REDIS_URL: Redis or Valkey. Without it the embedded Valkey is used."""

    data_folder: Path
    """TRADEWIND_DATA: Folder in which the embedded servers keep their files; `var/` in a checkout."""

    api_workers: int = 1
    """TRADEWIND_API_WORKERS: Number of processes that answer requests."""

    task_workers: int = 2
    """TRADEWIND_TASK_WORKERS: Number of processes that fit models."""

    refresh_interval_s: float = 300.0
    """TRADEWIND_REFRESH_INTERVAL_S: Least seconds between two releases of a tenant."""

    sweep_interval_s: float = 60.0
    """TRADEWIND_SWEEP_INTERVAL_S: Seconds between two searches for work whose job was lost or had to wait. A release
    whose jobs neither start nor finish for this long counts as lost."""

    retained_releases: int = 20
    """TRADEWIND_KEPT_RELEASES: Number of newest releases of each tenant that a rollback can return to. Older ones are
    removed."""

    query_rows: int = 10_000_000
    """TRADEWIND_QUERY_ROWS: Rows that a query of the warehouse may return. One that has more is refused."""

    query_bytes: int = 8 * GIB
    """TRADEWIND_QUERY_BYTES: Bytes that the answer of a query may have. One that has more is refused or broken off."""

    query_seconds: float = 120.0
    """TRADEWIND_QUERY_SECONDS: Seconds that a query may take. One that takes longer is stopped."""

    reader_address: str | None = None
    """TRADEWIND_READER_ADDRESS: `host:port` at which analysts' own tools reach the database or a replica of it. Without
    it they get the address that the service uses."""

    notice: str = ""
    """TRADEWIND_NOTICE: A sentence at the head of every page, such as the date of planned maintenance."""

    export_place: str | None = None
    """TRADEWIND_EXPORT: Where logs are written as Parquet each night: a folder, or the URL of an object store such as
    `s3://bucket/folder`. Without it nothing is exported. `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    `AWS_ENDPOINT_URL` give the store's keys and address."""

    sign_on: tuple[Provider, SignOnRules] | None = None
    """The OpenID provider at which users may sign in; see services.openid.settings."""

    log_months: int | None = None
    """TRADEWIND_LOG_MONTHS: Number of past months whose logs are kept. Older months are dropped once they are exported,
    which needs `TRADEWIND_EXPORT`. Without it all logs are kept."""

    call_limits: CallLimits = field(default_factory=CallLimits.usual)
    """TRADEWIND_CALLS: Calls a second that a key may make, by kind, such as `query=5 heartbeat=2000`. Kinds that are
    not named keep their usual limit; `query=off` or `off` sets no limit.

    TRADEWIND_TENANT_CALLS: The same for all keys of a tenant together. The usual limit is four times that of a key."""

    session_limits: SessionLimits = field(default_factory=SessionLimits)
    """TRADEWIND_LIVE_TRANSFERS: Number of transfers of one key that may be live at once.

    TRADEWIND_TENANT_LIVE_TRANSFERS: The same for all keys of a tenant together. The usual limit is four times that of a
    key."""

    worker_metrics_port: int | None = None
    """TRADEWIND_WORKER_METRICS_PORT: Port on which a worker serves its metrics. Without it they are not served."""

    worker_metrics_host: str = "127.0.0.1"
    """TRADEWIND_WORKER_METRICS_HOST: Address on which a worker serves its metrics. They need no key, so open them to a
    closed network only."""

    worker_metrics_folder: Path | None = None
    """PROMETHEUS_MULTIPROC_DIR: Folder in which the processes of a worker count; each worker needs its own."""

    def __post_init__(self) -> None:
        """Require a place for exports where logs are dropped.

        Raises
        ------
        InvalidValue : logs would be dropped without having been exported.
        """
        if self.log_months is not None and self.export_place is None:
            raise InvalidValue(
                "TRADEWIND_LOG_MONTHS", "needs TRADEWIND_EXPORT: logs are dropped once they are exported"
            )

    @property
    def required_database_url(self) -> str:
        """DATABASE_URL of a process that has no server of its own.

        Raises
        ------
        InvalidValue : it is not set.
        """
        return _require("DATABASE_URL", self.database_url)

    @property
    def required_redis_url(self) -> str:
        """REDIS_URL of a process that has no server of its own."""
        return _require("REDIS_URL", self.redis_url)

    @property
    def required_admin_database_url(self) -> str:
        """TRADEWIND_ADMIN_DATABASE_URL of a process that has no server of its own."""
        return _require("TRADEWIND_ADMIN_DATABASE_URL", self.admin_database_url)

    @property
    def worker_metrics(self) -> tuple[str, int, Path] | None:
        """Host, port and folder of a worker's metrics, if they are to be served.

        Raises
        ------
        InvalidValue : a port without a folder.
        """
        if self.worker_metrics_port is None:
            return None
        if self.worker_metrics_folder is None:
            raise InvalidValue("PROMETHEUS_MULTIPROC_DIR", "must be set where TRADEWIND_WORKER_METRICS_PORT is")
        return self.worker_metrics_host, self.worker_metrics_port, self.worker_metrics_folder

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, data_folder: Path) -> Self:
        """Read the settings; an empty variable counts as absent.

        Parameters
        ----------
        data_folder : used if TRADEWIND_DATA is absent.

        Raises
        ------
        InvalidValue : its field is the variable's name.
        """

        def read(variable: str, parse: Callable[[str], T], default: T) -> T:
            text = _read_text(environment, variable)
            if not text:
                return default
            try:
                return parse(text)
            except ValueError as error:
                raise InvalidValue(variable, str(error)) from None  # without the text: URLs hold passwords

        limits = CallLimits.usual(read("TRADEWIND_CALLS", parse_call_rates, USUAL_CALLS_PER_S))
        of_tenant = partial(parse_call_rates, usual=limits.of_tenant)
        live = read("TRADEWIND_LIVE_TRANSFERS", _parse_integer(1, MAX_LIVE_TRANSFERS), MOST_LIVE_OF_KEY)
        return cls(
            host=read("TRADEWIND_HOST", str, cls.host),
            port=read("TRADEWIND_PORT", _parse_integer(1, MAX_PORT), cls.port),
            proxies=read("TRADEWIND_PROXIES", parse_proxies, cls.proxies),
            database_url=read("DATABASE_URL", _postgres_url, None),
            admin_database_url=read("TRADEWIND_ADMIN_DATABASE_URL", _postgres_url, None),
            migration_lock_s=read("TRADEWIND_MIGRATION_LOCK_TIMEOUT_S", _parse_seconds(0.1), cls.migration_lock_s),
            migration_statement_s=read(
                "TRADEWIND_MIGRATION_STATEMENT_TIMEOUT_S", _parse_seconds(1.0), cls.migration_statement_s
            ),
            redis_url=read("REDIS_URL", _redis_url, None),
            data_folder=read("TRADEWIND_DATA", Path, data_folder),
            api_workers=read("TRADEWIND_API_WORKERS", _parse_integer(1, MAX_WORKERS), cls.api_workers),
            refresh_interval_s=read("TRADEWIND_REFRESH_INTERVAL_S", _parse_seconds(0.0), cls.refresh_interval_s),
            sweep_interval_s=read("TRADEWIND_SWEEP_INTERVAL_S", _parse_seconds(1.0), cls.sweep_interval_s),
            query_rows=read("TRADEWIND_QUERY_ROWS", _parse_integer(1, MAX_QUERY_ROWS), cls.query_rows),
            query_bytes=read("TRADEWIND_QUERY_BYTES", _parse_integer(1, MAX_QUERY_BYTES), cls.query_bytes),
            query_seconds=read("TRADEWIND_QUERY_SECONDS", _parse_seconds(0.1), cls.query_seconds),
            reader_address=read("TRADEWIND_READER_ADDRESS", _parse_address, None),
            notice=read("TRADEWIND_NOTICE", str, cls.notice),
            export_place=read("TRADEWIND_EXPORT", _place, None),
            sign_on=parse_sign_on(read),
            call_limits=limits._replace(of_tenant=read("TRADEWIND_TENANT_CALLS", of_tenant, limits.of_tenant)),
            session_limits=SessionLimits(
                live,
                read("TRADEWIND_TENANT_LIVE_TRANSFERS", _parse_integer(1, MAX_LIVE_TRANSFERS), KEYS_AT_ONCE * live),
            ),
            log_months=read("TRADEWIND_LOG_MONTHS", _parse_integer(1, MAX_LOG_MONTHS), None),
            worker_metrics_port=read("TRADEWIND_WORKER_METRICS_PORT", _parse_integer(1, MAX_PORT), None),
            worker_metrics_host=read("TRADEWIND_WORKER_METRICS_HOST", str, cls.worker_metrics_host),
            worker_metrics_folder=read("PROMETHEUS_MULTIPROC_DIR", Path, None),
            retained_releases=read(
                "TRADEWIND_KEPT_RELEASES", _parse_integer(2, MAX_RETAINED_RELEASES), cls.retained_releases
            ),
            task_workers=read("TRADEWIND_TASK_WORKERS", _parse_integer(1, MAX_WORKERS), cls.task_workers),
        )


def _require(variable: str, url: str | None) -> str:
    if url is None:
        raise InvalidValue(variable, "must be set")
    return url


def _read_text(environment: Mapping[str, str], variable: str) -> str:
    """Return the value of a variable, by itself or from a file; empty if there is none."""
    text = environment.get(variable, "").strip()
    file = f"{variable}_FILE"
    path = environment.get(file, "").strip()
    if not path:
        return text
    if text:
        raise InvalidValue(file, f"must not be set together with {variable}")
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidValue(file, f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidValue(file, f"{path} is not text in UTF-8") from None
    if not text:
        raise InvalidValue(file, f"{path} is empty")
    return text


def _parse_integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        reason = f"must be a whole number from {low} to {high}"
        try:
            value = int(text)
        except ValueError:
            raise ValueError(reason) from None
        if not low <= value <= high:
            raise ValueError(reason)
        return value

    return parse


def _parse_seconds(low: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        reason = f"must be a number of seconds, at least {low:g}"
        try:
            value = float(text)
        except ValueError:
            raise ValueError(reason) from None
        if not low <= value < math.inf:
            raise ValueError(reason)
        return value

    return parse


def _parse_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or "@" in text or "/" in text:
        raise ValueError("must be host:port")
    return text


def _place(text: str) -> str:
    if "://" not in text and not Path(text).is_absolute():
        raise ValueError("must be the absolute path of a folder, or a URL such as s3://bucket/folder")
    return text


def _build_url(schemes: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if urlsplit(text).scheme not in schemes:
            raise ValueError(f"must be a URL beginning with {' or '.join(f'{scheme}:' for scheme in schemes)}")
        return text

    return parse


_postgres_url = _build_url(("postgresql", "postgres"))
_redis_url = _build_url(("redis", "rediss", "unix"))

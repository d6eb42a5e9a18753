"""Options of the engine that stay fixed, unlike the parameters that it tunes."""

import errno
import math
import random
import ssl
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from tradewind.errors import InvalidValue
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.cookies import Cookies
from tradewind_agent.engine.http.credentials import NO_CREDENTIALS, Credentials
from tradewind_agent.engine.http.early_sockets import EarlySockets
from tradewind_agent.engine.http.patience import Patience
from tradewind_agent.engine.http.proxy import NO_PROXIES, Proxies
from tradewind_agent.engine.http.retry import RetryPolicy
from tradewind_agent.engine.http.tag import TransferTag
from tradewind_agent.engine.origin.book import OriginBook
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.engine.store_access import USUAL_ACCESS, USUAL_PROPERTIES, ObjectProperties, StoreAccess
from tradewind_agent.engine.store_hooks import StoreHooks

DEFAULT_IO_BLOCK_BYTES = 256 * 1024
QUESTION_TIMEOUT_S = 5.0
"""Longest wait for an answer to HEAD: some servers never answer it."""


def build_tls_context(
    *, ca_file: Path | None = None, insecure: bool = False, cert: Path | None = None, key: Path | None = None
) -> ssl.SSLContext:
    """TLS settings for clients: the system's authorities or ``ca_file``; ``insecure`` accepts any certificate.

    ``cert`` : the client's own certificate, with its key unless that is in ``key``.

    Raises
    ------
    OSError : a file cannot be read, or is none of these.
    """
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file is not None else None)
    context.set_alpn_protocols(["http/1.1"])
    if cert is not None:
        context.load_cert_chain(cert, key, password=_refuse_passphrase)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refuse_passphrase() -> str:
    """Refuse a key that is encrypted: OpenSSL would ask for its passphrase on the terminal."""
    raise OSError(errno.EACCES, "its key is encrypted; give one without a passphrase, such as a proxy certificate")


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options that stay fixed during a transfer.

    ``tls`` : see `build_tls_context`; ``None`` trusts the system's authorities.
    ``answer_timeout_s`` : longest wait until an answer begins: a server may fetch a file from tape first.
    ``idle_timeout_s`` : longest silence in the middle of a body.
    ``skip`` : which files at the destination stay as they are.
    ``checksum`` : request sums and compare local files with them; the receiver of an upload compares SHA-256.
    ``durable`` : sync each file to disk before it gets its final name.
    ``checkpoint_interval_s``, ``checkpoint_bytes`` : how often, and after how much of a file at least, it is synced and
    noted what has arrived; a crash costs at most what came since.
    ``rate_bytes_per_s`` : rate limit of all connections together; see `TransferEngine.limit_rate`.
    ``tag`` : the transfer's id, for a server that meters it.
    ``early`` : sockets opened while files were listed; the first connections of the transfer use them.
    ``congestion_control`` : algorithm of the connections, such as ``fld_tcp`` for uploads; else the system's.
    ``origins`` : limits of servers known from earlier runs; ``None`` stores none.
    ``cookies`` : those that servers set, shared by all requests.
    ``unseen`` : where files were sent that the server acknowledged and did not show.
    ``third_party`` : have servers move files between them where they can, without this host.
    ``properties`` : of objects that are sent to a store.
    ``stores`` : how object stores are reached; ``hooks`` sign requests to them and make uploads, for all of the run.
    ``rng`` : source of the jitter between retries.
    ``made_at_s`` : monotonic; files are listed after it.
    """

    connect_timeout_s: float = 15.0
    answer_timeout_s: float = 300.0
    idle_timeout_s: float = 60.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    tls: ssl.SSLContext | None = None
    proxies: Proxies = NO_PROXIES
    credentials: Credentials = NO_CREDENTIALS
    cookies: Cookies = field(default_factory=Cookies)
    unseen: set[Url] = field(default_factory=set)
    stores: StoreAccess = USUAL_ACCESS
    properties: ObjectProperties = USUAL_PROPERTIES
    hooks: StoreHooks = field(default_factory=StoreHooks)
    user_agent: str = "tradewind"
    most_redirects: int = 10
    skip: SkipRule = SkipRule.SAME
    checksum: bool = False
    third_party: bool = True
    durable: bool = True
    checkpoint_interval_s: float = 2.0
    checkpoint_bytes: int = 8 * 1024 * 1024
    rate_bytes_per_s: float | None = None
    tag: TransferTag | None = None
    early: EarlySockets | None = None
    congestion_control: str | None = None
    origins: OriginBook | None = None
    rng: random.Random = field(default_factory=random.Random)
    made_at_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.rate_bytes_per_s is not None and not 0 < self.rate_bytes_per_s < math.inf:
            raise InvalidValue("rate limit", f"must be above 0 and finite, got {self.rate_bytes_per_s:g} B/s")

    def limit_for_questions(self) -> Self:
        """Return options for a question that the transfer can do without: one try, and few seconds for an answer."""
        return replace(self, retry=replace(self.retry, most_tries=1), answer_timeout_s=self.patience.question_s)

    @property
    def patience(self) -> Patience:
        question_s = min(QUESTION_TIMEOUT_S, self.answer_timeout_s)
        return Patience(self.answer_timeout_s, self.idle_timeout_s, question_s)

    @cached_property
    def tls_in_use(self) -> ssl.SSLContext:
        """Return the TLS settings, made on first use: reading the system's authorities takes tens of milliseconds."""
        return self.tls if self.tls is not None else build_tls_context()

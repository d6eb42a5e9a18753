"""Analyse a browser's log (HAR) and store metrics, connections and advice of each page, but no addresses."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.connections.har import decode_har
from tradewind.path import Path
from tradewind.wire.connections import AnalysedPage, ConnectionAnalysis, analyse_har

STEPS = tuple(step / 40 for step in range(41))
"""Probabilities of the values that distributions list."""


MAX_PAGES = 10_000
"""Page loads of a tenant; a day's worth of a robot that records one every ten seconds."""

MAX_OBJECTS = 2_000_000
"""Of them in all, which may have come over a connection each: as many pages of 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A stored analysis of a page. ``tool`` : the program that wrote the log."""

    id: UUID
    tool: str
    received_at: datetime
    page: AnalysedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """A page in a list of pages."""

    id: UUID
    name: str
    tool: str
    started_at: datetime
    load_s: float
    idle_s: float | None
    effective_concurrency: float | None
    encryption: str | None
    connections: int
    objects: int
    wire_bytes: int
    saved_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributions:
    """Distributions over the newest pages and their connections, by class: values at the probabilities `STEPS`.

    ``volumes_bytes`` and ``durations_s`` : by the protocol of a connection (encrypted, plain, HTTP/2).
    ``idle_shares`` and ``concurrencies`` : by the page's class of encryption.
    ``first_objects_bytes`` : the largest first object of a connection by round trip, from the first.
    """

    pages: int
    connections: int
    volumes_bytes: Mapping[str, Sequence[float]]
    durations_s: Mapping[str, Sequence[float]]
    idle_shares: Mapping[str, Sequence[float]]
    concurrencies: Mapping[str, Sequence[float]]
    first_objects_bytes: Mapping[int, int]
    caches: Mapping[str, int]
    encryption: Mapping[str, int]


class PageLoadRepository(Protocol):
    """Analysed pages of one tenant; a port because the application may not import persistence."""

    def put(self, page: AnalysedPage, *, tool: str, content_sha256: bytes, ordinal: int, at: datetime) -> UUID:
        """Store a page and return its id; a page of the same content is replaced under its id."""

    def keep_newest(self, number: int, *, objects: int) -> None:
        """Remove all but ``number`` pages, and of these all beyond ``objects`` objects in total.

        The oldest pages of the API keys that sent most go first.
        """


def analyse_content(content: bytes, path: Path, proxy: str | None = None) -> tuple[bytes, ConnectionAnalysis]:
    """Return the hash of the analysed parts of a log, which identifies it, and its analysis; nothing is stored.

    Raises
    ------
    InvalidValue : it is no HAR, or has no entries.
    TooLarge : it has too many entries or pages.
    """
    har = decode_har(content)
    sha256 = hashlib.sha256(json.dumps(har.slim()).encode()).digest()
    return sha256, analyse_har(har, path=path, proxy=proxy)


def store_analysis(
    analysis: ConnectionAnalysis, *, content_sha256: bytes, uow: UnitOfWork, clock: Clock
) -> ConnectionAnalysis:
    """Store each page once, however often its log comes; return the analysis with the ids of the pages.

    `MAX_PAGES` pages of a tenant stay, up to `MAX_OBJECTS` objects in total: the newest of each API key.
    """
    at = clock.now()
    pages = []
    for ordinal, page in enumerate(analysis.pages):
        page_id = uow.page_loads.put(page, tool=analysis.tool, content_sha256=content_sha256, ordinal=ordinal, at=at)
        pages.append(page.model_copy(update={"id": page_id}))
    uow.page_loads.keep_newest(MAX_PAGES, objects=MAX_OBJECTS)
    uow.commit()
    return analysis.model_copy(update={"pages": pages})

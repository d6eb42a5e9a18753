"""``POST /v1/connections/analyse``: what a browser's log (HAR) shows of a page's connections, and what to change."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel

from tradewind.connections.advice import FlowLengths, PageAdvice, advise, classify_flow_lengths
from tradewind.connections.analysis import PageAnalysis, analyse
from tradewind.connections.har import Har, build_page_loads
from tradewind.connections.rounds import Sender
from tradewind.path import Path
from tradewind.wire.base import Open

AdviceName = Literal["keep_alive", "http_1", "http_2", "connections_per_host", "initial_window", "fld_tcp"]
EncryptionName = Literal["encrypted", "plain", "mixed"]
ModelT = TypeVar("ModelT", bound=BaseModel)


class PageConnection(Open):
    """A connection of a page: its volume, its times, and its first object by round trips.

    ``inferred`` : the log does not name connections; which object came over which follows from their times.
    """

    origin: str
    encrypted: bool
    http_version: str
    inferred: bool
    objects: int
    wire_bytes: int
    opened_s: float
    duration_s: float | None
    receiving_s: float
    rtt_s: float | None
    first_object_bytes: int | None
    first_object_rtts: int | None


class ConnectionAdvice(Open):
    """A change at one server, with the time that the page would wait less for it by the round model."""

    kind: AdviceName
    origin: str
    text: str
    proposed: int | None
    waiting_s: float
    saved_s: float
    saved_rtts: float


class ShortConnection(Open):
    """A short connection as one flow by the round model: its rounds, and what FLD_TCP would save.

    ``connection`` : its place in ``connections``, from 0. Gains are absent where no round trip is known.
    """

    connection: int
    wire_bytes: int
    rounds: int
    saved_s: float | None = None
    saved_rtts: float | None = None


class ConnectionLengths(Open):
    """How many connections fit in an initial window, are short (up to 2 MB), and are longer; the largest short ones."""

    first_window: int
    short: int
    long: int
    short_flows: Sequence[ShortConnection] = ()


def _convert(model: type[ModelT], value: object) -> ModelT:
    """Convert a value of the core to a wire model with the same field names."""
    return model.model_validate(value, from_attributes=True)


class AnalysedPage(Open):
    """The load of a page.

    ``id`` : under which the service keeps it; absent where it was not stored. ``load_told`` : whether the log has
    the time of the load event; else ``load_s`` ends with the last byte, or with a later request without times.
    ``untimed`` and ``unsized`` objects have no times, no size in the log; where none has times, idle and net transfer
    time are absent. ``left_out`` : entries that are no object of the page, by reason.
    """

    id: UUID | None = None
    name: str
    started_at: datetime
    load_s: float
    load_told: bool
    idle_s: float | None
    idle_share: float | None
    net_transfer_s: float | None
    effective_concurrency: float | None
    encryption: EncryptionName | None
    rtt_s: float | None
    objects: int
    reused: int
    wire_bytes: int
    untimed: int
    unsized: int
    caches: Mapping[str, int]
    left_out: Mapping[str, int]
    lengths: ConnectionLengths
    connections: Sequence[PageConnection]
    advice: Sequence[ConnectionAdvice]

    @classmethod
    def from_domain(cls, analysis: PageAnalysis, *, lengths: FlowLengths, advice: Sequence[PageAdvice]) -> Self:
        return cls(
            name=analysis.name,
            started_at=analysis.started_at,
            load_s=analysis.load_s,
            load_told=analysis.load_told,
            idle_s=analysis.idle_s,
            idle_share=analysis.idle_share,
            net_transfer_s=analysis.net_transfer_s,
            effective_concurrency=analysis.effective_concurrency,
            encryption=None if analysis.encryption is None else analysis.encryption.value,
            rtt_s=analysis.rtt_s,
            objects=analysis.objects,
            reused=analysis.reused,
            wire_bytes=analysis.wire_bytes,
            untimed=analysis.untimed,
            unsized=analysis.unsized,
            caches={kind.value: count for kind, count in analysis.caches.items()},
            left_out={reason.value: count for reason, count in analysis.left_out.items()},
            lengths=_convert(ConnectionLengths, lengths),
            connections=[_convert(PageConnection, connection) for connection in analysis.connections],
            advice=[_convert(ConnectionAdvice, piece) for piece in advice],
        )


class ConnectionAnalysis(Open):
    """The pages of a log. ``tool`` : the browser or program that wrote it."""

    tool: str
    pages: Sequence[AnalysedPage]


def analyse_har(har: Har, *, path: Path, proxy: str | None = None) -> ConnectionAnalysis:
    """Return the complete answer to a log.

    Parameters
    ----------
    path : what is known of the path to the servers; its round trip is used where it is given, else the log's.
    proxy : name of one's own cache, by which objects are classed.

    Raises
    ------
    InvalidValue : the log has no entries.
    """
    sender, loads = Sender(), build_page_loads(har)
    pages = []
    for load, advice in zip(loads, advise(loads, path, sender), strict=True):
        analysis = analyse(load, rtt_s=path.rtt_s, proxy=proxy)
        pages.append(
            AnalysedPage.from_domain(analysis, lengths=classify_flow_lengths(analysis, path, sender), advice=advice)
        )
    return ConnectionAnalysis(tool=har.tool, pages=pages)

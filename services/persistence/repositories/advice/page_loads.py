"""Loads of web pages and their connections."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, and_, delete, func, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from services.application.advice.connections import STEPS, Distributions, PageRow, StoredPage
from services.persistence.tables import page_connections, page_loads
from tradewind.wire.connections import AnalysedPage, PageConnection

MOST_RTTS = 12
"""Bins of first objects; windows do not matter for what takes longer."""

_NEWEST_FIRST = (page_loads.c.received_at.desc(), page_loads.c.id.desc())
"""By last arrival: a load that is uploaded again counts as new."""

_DERIVED = {"id", "connections", "idle_share", "net_transfer_s", "reused"}
"""Fields of a page that follow from others or are stored elsewhere."""


class PageLoads:
    """The page loads of one tenant.

    Parameters
    ----------
    key_id : the key that sends them; ``None`` for a user or the service.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None = None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id

    def put(self, page: AnalysedPage, *, tool: str, content_sha256: bytes, ordinal: int, at: datetime) -> UUID:
        """Store a page; one of the same content is replaced and keeps its id.

        One transaction of a tenant does so at a time: otherwise another could be removing as old what this one renews.
        """
        turn = func.hashtextextended(f"page loads of {self._tenant_id}", 0)
        self._connection.execute(select(func.pg_advisory_xact_lock(turn)))
        idle_s = page.load_s if page.idle_s is None else page.idle_s  # `_compute_idle_s` reads it back
        values = page.model_dump(exclude=_DERIVED) | {
            "idle_s": idle_s, "tool": tool, "received_at": at, "key_id": self._key_id
        }  # fmt: skip
        page_id: UUID = self._connection.execute(
            insert(page_loads)
            .values(tenant_id=self._tenant_id, content_sha256=content_sha256, ordinal=ordinal, **values)
            .on_conflict_do_update(index_elements=["tenant_id", "content_sha256", "ordinal"], set_=values)
            .returning(page_loads.c.id)
        ).scalar_one()
        self._connection.execute(delete(page_connections).where(page_connections.c.page_load_id == page_id))
        if page.connections:
            self._connection.execute(
                insert(page_connections),
                [
                    {"tenant_id": self._tenant_id, "page_load_id": page_id, "ordinal": number, **each.model_dump()}
                    for number, each in enumerate(page.connections)
                ],
            )
        return page_id

    def keep_newest(self, number: int, *, objects: int) -> None:
        """Remove loads beyond ``number``, and beyond ``objects`` in all: the oldest of the senders that have most."""
        age = func.row_number().over(partition_by=page_loads.c.key_id, order_by=_NEWEST_FIRST).label("age")
        aged = select(page_loads.c.id, page_loads.c.objects, page_loads.c.received_at, age).subquery()
        # The newest of each sender, then the second newest of each, and so on.
        in_turn = (aged.c.age, aged.c.received_at.desc(), aged.c.id.desc())
        place = func.row_number().over(order_by=in_turn).label("place")
        so_far = func.sum(aged.c.objects).over(order_by=in_turn).label("so_far")
        ranked = select(aged.c.id, place, so_far).subquery()
        gone = select(ranked.c.id).where(
            or_(ranked.c.place > number, and_(ranked.c.place > 1, ranked.c.so_far > objects))
        )
        self._connection.execute(delete(page_loads).where(page_loads.c.id.in_(gone)))

    def list_page(self, *, limit: int, before: UUID | None = None) -> Sequence[PageRow]:
        """Return loads, the newest first."""
        of_page = page_connections.c.page_load_id == page_loads.c.id
        connections = select(func.count()).where(of_page).scalar_subquery()
        chosen = select(page_loads, connections.label("connections")).order_by(*_NEWEST_FIRST).limit(limit)
        if before is not None:
            last = page_loads.alias("last")
            its_time = select(last.c.received_at).where(last.c.id == before).scalar_subquery()
            chosen = chosen.where(tuple_(page_loads.c.received_at, page_loads.c.id) < tuple_(its_time, before))
        return [
            PageRow(
                id=row.id,
                name=row.name,
                tool=row.tool,
                started_at=row.started_at,
                load_s=row.load_s,
                idle_s=_compute_idle_s(row),
                effective_concurrency=row.effective_concurrency,
                encryption=row.encryption,
                connections=row.connections,
                objects=row.objects,
                wire_bytes=row.wire_bytes,
                saved_s=max((each["saved_s"] for each in row.advice), default=None),
            )
            for row in self._connection.execute(chosen)
        ]

    def find(self, page_load_id: UUID) -> StoredPage | None:
        row = self._connection.execute(select(page_loads).where(page_loads.c.id == page_load_id)).one_or_none()
        if row is None:
            return None
        connections = [PageConnection.model_validate(each) for each in self._find_connections(page_load_id)]
        idle_s = _compute_idle_s(row)
        values = dict(row._mapping) | {  # noqa: SLF001 -- how SQLAlchemy names a row as a mapping
            "connections": connections,
            "idle_s": idle_s,
            "idle_share": None if idle_s is None or row.load_s <= 0 else idle_s / row.load_s,
            "net_transfer_s": None if idle_s is None else row.load_s - idle_s,
            "reused": row.objects - len(connections),
        }
        page = AnalysedPage.model_validate(values)
        return StoredPage(id=row.id, tool=row.tool, received_at=row.received_at, page=page)

    def _find_connections(self, page_load_id: UUID) -> Sequence[dict[str, object]]:
        rows = self._connection.execute(
            select(page_connections)
            .where(page_connections.c.page_load_id == page_load_id)
            .order_by(page_connections.c.ordinal)
        )
        return [dict(row) for row in rows.mappings()]

    def compute_distributions(self, *, newest: int, objects: int) -> Distributions:
        """Return distributions over the newest loads and their connections, up to ``objects`` in all."""
        bound = {"newest": newest, "objects": objects, "steps": list(STEPS), "most_rtts": MOST_RTTS}
        spoken = self._connection.execute(_BY_SPEECH, bound).all()
        paged = self._connection.execute(_BY_ENCRYPTION, bound).all()
        first = self._connection.execute(_FIRST_OBJECTS, bound).all()
        caches = self._connection.execute(_CACHES, bound).all()
        return Distributions(
            pages=sum(row.pages for row in paged),
            connections=sum(row.connections for row in spoken if row.speech != "HTTP/2"),
            volumes_bytes={row.speech: row.volumes for row in spoken},
            durations_s={row.speech: row.durations for row in spoken if row.durations},
            idle_shares={row.encryption: row.idle for row in paged if row.idle},
            concurrencies={row.encryption: row.concurrency for row in paged if row.concurrency},
            first_objects_bytes={row.rtts: row.largest for row in first},
            caches={row.kind: row.objects for row in caches},
            encryption={row.encryption: row.pages for row in paged},
        )


def _compute_idle_s(row: Row[Any]) -> float | None:
    """Return the idle time; ``None`` where no object has times, for which the table, which has no NULL, holds the full
    load time.
    """
    return row.idle_s if row.untimed < row.objects else None


_NEWEST = """ranked AS (
        SELECT *, row_number() OVER by_time AS place, sum(objects) OVER by_time AS so_far
          FROM (SELECT * FROM page_loads ORDER BY received_at DESC, id DESC LIMIT :newest) AS last
        WINDOW by_time AS (ORDER BY received_at DESC, id DESC)),
    newest AS (SELECT * FROM ranked WHERE place = 1 OR so_far <= :objects)"""

_BY_SPEECH = text(f"""
    WITH {_NEWEST}, spoken AS (
        SELECT CASE WHEN c.encrypted THEN 'encrypted' ELSE 'plain' END AS speech, c.wire_bytes, c.duration_s
          FROM newest p JOIN page_connections c ON c.page_load_id = p.id
         UNION ALL
        SELECT c.http_version, c.wire_bytes, c.duration_s
          FROM newest p JOIN page_connections c ON c.page_load_id = p.id WHERE c.http_version = 'HTTP/2')
    SELECT speech, count(*) AS connections,
           percentile_disc(CAST(:steps AS double precision[])) WITHIN GROUP (ORDER BY wire_bytes) AS volumes,
           percentile_disc(CAST(:steps AS double precision[])) WITHIN GROUP (ORDER BY duration_s) AS durations
      FROM spoken GROUP BY speech ORDER BY speech
""")  # noqa: S608 - a query of ours

_BY_ENCRYPTION = text(f"""
    WITH {_NEWEST}
    SELECT coalesce(encryption, 'nothing') AS encryption, count(*) AS pages,
           percentile_disc(CAST(:steps AS double precision[])) WITHIN GROUP (ORDER BY idle_s / nullif(load_s, 0))
               FILTER (WHERE untimed < objects) AS idle,
           percentile_disc(CAST(:steps AS double precision[])) WITHIN GROUP (ORDER BY effective_concurrency)
               AS concurrency
      FROM newest GROUP BY encryption ORDER BY encryption
""")  # noqa: S608 - a query of ours

_FIRST_OBJECTS = text(f"""
    WITH {_NEWEST}
    SELECT c.first_object_rtts AS rtts, max(c.first_object_bytes) AS largest
      FROM newest p JOIN page_connections c ON c.page_load_id = p.id
     WHERE c.first_object_rtts <= :most_rtts AND c.first_object_bytes IS NOT NULL
     GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - a query of ours

_CACHES = text(f"""
    WITH {_NEWEST}
    SELECT each.key AS kind, sum(each.value::bigint)::bigint AS objects
      FROM newest, jsonb_each_text(caches) AS each GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - a query of ours

"""Loads of web pages and their connections."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from services.application.analyse_connections import PageRow, StoredPage
from services.persistence.tables import page_connections, page_loads
from tradewind.wire.connections import AnalysedPage, PageConnection

_DERIVED = {"id", "connections", "idle_share", "net_transfer_s", "reused"}
"""Of a page, what follows from the rest or stands elsewhere."""


class PageLoads:
    """The page loads of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def put(self, page: AnalysedPage, *, tool: str, content_sha256: bytes, ordinal: int, at: datetime) -> UUID:
        """Store a page; one of the same content is replaced and keeps its id."""
        told = page.model_dump(exclude=_DERIVED) | {"tool": tool, "received_at": at}
        page_id: UUID = self._connection.execute(
            insert(page_loads)
            .values(tenant_id=self._tenant_id, content_sha256=content_sha256, ordinal=ordinal, **told)
            .on_conflict_do_update(index_elements=["tenant_id", "content_sha256", "ordinal"], set_=told)
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

    def page(self, *, limit: int, before: UUID | None = None) -> Sequence[PageRow]:
        """Loads, the newest first."""
        of_page = page_connections.c.page_load_id == page_loads.c.id
        connections = select(func.count()).where(of_page).scalar_subquery()
        chosen = select(page_loads, connections.label("connections")).order_by(page_loads.c.id.desc()).limit(limit)
        if before is not None:
            chosen = chosen.where(page_loads.c.id < before)
        return [
            PageRow(
                id=row.id,
                name=row.name,
                tool=row.tool,
                started_at=row.started_at,
                load_s=row.load_s,
                idle_s=row.idle_s,
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
        connections = [PageConnection.model_validate(each) for each in self._connections_of(page_load_id)]
        told = dict(row._mapping) | {  # noqa: SLF001 -- how SQLAlchemy names a row as a mapping
            "connections": connections,
            "idle_share": row.idle_s / row.load_s if row.load_s > 0 else None,
            "net_transfer_s": row.load_s - row.idle_s,
            "reused": row.objects - len(connections),
        }
        page = AnalysedPage.model_validate(told)
        return StoredPage(id=row.id, tool=row.tool, received_at=row.received_at, page=page)

    def _connections_of(self, page_load_id: UUID) -> Sequence[dict[str, object]]:
        rows = self._connection.execute(
            select(page_connections)
            .where(page_connections.c.page_load_id == page_load_id)
            .order_by(page_connections.c.ordinal)
        )
        return [dict(row) for row in rows.mappings()]

    def remove(self, page_load_id: UUID) -> bool:
        """Whether it was there."""
        gone = self._connection.execute(delete(page_loads).where(page_loads.c.id == page_load_id))
        return bool(gone.rowcount)

"""Links by the names of their ends, created when logs first mention them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from services.application.logs.rows import MOST_LINKS_OF_KEY, KnownLink, NewRows
from services.application.models.learned_model import Span, StoredLink
from services.persistence.repositories.endpoints import Endpoints
from services.persistence.tables import endpoints, link_labels, links, transfer_logs
from tradewind.errors import NotFound
from tradewind.path import UNKNOWN_PATH, Path, drop_initial_buffer
from tradewind.transfer import LinkKey

# Statements are built once: building one for each batch takes longer than the database takes for it.
_BETWEEN = text(
    """
    SELECT l.id, l.source_id, l.destination_id, l.network, l.mover, p.bandwidth_bps, p.rtt_s, p.buffer_bytes
      FROM unnest(CAST(:sources AS uuid[]), CAST(:destinations AS uuid[])) AS asked (source_id, destination_id)
      JOIN links AS l USING (source_id, destination_id)
      LEFT JOIN endpoint_pairs AS p USING (source_id, destination_id)
    """
)
_LOGGED_PATHS = text(
    """
    SELECT l.id, log.bandwidth_bps, log.rtt_s, log.min_rtt_s, log.loss_rate, log.buffer_bytes
      FROM (SELECT id, last_log_at FROM links WHERE id <> ALL(:without) AND last_log_at IS NOT NULL
             ORDER BY last_log_at DESC LIMIT :most) AS l
      JOIN LATERAL (SELECT * FROM transfer_logs
                     WHERE link_id = l.id AND started_at > l.last_log_at - interval '31 days'
                     ORDER BY started_at DESC LIMIT 1) AS log ON true
    """
)
MOST_LOGGED_PATHS = 500
"""Links without a model whose path is read from their logs: those with the newest."""

_CREATE = insert(links).on_conflict_do_nothing()
_HOLD = text("SELECT id FROM links WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE")
_COUNT = (
    update(links)
    .where(links.c.id == bindparam("link_id"))
    .values(
        rows=links.c.rows + bindparam("new_rows"),
        last_log_at=func.greatest(links.c.last_log_at, bindparam("newest")),
        logs_version=links.c.logs_version + 1,
    )
)


class _Ends(NamedTuple):
    source_id: UUID
    destination_id: UUID
    network: str | None
    mover: str


class Links:
    """Links of one tenant.

    Parameters
    ----------
    key_id : the key that makes new ones; ``None`` where a user does.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id
        self._resolved: dict[LinkKey, KnownLink] = {}
        self._room: int | None = None

    def resolve(self, keys: Collection[LinkKey], *, is_bounded: bool = True) -> Mapping[LinkKey, KnownLink]:
        """Return links by names or aliases of their ends, each looked up once; create unknown endpoints and links.

        Links for which the key has no room are left out where that ``is_bounded``, and their endpoints are not created.
        """
        self._find_known(set(keys) - self._resolved.keys())
        if unknown := set(keys) - self._resolved.keys():
            permitted = sorted(unknown, key=str)[: self._count_room() if is_bounded else None]
            if permitted:
                names = {name for key in permitted for name in (key.source, key.destination)}
                ids = Endpoints(self._connection, self._tenant_id).resolve(names)
                self._create(
                    {_Ends(ids[key.source], ids[key.destination], key.network, key.mover) for key in permitted}
                )
                self._find_known(permitted)
        return {key: self._resolved[key] for key in keys if key in self._resolved}

    def _find_known(self, keys: Collection[LinkKey]) -> None:
        """Remember those of these links that exist."""
        if not keys:
            return
        names = {name for key in keys for name in (key.source, key.destination)}
        ids = Endpoints(self._connection, self._tenant_id).find(names)
        ends = {
            key: _Ends(ids[key.source], ids[key.destination], key.network, key.mover)
            for key in keys
            if key.source in ids and key.destination in ids
        }
        found = self._find_between(set(ends.values()))
        self._resolved |= {key: found[end] for key, end in ends.items() if end in found}

    def _count_room(self) -> int | None:
        """Return how many more links the key may make; ``None`` : any number."""
        if self._key_id is None:
            return None
        if self._room is None:  # counted once, and only by batches that make links
            made = select(func.count()).select_from(links).where(links.c.made_by == self._key_id)
            self._room = max(0, MOST_LINKS_OF_KEY - self._connection.execute(made).scalar_one())
        return self._room

    def _find_between(self, ends: Collection["_Ends"]) -> Mapping["_Ends", KnownLink]:
        """Return at least those of these links that exist."""
        pairs = sorted({end[:2] for end in ends})
        parameters = {
            "sources": [source for source, _ in pairs],
            "destinations": [destination for _, destination in pairs],
        }
        return {
            _Ends(row.source_id, row.destination_id, row.network, row.mover): KnownLink(
                row.id, _to_path(row.bandwidth_bps, row.rtt_s, row.buffer_bytes)
            )
            for row in self._connection.execute(_BETWEEN, parameters)
        }

    def _create(self, ends: Collection["_Ends"]) -> None:
        # In one order, so that two batches with the same new links do not wait for each other in a circle.
        ordered = sorted(ends, key=lambda end: (end.source_id, end.destination_id, end.network or "", end.mover))
        made_by = {"tenant_id": self._tenant_id, "made_by": self._key_id}
        self._connection.execute(_CREATE, [made_by | end._asdict() for end in ordered])
        if self._room is not None:
            self._room = max(0, self._room - len(ordered))

    def count(self, new_rows: Mapping[UUID, NewRows]) -> None:
        """Add the rows of a batch; the links then have newer logs than models."""
        if not new_rows:
            return
        ordered = sorted(new_rows)
        if len(ordered) > 1:  # one order for all, as in `_create`
            self._connection.execute(_HOLD, {"ids": ordered})
        self._connection.execute(
            _COUNT,
            [
                {"link_id": link_id, "new_rows": new_rows[link_id].rows, "newest": new_rows[link_id].last_log_at}
                for link_id in ordered
            ],
        )

    def list_all(self) -> Sequence[StoredLink]:
        """Return every link, the oldest first."""
        return self._read_links()

    def get(self, link_id: UUID) -> StoredLink:
        """Return the link.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        found = self._read_links(links.c.id == link_id)
        if not found:
            raise NotFound("no such link")
        return found[0]

    def find_span(self, link_id: UUID) -> Span | None:
        """Return the time from the start of its first transfer to the end of its last; ``None`` of a link without
        logs.
        """
        first = select(func.min(transfer_logs.c.started_at)).where(transfer_logs.c.link_id == link_id).scalar_subquery()
        row = self._connection.execute(
            select(first.label("begins_at"), links.c.last_log_at).where(links.c.id == link_id)
        ).one()
        return None if row.begins_at is None else Span(row.begins_at, row.last_log_at)

    def list_logged_paths(self, *, without: Collection[UUID]) -> Mapping[UUID, Path]:
        """Return what the newest log of each link states of its path, ``without`` these links."""
        rows = self._connection.execute(_LOGGED_PATHS, {"without": list(without), "most": MOST_LOGGED_PATHS})
        names = ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")
        paths = {row.id: drop_initial_buffer(Path(**{name: getattr(row, name) for name in names})) for row in rows}
        return {link_id: path for link_id, path in paths.items() if path != UNKNOWN_PATH}

    def list_labels(self) -> Mapping[UUID, Sequence[str]]:
        """Return the labels of each link that has some, by name."""
        return read_labels(self._connection)

    def add_label(self, label: str, link_ids: Collection[UUID]) -> None:
        """Give links a label; those that have it already keep it."""
        rows = [{"tenant_id": self._tenant_id, "label": label, "link_id": link_id} for link_id in link_ids]
        self._connection.execute(insert(link_labels).on_conflict_do_nothing(), rows)

    def remove_label(self, label: str, link_ids: Collection[UUID]) -> None:
        self._connection.execute(
            delete(link_labels).where(link_labels.c.label == label, link_labels.c.link_id.in_(link_ids))
        )

    def _read_links(self, *conditions: object) -> Sequence[StoredLink]:
        source, destination = endpoints.alias("source"), endpoints.alias("destination")
        rows = self._connection.execute(
            select(links, source.c.name.label("source"), destination.c.name.label("destination"))
            .join(source, source.c.id == links.c.source_id)
            .join(destination, destination.c.id == links.c.destination_id)
            .where(*conditions)  # type: ignore[arg-type]  # conditions are column expressions
            .order_by(links.c.id)
        )
        return [
            StoredLink(
                id=row.id,
                key=LinkKey(row.source, row.destination, row.network, row.mover),
                source_id=row.source_id,
                destination_id=row.destination_id,
                rows=row.rows,
                last_log_at=row.last_log_at,
                logs_version=row.logs_version,
                fitted_version=row.fitted_version,
                refit_rows=row.refit_rows,
                refit_at=row.refit_at,
            )
            for row in rows
        ]


def read_labels(connection: Connection) -> Mapping[UUID, Sequence[str]]:
    """Return the labels of each link that has some, by name."""
    found: dict[UUID, list[str]] = {}
    for row in connection.execute(select(link_labels.c.link_id, link_labels.c.label).order_by(link_labels.c.label)):
        found.setdefault(row.link_id, []).append(row.label)
    return found


def _to_path(bandwidth_bps: float | None, rtt_s: float | None, buffer_bytes: float | None) -> Path:
    if bandwidth_bps is None and rtt_s is None and buffer_bytes is None:
        return UNKNOWN_PATH
    return Path(bandwidth_bps=bandwidth_bps, rtt_s=rtt_s, buffer_bytes=buffer_bytes)

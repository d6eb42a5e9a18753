"""Statements of the journal, built once: building one for each transfer takes longer than running it."""

from sqlalchemy import ColumnElement, and_, bindparam, case, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import Insert, insert

from services.persistence.tables import transfer_logs, transfer_samples, transfers
from tradewind.transfer import Status

_columns = transfers.c
_IS_IT = _columns.id == bindparam("transfer_id")

# Sequence numbers that follow the last journalled one without a gap keep the same distance to their row number.
ADVANCE = text(
    """
    UPDATE transfers AS known SET journalled_sequence = whole.sequence FROM (
        SELECT id, max(sequence) AS sequence FROM (
            SELECT t.id, s.sequence,
                   t.journalled_sequence + row_number() OVER (PARTITION BY t.id ORDER BY s.sequence) AS expected
              FROM transfers t
              JOIN transfer_samples s
                ON s.tenant_id = t.tenant_id AND s.transfer_id = t.id AND s.transfer_started_at = t.started_at
             WHERE t.tenant_id = :tenant_id AND t.id = ANY(:ids) AND s.sequence > t.journalled_sequence
        ) AS stored WHERE sequence = expected GROUP BY id
    ) AS whole
     WHERE known.tenant_id = :tenant_id AND known.id = whole.id
    """
)

END_COLUMNS = (
    "started_at", "ended_at", "transfer_id", "status", "bytes_moved", "throughput_bps",
    "source_energy_j", "source_dynamic_j", "destination_energy_j", "destination_dynamic_j",
)  # fmt: skip
"""Columns of a log that describe the end of a transfer."""

_OF_AN_END = (
    "status", "bytes_moved", "throughput_bps", "energy_j", "duration_s", "energy", "agreement_kept", "link_id",
    "failure_kind", "failure",
)  # fmt: skip


def _build_note() -> Insert:
    statement = insert(transfers)
    new, stored = statement.excluded, transfers.c
    # A later time counts too: a number far above all others must not hold up what is shown.
    is_news = or_(new.sequence >= stored.sequence, new.last_heartbeat_at > stored.last_heartbeat_at)
    is_later = and_(stored.ended_at.is_(None), is_news)
    is_heard_last = or_(stored.last_heartbeat_at.is_(None), new.last_heartbeat_at >= stored.last_heartbeat_at)
    return statement.on_conflict_do_update(
        index_elements=["tenant_id", "id"],
        # otherwise it is another key's
        where=or_(stored.key_id.is_(None), new.key_id.is_(None), stored.key_id == new.key_id),
        set_={
            "sla": func.coalesce(stored.sla, new.sla),
            "enquiry": func.coalesce(stored.enquiry, new.enquiry),
            "expected": func.coalesce(stored.expected, new.expected),
            "key_id": func.coalesce(stored.key_id, new.key_id),
            "last_heartbeat_at": func.greatest(stored.last_heartbeat_at, new.last_heartbeat_at),
            "silent_at": case((is_heard_last, new.silent_at), else_=stored.silent_at),
            "sequence": case((is_news, new.sequence), else_=stored.sequence),
            "bytes_moved": case((is_later, new.bytes_moved), else_=stored.bytes_moved),
            "throughput_bps": case((is_later, new.throughput_bps), else_=stored.throughput_bps),
        },
    )


NOTE = _build_note()
STARTS = text("SELECT id, started_at, key_id FROM transfers WHERE id = ANY(:ids)")
ADD = insert(transfer_samples).on_conflict_do_nothing()
JOURNALLED = text("SELECT id, journalled_sequence FROM transfers WHERE id = ANY(:ids)")

REQUEST = select(_columns.enquiry).where(_IS_IT)
MAX_REQUESTS = 10_000
REQUESTS = (
    select(_columns.enquiry["sla"].label("sla"), _columns.total_bytes)
    .where(
        _columns.link_id == bindparam("link"),
        _columns.started_at >= bindparam("since"),
        _columns.ended_at.is_not(None),
        _columns.enquiry.is_not(None),
    )
    .order_by(_columns.started_at.desc())
    .limit(MAX_REQUESTS)
)
IS_LOGGED = select(transfer_logs.c.id).where(
    transfer_logs.c.id == bindparam("record_id"),
    *(transfer_logs.c[name].is_not_distinct_from(bindparam(name)) for name in END_COLUMNS),
)
END = (
    update(transfers)
    .where(_IS_IT, _columns.duration_s.is_(None))  # every logged end has a duration
    .values(ended_at=func.coalesce(_columns.ended_at, bindparam("at")))
    .values({name: bindparam(f"new_{name}") for name in _OF_AN_END})
    .returning(_columns.ended_at)
)


def _build_failure(name: str) -> ColumnElement[str]:
    """Return the value of a column: the first that was reported, of a transfer that has not succeeded."""
    first = func.coalesce(_columns[name], bindparam(f"new_{name}"))
    return case((_columns.status == Status.SUCCEEDED.value, None), else_=first)


END_UNLOGGED = (
    update(transfers)
    .where(_IS_IT)
    .values(
        ended_at=func.coalesce(_columns.ended_at, bindparam("at")),
        status=func.coalesce(_columns.status, bindparam("new_status")),
    )
    .values({name: _build_failure(name) for name in ("failure_kind", "failure")})
    .returning(_columns.ended_at)
)
ENDED_AT = select(_columns.ended_at).where(_IS_IT)

# Endpoints are known by name once something was logged; open transfers may have none yet.
NAMES_WITH = text(
    """
    SELECT name FROM endpoints WHERE strpos(lower(name), lower(:text)) > 0
     UNION
    SELECT alias FROM endpoint_aliases WHERE strpos(lower(alias), lower(:text)) > 0
     UNION
    SELECT name FROM transfers, LATERAL (VALUES (source), (destination)) ends (name)
     WHERE ended_at IS NULL AND strpos(lower(name), lower(:text)) > 0
    """
)

# The log's own start may differ from when the service first heard of the transfer.
COUNT_FILES = text(
    """
    SELECT log.files_done, log.files_failed
      FROM transfers known
      JOIN transfer_logs log ON log.link_id = known.link_id AND log.transfer_id = known.id
     WHERE known.id = :transfer_id AND (log.chunk IS NULL OR log.chunk = 'whole')
       AND log.started_at >= CAST(:started_at AS timestamptz) - interval '1 day'
       AND log.started_at < CAST(:started_at AS timestamptz) + interval '1 day'
     ORDER BY log.received_at LIMIT 1
    """
)

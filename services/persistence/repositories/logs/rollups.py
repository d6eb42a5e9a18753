"""Daily rollups, computed from their rows: a day of a link is computed completely, so that each row counts once; the
latest two days also by hour.

Every change of rows leaves a mark by a trigger, in the same transaction. A mark that a statement sees was committed
with its rows, which that statement therefore counts; a change that it does not see leaves its mark for the next. Days
whose rows were dropped keep their last rollup.

The same statement marks the records that another one of the same transfer, link and day has replaced.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import Connection, TextClause, text

from services.application.monitoring.overview import MeteredEnds
from services.persistence.tables.transfers import NO_LINK

MOST_BYTES = 2**63 - 1
"""Most that a sum of bytes can hold: that much in a day is 850 Tbit/s."""

LOWEST_BPS = 1
"""Slower transfers gain nothing; the time that some of them imply cannot be added up."""


def _sum(value: str, condition: str = "true") -> str:
    return f"coalesce(sum({value}) FILTER (WHERE {condition}), 0)"


def _format_bytes(condition: str = "true") -> str:
    return f"least({_sum('bytes_moved', condition)}, {MOST_BYTES})"


def _format_energy(quality: str) -> str:
    """Return the SQL of the energy of both ends with this quality, J."""
    ends = (_sum(f"{end}_energy_j", f"{end}_energy_quality {quality}") for end in ("source", "destination"))
    return " + ".join(ends)


def _match_logged_at(ends: MeteredEnds) -> str:
    """Return the condition that a log was metered at exactly these ends."""
    return " AND ".join(
        f"{end}_energy_j IS {'NOT ' if end in ends.hosts else ''}NULL" for end in ("source", "destination")
    )


def _match_ended_at(ends: MeteredEnds) -> str:
    """Return the condition that a finished transfer was metered at exactly these ends."""
    readings = " AND ".join(f"""energy @> '[{{"host": "{end}"}}]'""" for end in ends.hosts)
    return f"jsonb_array_length(energy) = {len(ends.hosts)} AND {readings}"


LOGGED: Mapping[str, str] = {
    "transfers": "count(*)",
    "succeeded": "count(*) FILTER (WHERE status = 'succeeded')",
    "bytes_moved": _format_bytes(),
    "duration_s": _sum("extract(epoch FROM ended_at - started_at)::float8"),
    "measured_energy_j": _format_energy("= 'measured'"),
    "modelled_energy_j": _format_energy("<> 'measured'"),
    "metered_bytes": _format_bytes("source_energy_j IS NOT NULL OR destination_energy_j IS NOT NULL"),
    **{f"metered_{ends}": f"count(*) FILTER (WHERE {_match_logged_at(ends)})" for ends in MeteredEnds},
}
BY_HOUR = ("transfers", "bytes_moved", "measured_energy_j", "modelled_energy_j", "metered_bytes")
"""Sums that the latest two days also have by hour."""

_LOGGED_COLUMNS = (
    "status",
    "bytes_moved",
    "started_at",
    "ended_at",
    *(f"{end}_energy_{part}" for end in ("source", "destination") for part in ("j", "quality")),
)
"""Columns of a log row that sums are of."""

_LATEST_FIRST = "received_at DESC, ended_at DESC, id"
"""A transfer logged twice counts by the record that was received last; the others are superseded."""

_GAINED = f"status = 'succeeded' AND throughput_bps >= {LOWEST_BPS} AND bytes_moved > 0 AND link_id <> '{NO_LINK}'"
_PROMISED = "((expected ->> 'feasible') IS DISTINCT FROM 'false')"
ENDED: Mapping[str, str] = {
    "ended": "count(*)",
    "kept": f"count(*) FILTER (WHERE agreement_kept AND {_PROMISED})",
    "missed": f"count(*) FILTER (WHERE NOT agreement_kept AND {_PROMISED})",
    "unpromised": f"count(*) FILTER (WHERE agreement_kept IS NOT NULL AND NOT {_PROMISED})",
    "tuned_transfers": f"count(*) FILTER (WHERE {_GAINED})",
    "tuned_bytes": _format_bytes(_GAINED),
    "tuned_s": _sum("8.0 * bytes_moved / throughput_bps", _GAINED),
    "tuned_energy_j": _sum("energy_j", _GAINED),
    "tuned_metered_bytes": _format_bytes(f"{_GAINED} AND energy_j IS NOT NULL"),
    **{f"tuned_{ends}_j": _sum("energy_j", f"{_GAINED} AND {_match_ended_at(ends)}") for ends in MeteredEnds},
    **{f"tuned_{ends}_bytes": _format_bytes(f"{_GAINED} AND {_match_ended_at(ends)}") for ends in MeteredEnds},
}
_MEASURES = (*LOGGED, *ENDED)


def _build_selection(measures: Mapping[str, str]) -> str:
    return ", ".join(f"{expression} AS {name}" for name, expression in measures.items())


_ON_THE_DAY = """
    link_id = due.link_id AND started_at >= due.day::timestamp AT TIME ZONE 'UTC'
    AND started_at < (due.day + 1)::timestamp AT TIME ZONE 'UTC'
"""

_YESTERDAY = "(now() AT TIME ZONE 'UTC')::date - 1"

_OLDEST = "SELECT DISTINCT day, link_id FROM rollup_marks WHERE tenant_id = :tenant ORDER BY day, link_id LIMIT :most"

# Rows are counted up to the limit only, so that a day of millions costs no more than one of thousands.
_SMALLEST = f"""
    SELECT day, link_id FROM (
        SELECT due.day, due.link_id, sum(logged.rows + closed.rows) OVER (
                   ORDER BY logged.rows + closed.rows, due.day, due.link_id) AS rows
          FROM ({_OLDEST}) due,
            LATERAL (
                SELECT count(*) AS rows FROM (SELECT FROM transfer_logs WHERE {_ON_THE_DAY} LIMIT :most_rows + 1) r
            ) logged,
            LATERAL (
                SELECT count(*) AS rows FROM (
                    SELECT FROM transfers
                     WHERE {_ON_THE_DAY} AND tenant_id = :tenant AND ended_at IS NOT NULL LIMIT :most_rows + 1
                ) r
            ) closed
    ) counted WHERE rows <= :most_rows
"""  # noqa: S608 - made of the expressions above

_JUDGE_RECORDS = f"""misjudged AS (
        SELECT record.* FROM whole due,
            LATERAL (
                SELECT id, started_at, superseded, row_number() OVER (
                           PARTITION BY transfer_id, coalesce(chunk, 'whole') ORDER BY {_LATEST_FIRST}
                       ) > 1 AS is_superseded
                  FROM transfer_logs WHERE {_ON_THE_DAY} AND transfer_id IS NOT NULL
            ) record
         WHERE record.superseded <> record.is_superseded
    ), judged AS (
        UPDATE transfer_logs SET superseded = is_superseded
          FROM misjudged WHERE transfer_logs.id = misjudged.id AND transfer_logs.started_at = misjudged.started_at
    """  # noqa: S608 - made of the expressions above
"""Marks the records of a transfer that a later record of the same day and link has superseded."""

_STORE_HOURS = f"""hours AS (
        SELECT * FROM logged WHERE hour IS NOT NULL
    ), emptied_hours AS (
        DELETE FROM hourly_rollups r
         WHERE r.tenant_id = :tenant
           AND (r.day < {_YESTERDAY} OR ((r.day, r.link_id) IN (SELECT day, link_id FROM whole)
                AND (r.day, r.link_id, r.hour) NOT IN (SELECT day, link_id, hour FROM hours)))
    ), made_hours AS (
        INSERT INTO hourly_rollups (tenant_id, day, link_id, hour, {", ".join(BY_HOUR)})
        SELECT :tenant, day, link_id, hour, {", ".join(BY_HOUR)} FROM hours
        ON CONFLICT (tenant_id, day, hour, link_id) DO UPDATE
           SET {", ".join(f"{name} = excluded.{name}" for name in BY_HOUR)}
    """  # noqa: S608 - made of the expressions above
"""Stores the hours of today and yesterday, and removes older ones and those without rows."""


def _build_statement(due: str) -> TextClause:
    return text(
        f"""
    WITH due AS MATERIALIZED (
        {due}
    ), taken AS (
        DELETE FROM rollup_marks m USING due
         WHERE m.tenant_id = :tenant AND m.day = due.day AND m.link_id = due.link_id
    ), whole AS (
        SELECT due.day, due.link_id FROM due
         WHERE NOT EXISTS (
             SELECT FROM closed_months c
              WHERE c.month = date_trunc('month', due.day)::date AND c.dropped_at IS NOT NULL
         )
    ), {_JUDGE_RECORDS}
    ), logged AS MATERIALIZED (
        SELECT due.day, due.link_id, sums.* FROM whole due,
            LATERAL (
                SELECT hour, grouping(hour) = 1 AS is_of_day, {_build_selection(LOGGED)} FROM (
                    SELECT DISTINCT ON (coalesce(transfer_id, id)) {", ".join(_LOGGED_COLUMNS)},
                           CASE WHEN due.day >= {_YESTERDAY}
                                THEN extract(hour FROM started_at AT TIME ZONE 'UTC')::smallint END AS hour
                      FROM transfer_logs
                     WHERE {_ON_THE_DAY} AND (chunk IS NULL OR chunk = 'whole')
                     ORDER BY coalesce(transfer_id, id), {_LATEST_FIRST}
                ) once
                 GROUP BY GROUPING SETS ((), (hour))
            ) sums
    ), fresh AS (
        SELECT logged.*, closed.* FROM logged,
            LATERAL (
                SELECT {_build_selection(ENDED)} FROM transfers
                 WHERE {_ON_THE_DAY.replace("due.", "logged.")} AND tenant_id = :tenant AND ended_at IS NOT NULL
            ) closed
         WHERE logged.is_of_day
    ), {_STORE_HOURS}
    ), emptied AS (
        DELETE FROM daily_rollups r USING fresh
         WHERE r.tenant_id = :tenant AND r.day = fresh.day AND r.link_id = fresh.link_id
           AND fresh.transfers = 0 AND fresh.ended = 0
    ), changed AS (
        INSERT INTO log_days (tenant_id, day, version) SELECT DISTINCT :tenant ::uuid, day, 1 FROM whole
        ON CONFLICT (tenant_id, view, day) DO UPDATE SET version = log_days.version + 1
    ), made AS (
        INSERT INTO daily_rollups (tenant_id, day, link_id, {", ".join(_MEASURES)}, rolled_up_at)
        SELECT :tenant, day, link_id, {", ".join(_MEASURES)}, now() FROM fresh WHERE transfers > 0 OR ended > 0
        ON CONFLICT (tenant_id, day, link_id) DO UPDATE
           SET {", ".join(f"{name} = excluded.{name}" for name in _MEASURES)}, rolled_up_at = excluded.rolled_up_at
    )
    SELECT count(*) FROM due
    """  # noqa: S608 - made of the expressions above
    )


_COMPUTE_OLDEST, _COMPUTE_SMALLEST = _build_statement(_OLDEST), _build_statement(_SMALLEST)
_ANY_MARK = text("SELECT EXISTS (SELECT FROM rollup_marks WHERE tenant_id = :tenant)")
_TAKE_TURN = text("SELECT pg_try_advisory_xact_lock(hashtext('daily rollups'), hashtext(:tenant))")
_WAITING = text(
    "SELECT count(*) FROM (SELECT DISTINCT day, link_id FROM rollup_marks WHERE tenant_id = :tenant LIMIT :most) m"
)


class Rollups:
    """Daily rollups of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant = {"tenant": str(tenant_id)}

    def compute_marked_days(self, most: int, *, most_rows: int | None = None) -> int:
        """Compute at most ``most`` marked days of links, the oldest first; return how many.

        With ``most_rows`` only the smallest of them that have no more rows together: each costs what its rows cost. One
        process at a time: the result is 0 while another one computes.
        """
        if not self._connection.execute(_ANY_MARK, self._tenant).scalar_one():
            return 0
        # In a statement of its own: what the next one sees is then not older than what the one before us has
        # made.
        if not self._connection.execute(_TAKE_TURN, self._tenant).scalar_one():
            return 0
        if most_rows is None:
            made = self._connection.execute(_COMPUTE_OLDEST, {**self._tenant, "most": most})
        else:
            made = self._connection.execute(_COMPUTE_SMALLEST, {**self._tenant, "most": most, "most_rows": most_rows})
        return int(made.scalar_one())

    def count_waiting(self, most: int) -> int:
        """Return how many days of links are marked, counted up to ``most``."""
        return int(self._connection.execute(_WAITING, {**self._tenant, "most": most}).scalar_one())

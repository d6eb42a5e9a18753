"""The SQL of usage: what is stored of each transfer, what has changed since, computed at once, and imported records.

Sums by key, statements of customers, single transfers and what counts for spending limits read the same rows.
"""

from sqlalchemy import text

from services.persistence.repositories.billing.usage_rules_sql import COLUMNS, COMPUTED, match_units

_OF_MONTH = match_units("mark", stored="u.month = :month", logged="started_at >= :begins_at AND started_at < :ends_at")

# ``whose`` is one row a transfer of the month and key, as of one moment: a mark that the statement sees was committed
# with its change.
_SERVED = f"""
    WITH units AS MATERIALIZED (
        SELECT unit FROM usage_marks WHERE unit IS NOT NULL
         UNION
        SELECT matched.unit FROM usage_marks mark CROSS JOIN LATERAL ({_OF_MONTH}) matched WHERE mark.unit IS NULL
    ), {COMPUTED}, stored AS NOT MATERIALIZED (
        SELECT {COLUMNS} FROM usage_transfers
         WHERE month = :month AND unit NOT IN (SELECT unit FROM units)
               AND (CAST(:keys AS uuid[]) IS NULL OR key_id = ANY(CAST(:keys AS uuid[])))
    ), whose AS NOT MATERIALIZED (
        SELECT {COLUMNS} FROM stored UNION ALL SELECT {COLUMNS} FROM computed
    )
"""  # noqa: S608 - of constants

# Imported records, far more than transfers of the service, are only counted: for the customer that their key belonged
# to at the end of their day.
_END_OF_DAY = "held.from_at < {end} AND {end} <= held.until_at"
_IMPORTED = f""", brought AS MATERIALIZED (
        SELECT i.batch_id, i.day, b.key_id, sum(i.transfers) AS transfers, sum(i.bytes_moved) AS bytes_moved
          FROM usage_imports i
          JOIN batches b ON b.id = i.batch_id
         WHERE i.day >= :month AND i.day < CAST(:month AS date) + interval '1 month'
               AND (CAST(:keys AS uuid[]) IS NULL OR b.key_id = ANY(CAST(:keys AS uuid[])))
         GROUP BY i.batch_id, i.day, b.key_id
        HAVING sum(i.transfers) <> 0
    ), imported AS (
        SELECT b.key_id, held.customer_id, sum(b.transfers) AS transfers, sum(b.bytes_moved) AS bytes_moved
          FROM brought b
          LEFT JOIN held ON held.key_id = b.key_id
                        AND {_END_OF_DAY.format(end="CAST(b.day + 1 AS timestamp) AT TIME ZONE 'UTC'")}
         GROUP BY b.key_id, held.customer_id
    )
"""  # noqa: S608 - of constants

_SUMS_BY_KEY = """
        SELECT key_id, customer_id, billing, currency, count(*) AS transfers, sum(bytes_moved) AS bytes_moved,
               sum(amount) AS amount, coalesce(sum(credit), 0) AS credit,
               count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed,
               count(*) FILTER (WHERE from_log_alone AND amount IS NOT NULL) AS from_log_alone
          FROM {rows} GROUP BY key_id, customer_id, billing, currency
"""
_SUMS_OF = """
    SELECT key_id, k.name AS key, customer_id, billing, currency,
           CAST(sum(transfers) AS bigint) AS transfers, sum(bytes_moved) AS bytes_moved,
           sum(amount) AS amount, sum(credit) AS credit, CAST(sum(met) AS bigint) AS met,
           CAST(sum(missed) AS bigint) AS missed, CAST(sum(from_log_alone) AS bigint) AS from_log_alone
      FROM ({of_service}
         UNION ALL
        SELECT key_id, customer_id, 'not_quoted', NULL, transfers, bytes_moved, NULL, 0, 0, 0, 0 FROM imported {where}
      ) AS both_kinds
      LEFT JOIN api_keys k ON k.id = key_id
     GROUP BY key_id, k.name, customer_id, billing, currency
"""

# Stored rows are added up apart from those just computed: of both together the planner knows nothing, and sorts them.
SUMS = text(
    f"""{_SERVED} {_IMPORTED} {
        _SUMS_OF.format(
            of_service=" UNION ALL ".join(_SUMS_BY_KEY.format(rows=rows) for rows in ("stored", "computed")), where=""
        )
    }"""
)

_OF_HOLDER = """
    customer_id IS NOT DISTINCT FROM CAST(:customer_id AS uuid)
    AND (customer_id IS NOT NULL OR key_id IS NOT DISTINCT FROM CAST(:key_id AS uuid))
"""
_SUMS_OF_HOLDER = _SUMS_OF.format(of_service=_SUMS_BY_KEY.format(rows="mine"), where=f"WHERE {_OF_HOLDER}")
_LINKED = """
      JOIN links ON links.id = {rows}.link_id
      JOIN endpoints source ON source.id = links.source_id
      JOIN endpoints destination ON destination.id = links.destination_id
"""

EACH = text(
    f"""{_SERVED} {_IMPORTED}, every AS (
        SELECT key_id, customer_id, transfer_id, link_id, started_at, ended_at, status, bytes_moved, tier_id, sla,
               billing, amount, currency, energy_basis, book_id, kept, credit, target, probability
          FROM whose
         UNION ALL
        SELECT b.key_id, held.customer_id, NULL, l.link_id, l.started_at, l.ended_at, l.status, l.bytes_moved,
               NULL, l.sla, 'not_quoted', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM transfer_logs l
          JOIN (SELECT DISTINCT batch_id, key_id FROM brought) b ON b.batch_id = l.batch_id
          LEFT JOIN held ON held.key_id = b.key_id
                        AND {_END_OF_DAY.format(end="(date_trunc('day', l.started_at, 'UTC') + interval '1 day')")}
         WHERE l.started_at >= :begins_at AND l.started_at < :ends_at AND (l.chunk IS NULL OR l.chunk = 'whole')
               AND l.transfer_id IS NULL AND l.quote IS NULL
    )
    SELECT every.*, k.name AS key, source.name AS source, destination.name AS destination, links.mover,
           customers.name AS customer
      FROM every {_LINKED.format(rows="every")}
      LEFT JOIN api_keys k ON k.id = every.key_id
      LEFT JOIN customers ON customers.id = every.customer_id
     WHERE CAST(:all AS boolean) OR ({_OF_HOLDER})
     ORDER BY key, key_id, started_at, transfer_id
    """  # noqa: S608 - of constants
)

# Sums, totals and transfers of a statement are read at once, so that they add up while transfers are logged. Amounts
# are text: a number of JSON is read as a float.
SHEET = text(
    f"""{_SERVED} {_IMPORTED}, mine AS MATERIALIZED (
        SELECT * FROM whose WHERE {_OF_HOLDER}
    ), billed AS NOT MATERIALIZED (
        SELECT * FROM mine WHERE billing = 'billed'
    ), sums AS (
        SELECT key_id, key, customer_id, billing, currency, transfers, bytes_moved, CAST(amount AS text) AS amount,
               CAST(credit AS text) AS credit, met, missed, from_log_alone
          FROM ({_SUMS_OF_HOLDER}) AS of_holder
    ), by_link AS (
        SELECT link_id, tier_id, sla, currency, count(*) AS transfers, sum(bytes_moved) AS bytes_moved,
               sum(amount) AS amount, coalesce(sum(credit), 0) AS credit, min(target) AS target,
               count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed
          FROM billed GROUP BY link_id, tier_id, sla, currency
    ), totals AS (
        SELECT source.name AS source, destination.name AS destination, tier_id, sla, currency,
               CAST(sum(transfers) AS bigint) AS transfers, sum(bytes_moved) AS bytes_moved,
               CAST(sum(amount) AS text) AS amount, CAST(sum(credit) AS text) AS credit,
               CAST(sum(met) AS bigint) AS met, CAST(sum(missed) AS bigint) AS missed
          FROM by_link {_LINKED.format(rows="by_link")}
         GROUP BY source.name, destination.name, tier_id, sla, currency
         ORDER BY currency, source.name, destination.name, sla, min(target), tier_id
    ), days AS (
        SELECT CAST(started_at AT TIME ZONE 'UTC' AS date) AS day, currency, count(*) AS transfers,
               sum(bytes_moved) AS bytes_moved, CAST(sum(amount) AS text) AS amount,
               CAST(coalesce(sum(credit), 0) AS text) AS credit
          FROM billed GROUP BY day, currency ORDER BY day, currency
    ), page AS (
        SELECT * FROM billed ORDER BY started_at, transfer_id LIMIT :limit OFFSET :offset
    ), transfers AS (
        SELECT key_id, k.name AS key, transfer_id, started_at, ended_at, source.name AS source,
               destination.name AS destination, links.mover, tier_id, sla, status, bytes_moved, billing,
               CAST(amount AS text) AS amount, currency, energy_basis, book_id, kept, CAST(credit AS text) AS credit,
               target, probability, customers.name AS customer
          FROM page {_LINKED.format(rows="page")}
          LEFT JOIN api_keys k ON k.id = page.key_id
          LEFT JOIN customers ON customers.id = page.customer_id
         ORDER BY started_at, transfer_id
    )
    SELECT CAST(json_build_object(
        'sums', (SELECT coalesce(json_agg(sums), '[]') FROM sums),
        'totals', (SELECT coalesce(json_agg(totals), '[]') FROM totals),
        'days', (SELECT coalesce(json_agg(days), '[]') FROM days),
        'transfers', (SELECT coalesce(json_agg(transfers), '[]') FROM transfers)
    ) AS text)
    """  # noqa: S608 - of constants
)

# ``NOT IN`` looks transfers up in a table of hashes; the planner, which knows the size of neither side, would compare
# each with each for ``NOT EXISTS``.
# What is billed, and what is reserved: quotes whose transfer is not logged. It runs, or it has succeeded, so that its
# log is on the way, or the quote is so new that the transfer may begin. ``without`` : transfers that the process counts
# itself.
SPENT = text(
    f"""{_SERVED}, quoted AS MATERIALIZED (
        SELECT DISTINCT ON (transfer_id) transfer_id, key_id, amount, currency, at FROM quotes
         WHERE at >= :quoted_from AND at < :ends_at AND amount IS NOT NULL
               AND (CAST(:keys AS uuid[]) IS NULL OR key_id = ANY(CAST(:keys AS uuid[])))
         ORDER BY transfer_id, at
    ), mine AS MATERIALIZED (
        SELECT transfer_id, customer_id, billing, currency, amount - coalesce(credit, 0) AS billed FROM whose
         WHERE customer_id IS NOT NULL
    ), unlogged AS MATERIALIZED (
        SELECT * FROM quoted o
         WHERE o.transfer_id NOT IN (SELECT transfer_id FROM mine WHERE transfer_id IS NOT NULL)
           AND o.transfer_id <> ALL(CAST(:without AS uuid[]))
    ), reserved AS (
        SELECT held.customer_id, o.currency, o.amount
          FROM unlogged o
          JOIN held ON held.key_id = o.key_id AND held.from_at <= o.at AND o.at < held.until_at
          LEFT JOIN transfers t ON t.id = o.transfer_id
         WHERE held.customer_id IS NOT NULL
           AND CASE WHEN t.ended_at IS NOT NULL
                    THEN t.status = 'succeeded' AND t.started_at >= :begins_at AND t.started_at < :ends_at
                    ELSE o.at > now() - CAST(:reserved_for AS interval) OR coalesce(t.silent_at > now(), false) END
    )
    SELECT customer_id, currency, sum(billed) AS billed, sum(reserved) AS reserved FROM (
        SELECT customer_id, currency, billed, 0 AS reserved FROM mine
         WHERE billing = 'billed' AND (transfer_id IS NULL OR transfer_id <> ALL(CAST(:without AS uuid[])))
         UNION ALL
        SELECT customer_id, currency, 0, amount FROM reserved
    ) AS counted GROUP BY customer_id, currency
    """  # noqa: S608 - of constants
)

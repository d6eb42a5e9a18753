"""The SQL of what is billed: the one source of all that shows money of logged transfers.

Sums by key, statements of customers, single transfers and what counts for spending limits read the same rows.
"""

from sqlalchemy import text

QUOTE_FORM = "^[0-9]{1,25}[.][0-9]{6} [A-Z]{3} (total|dynamic) [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""As `tradewind.sla.pricing.Price` formats one."""

# A transfer appears once for each key that logged it, however often: in the month of its earliest record, as the first
# record with a quote states it there, else as the first. The quote in the journal counts, if the key that it was made
# to has uploaded the log, or a key that may upload it for that one; without one, the log must carry the quote of a
# published book. So no key is billed by the statement of another. ``joined`` names the key: the one that the quote was
# made to, else the one that uploaded the log. ``whose`` adds the customer that the key belonged to when the quote was
# made, or, without one, when the transfer began.
#
# ``keys`` are those that a holder ever had: the rows of others, which are most of a month, are left out at once, and
# whether a log of these keys is of a quote to another key is looked up for that log alone. The credit is looked up for
# missed transfers alone: a join with the prices compares each transfer with each of them, because the planner has no
# statistics of quotes. The form of a quote in a log is checked only where the journal has none: that takes as long as
# all else together.
_ROWS = """
    WITH offered AS MATERIALIZED (
        SELECT DISTINCT ON (q.transfer_id) q.transfer_id, q.key_id, q.tier_id, q.book_id, q.amount, q.currency,
               q.energy_basis, q.sla, q.at, q.credit
          FROM quotes q
         WHERE q.at >= :quoted_from AND q.at < :ends_at AND q.amount IS NOT NULL
               AND (CAST(:keys AS uuid[]) IS NULL OR q.key_id = ANY(CAST(:keys AS uuid[])))
         ORDER BY q.transfer_id, q.at
    ), brings AS MATERIALIZED (
        SELECT owner.id AS owner, bringer.id AS bringer
          FROM api_keys owner
          JOIN api_keys bringer
            ON bringer.id = owner.id OR NOT bringer.scopes <@ ARRAY['agent']
            OR (owner.revoked_at IS NOT NULL AND owner.name = bringer.name)
    ), held AS MATERIALIZED (
        SELECT key_id, customer_id, from_at,
               lead(from_at, 1, 'infinity') OVER (PARTITION BY key_id ORDER BY from_at) AS until_at
          FROM customer_keys
    ), logged AS NOT MATERIALIZED (
        SELECT l.id, l.transfer_id, l.link_id, l.received_at, l.started_at, l.ended_at, l.status, l.sla, l.quote,
               l.bytes_moved,
               CASE WHEN o.key_id IS NULL AND CAST(:keys AS uuid[]) IS NOT NULL THEN coalesce((
                        SELECT brings.owner FROM brings
                         WHERE brings.bringer = b.key_id AND brings.owner = (
                               SELECT q.key_id FROM quotes q
                                WHERE q.transfer_id = l.transfer_id AND q.amount IS NOT NULL
                                  AND q.at >= :quoted_from AND q.at < :ends_at
                                ORDER BY q.at LIMIT 1)
                    ), b.key_id)
                    WHEN b.key_id IS NULL OR brings.owner IS NOT NULL THEN o.key_id ELSE b.key_id END AS key_id
          FROM transfer_logs l
          JOIN batches b ON b.id = l.batch_id
          LEFT JOIN offered o ON o.transfer_id = l.transfer_id
          LEFT JOIN brings ON brings.owner = o.key_id AND brings.bringer = b.key_id
         WHERE l.started_at >= :logged_from AND l.started_at < :ends_at AND (l.chunk IS NULL OR l.chunk = 'whole')
               {only}
               AND (CAST(:keys AS uuid[]) IS NULL
                    OR o.key_id = ANY(CAST(:keys AS uuid[])) OR b.key_id = ANY(CAST(:keys AS uuid[])))
    ), earlier AS (
        SELECT transfer_id, key_id FROM logged WHERE started_at < :begins_at AND transfer_id IS NOT NULL
    ), once AS (
        SELECT DISTINCT ON (coalesce(l.transfer_id, l.id), l.key_id) l.transfer_id, l.link_id, l.key_id, l.started_at,
               l.ended_at, l.status, l.sla, l.bytes_moved, l.quote
          FROM logged l
         WHERE l.started_at >= :begins_at
           AND NOT EXISTS (
               SELECT FROM earlier
                WHERE earlier.transfer_id = l.transfer_id AND earlier.key_id IS NOT DISTINCT FROM l.key_id
           )
           AND NOT EXISTS (
               SELECT FROM sealed_transfers sealed
                WHERE sealed.month >= :sealed_from AND sealed.month < :month AND sealed.transfer_id = l.transfer_id
           )
         ORDER BY coalesce(l.transfer_id, l.id), l.key_id, l.quote IS NULL, l.received_at, l.id
    ), found AS (
        SELECT once.*, o.transfer_id IS NULL AS from_log_alone, o.tier_id, o.sla AS quoted_sla, o.amount, o.currency,
               o.energy_basis, o.book_id, o.credit AS negotiated_credit, o.at AS quoted_at,
               CASE WHEN o.transfer_id IS NULL AND once.quote ~ :quote_form
                    THEN string_to_array(once.quote, ' ') END AS stated
          FROM once
          LEFT JOIN offered o ON o.transfer_id = once.transfer_id AND o.key_id = once.key_id
        OFFSET 0
    ), joined AS (
        SELECT once.transfer_id, once.started_at, once.ended_at, once.status, once.bytes_moved, once.link_id,
               once.key_id, once.tier_id, coalesce(once.quoted_sla, once.sla) AS sla,
               once.from_log_alone, once.quote IS NOT NULL AS carries,
               coalesce(once.amount, published.amount) AS amount,
               coalesce(once.currency, published.currency) AS currency,
               coalesce(once.energy_basis, published.energy_basis) AS energy_basis,
               coalesce(once.book_id, published.id) AS book_id, once.negotiated_credit,
               coalesce(once.quoted_at, once.started_at) AS held_at,
               CASE WHEN (t.expected ->> 'feasible') IS DISTINCT FROM 'false' THEN t.agreement_kept END AS kept,
               CAST(t.enquiry -> 'sla' ->> 'target' AS double precision) AS target,
               CAST(t.expected ->> 'probability' AS double precision) AS probability
          FROM found AS once
          LEFT JOIN transfers t ON t.id = once.transfer_id
          LEFT JOIN LATERAL (
              SELECT p.id, p.currency, p.energy_basis, CAST(once.stated[1] AS numeric) AS amount
                FROM price_books p
               WHERE once.from_log_alone AND p.id = CAST(once.stated[4] AS uuid) AND p.published_at IS NOT NULL
                 AND p.currency = once.stated[2] AND p.energy_basis = once.stated[3]
          ) published ON true
    ), whose AS (
        SELECT joined.*, k.name AS key, held.customer_id,
               CASE WHEN NOT kept AND status = 'succeeded'
                    THEN amount * coalesce(
                        negotiated_credit,
                        (SELECT p.credit FROM prices p WHERE p.book_id = joined.book_id AND p.tier_id = joined.tier_id),
                        0
                    ) END AS credit,
               CASE WHEN amount IS NULL THEN CASE WHEN carries THEN 'unknown_quote' ELSE 'not_quoted' END
                    WHEN status <> 'succeeded' THEN 'not_successful' ELSE 'billed' END AS billing
          FROM joined
          LEFT JOIN api_keys k ON k.id = joined.key_id
          LEFT JOIN held ON held.key_id = joined.key_id AND held.from_at <= held_at AND held_at < held.until_at
    )
"""

_ALL = _ROWS.format(only="")
_OF_SERVICE = _ROWS.format(only="AND (l.transfer_id IS NOT NULL OR l.quote IS NOT NULL)")
"""The rows that may be billed: of a transfer that the service knows, or with a quote."""

# The other rows are imported history, far more of them. None has a second record, so they are only counted: by batch
# and by the times at which customers got or lost keys, between which a key has one customer.
_IMPORTED = """, counted AS MATERIALIZED (
        SELECT l.batch_id, min(l.started_at) AS begins_at, count(*) AS transfers, sum(l.bytes_moved) AS bytes_moved
          FROM transfer_logs l
         WHERE l.started_at >= :begins_at AND l.started_at < :ends_at AND (l.chunk IS NULL OR l.chunk = 'whole')
               AND l.transfer_id IS NULL AND l.quote IS NULL
               AND (CAST(:keys AS uuid[]) IS NULL
                    OR l.batch_id IN (SELECT id FROM batches WHERE key_id = ANY(CAST(:keys AS uuid[]))))
         GROUP BY l.batch_id, width_bucket(
               l.started_at, (SELECT array_agg(DISTINCT from_at ORDER BY from_at) FROM customer_keys))
    ), imported AS (
        SELECT b.key_id, held.customer_id, sum(c.transfers) AS transfers, sum(c.bytes_moved) AS bytes_moved
          FROM counted c
          JOIN batches b ON b.id = c.batch_id
          LEFT JOIN held ON held.key_id = b.key_id AND held.from_at <= c.begins_at AND c.begins_at < held.until_at
         GROUP BY b.key_id, held.customer_id
    )
"""

_SUMS_OF = """
    SELECT key_id, key, customer_id, billing, currency,
           CAST(sum(transfers) AS bigint) AS transfers, CAST(sum(bytes_moved) AS bigint) AS bytes_moved,
           sum(amount) AS amount, sum(credit) AS credit, CAST(sum(met) AS bigint) AS met,
           CAST(sum(missed) AS bigint) AS missed, CAST(sum(from_log_alone) AS bigint) AS from_log_alone
      FROM (
        SELECT key_id, key, customer_id, billing, currency,
               count(*) AS transfers, sum(bytes_moved) AS bytes_moved, sum(amount) AS amount,
               coalesce(sum(credit), 0) AS credit,
               count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed,
               count(*) FILTER (WHERE from_log_alone AND amount IS NOT NULL) AS from_log_alone
          FROM {billable} GROUP BY key_id, key, customer_id, billing, currency
         UNION ALL
        SELECT key_id, k.name, customer_id, 'not_quoted', NULL, transfers, bytes_moved, NULL, 0, 0, 0, 0
          FROM imported LEFT JOIN api_keys k ON k.id = imported.key_id {where}
      ) AS both_kinds GROUP BY key_id, key, customer_id, billing, currency
"""

SUMS = text(f"{_OF_SERVICE} {_IMPORTED} {_SUMS_OF.format(billable='whose', where='')}")

_OF_HOLDER = """
    customer_id IS NOT DISTINCT FROM CAST(:customer_id AS uuid)
    AND (customer_id IS NOT NULL OR key_id IS NOT DISTINCT FROM CAST(:key_id AS uuid))
"""
_LINKED = """
      JOIN links ON links.id = {rows}.link_id
      JOIN endpoints source ON source.id = links.source_id
      JOIN endpoints destination ON destination.id = links.destination_id
"""

EACH = text(
    f"""{_ALL}
    SELECT whose.*, source.name AS source, destination.name AS destination, links.mover, customers.name AS customer
      FROM whose {_LINKED.format(rows="whose")}
      LEFT JOIN customers ON customers.id = whose.customer_id
     WHERE CAST(:all AS boolean) OR ({_OF_HOLDER})
     ORDER BY key, key_id, started_at, transfer_id
    """  # noqa: S608 - of constants
)

# Sums, totals and transfers of a statement are read at once, so that they add up while transfers are logged. Amounts
# are text: a number of JSON is read as a float.
SHEET = text(
    f"""{_OF_SERVICE} {_IMPORTED}, mine AS MATERIALIZED (
        SELECT * FROM whose WHERE {_OF_HOLDER}
    ), billed AS NOT MATERIALIZED (
        SELECT * FROM mine WHERE billing = 'billed'
    ), sums AS (
        SELECT key_id, key, customer_id, billing, currency, transfers, bytes_moved, CAST(amount AS text) AS amount,
               CAST(credit AS text) AS credit, met, missed, from_log_alone
          FROM ({_SUMS_OF.format(billable="mine", where=f"WHERE {_OF_HOLDER}")}) AS of_holder
    ), by_link AS (
        SELECT link_id, tier_id, sla, currency, count(*) AS transfers, sum(bytes_moved) AS bytes_moved,
               sum(amount) AS amount, coalesce(sum(credit), 0) AS credit, min(target) AS target,
               count(*) FILTER (WHERE kept) AS met, count(*) FILTER (WHERE NOT kept) AS missed
          FROM billed GROUP BY link_id, tier_id, sla, currency
    ), totals AS (
        SELECT source.name AS source, destination.name AS destination, tier_id, sla, currency,
               CAST(sum(transfers) AS bigint) AS transfers, CAST(sum(bytes_moved) AS bigint) AS bytes_moved,
               CAST(sum(amount) AS text) AS amount, CAST(sum(credit) AS text) AS credit,
               CAST(sum(met) AS bigint) AS met, CAST(sum(missed) AS bigint) AS missed
          FROM by_link {_LINKED.format(rows="by_link")}
         GROUP BY source.name, destination.name, tier_id, sla, currency
         ORDER BY currency, source.name, destination.name, sla, min(target), tier_id
    ), days AS (
        SELECT CAST(started_at AT TIME ZONE 'UTC' AS date) AS day, currency, count(*) AS transfers,
               CAST(sum(bytes_moved) AS bigint) AS bytes_moved, CAST(sum(amount) AS text) AS amount,
               CAST(coalesce(sum(credit), 0) AS text) AS credit
          FROM billed GROUP BY day, currency ORDER BY day, currency
    ), page AS (
        SELECT * FROM billed ORDER BY started_at, transfer_id LIMIT :limit OFFSET :offset
    ), transfers AS (
        SELECT key_id, key, transfer_id, started_at, ended_at, source.name AS source, destination.name AS destination,
               links.mover, tier_id, sla, status, bytes_moved, billing, CAST(amount AS text) AS amount, currency,
               energy_basis, book_id, kept, CAST(credit AS text) AS credit, target, probability,
               customers.name AS customer
          FROM page {_LINKED.format(rows="page")}
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
    f"""{_OF_SERVICE}, mine AS MATERIALIZED (
        SELECT transfer_id, customer_id, billing, currency, amount - coalesce(credit, 0) AS billed FROM whose
         WHERE customer_id IS NOT NULL
    ), unlogged AS MATERIALIZED (
        SELECT * FROM offered o
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

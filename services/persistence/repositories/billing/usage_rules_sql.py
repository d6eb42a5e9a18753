"""The SQL that computes what is billed of transfers: the one source of all that shows money of logged transfers.

``units`` are what is computed: a transfer, or the record of one without an ID that carries a quote. What was computed
is stored; changes leave marks, see `migrations.usage_marks`.
"""

QUOTE_FORM = "^[0-9]{1,25}[.][0-9]{6} [A-Z]{3} (total|dynamic) [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""As `tradewind.sla.pricing.Price` formats one."""

TURN = "hashtext('stored usage'), hashtext(:tenant)"
"""Advisory lock of a tenant: of who stores usage, and of who seals a month, after which other rows count."""

COLUMNS = (
    "unit, key_id, customer_id, transfer_id, link_id, started_at, ended_at, status, bytes_moved, tier_id, sla, "
    "book_id, amount, currency, energy_basis, credit, billing, from_log_alone, kept, target, probability"
)
"""Of what is computed, and of what is stored of it."""

_LOGGED_COLUMNS = """
    id, transfer_id, link_id, batch_id, received_at, started_at, ended_at, status, sla, quote, bytes_moved
"""
_IN_TIME = """
    started_at >= :logged_from AND started_at < :ends_at AND (chunk IS NULL OR chunk = 'whole')
"""

HELD = """
    SELECT key_id, customer_id, from_at,
           lead(from_at, 1, 'infinity') OVER (PARTITION BY key_id ORDER BY from_at) AS until_at
      FROM customer_keys
"""


def match_units(mark: str, *, stored: str = "true", logged: str = "true") -> str:
    """Return SQL that selects the units that a mark without a unit is about: of a key, a book, a billing or a tenant.

    Parameters
    ----------
    stored, logged : conditions on the rows of ``usage_transfers`` and of ``transfer_logs`` that are searched.
    """
    is_of_tenant = f"{mark}.key_id IS NULL AND {mark}.book_id IS NULL AND {mark}.billing IS NULL"
    return f"""
        SELECT unit FROM usage_transfers u
         WHERE {stored} AND (
               u.key_id = {mark}.key_id OR u.book_id = {mark}.book_id OR u.billing = {mark}.billing
               OR ({is_of_tenant}))
         UNION ALL
        SELECT coalesce(transfer_id, id) FROM transfer_logs
         WHERE {is_of_tenant} AND {logged} AND (transfer_id IS NOT NULL OR quote IS NOT NULL)
        OFFSET 0
    """  # noqa: S608 - of constants


# A transfer appears once for each key that logged it, however often: in the month of its earliest record, as the first
# record with a quote states it there, else as the first. The quote in the journal counts, if the key that it was made
# to has uploaded the log, or a key that may upload it for that one; without one, the log must carry the quote of a
# published book. So no key is billed by the statement of another. ``joined`` names the key: the one that the quote was
# made to, else the one that uploaded the log. The last step adds the customer that the key belonged to when the quote
# was made, or, without one, when the transfer began.
#
# The credit is looked up for missed transfers alone: a join with the prices compares each transfer with each of them,
# because the planner has no statistics of quotes.
COMPUTED = f"""
    brings AS MATERIALIZED (
        SELECT owner.id AS owner, bringer.id AS bringer
          FROM api_keys owner
          JOIN api_keys bringer
            ON bringer.id = owner.id OR NOT bringer.scopes <@ ARRAY['agent']
            OR (owner.revoked_at IS NOT NULL AND owner.name = bringer.name)
    ), held AS MATERIALIZED ({HELD}), offered AS MATERIALIZED (
        SELECT q.*
          FROM units CROSS JOIN LATERAL (
              SELECT transfer_id, key_id, tier_id, book_id, amount, currency, energy_basis, sla, at, credit FROM quotes
               WHERE transfer_id = units.unit AND at >= :quoted_from AND at < :quoted_until AND amount IS NOT NULL
               ORDER BY at LIMIT 1
          ) q
    ), logged AS MATERIALIZED (
        SELECT l.*,
               CASE WHEN b.key_id IS NULL OR brings.owner IS NOT NULL THEN o.key_id ELSE b.key_id END AS key_id
          FROM units CROSS JOIN LATERAL (
              SELECT {_LOGGED_COLUMNS} FROM transfer_logs WHERE transfer_id = units.unit AND {_IN_TIME}
               UNION ALL
              SELECT {_LOGGED_COLUMNS} FROM transfer_logs
               WHERE id = units.unit AND transfer_id IS NULL AND quote IS NOT NULL AND {_IN_TIME}
          ) l
          JOIN batches b ON b.id = l.batch_id
          LEFT JOIN offered o ON o.transfer_id = l.transfer_id
          LEFT JOIN brings ON brings.owner = o.key_id AND brings.bringer = b.key_id
    ), earlier AS (
        SELECT transfer_id, key_id FROM logged WHERE started_at < :begins_at AND transfer_id IS NOT NULL
    ), once AS (
        SELECT DISTINCT ON (coalesce(l.transfer_id, l.id), l.key_id) coalesce(l.transfer_id, l.id) AS unit, l.*
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
         ORDER BY coalesce(l.transfer_id, l.id), l.key_id, l.transfer_id IS NULL, l.quote IS NULL, l.received_at, l.id
    ), found AS (
        SELECT once.*, o.transfer_id IS NULL AS from_log_alone, o.tier_id, o.sla AS quoted_sla, o.amount, o.currency,
               o.energy_basis, o.book_id, o.credit AS negotiated_credit, o.at AS quoted_at,
               CASE WHEN o.transfer_id IS NULL AND once.quote ~ :quote_form
                    THEN string_to_array(once.quote, ' ') END AS stated
          FROM once
          LEFT JOIN offered o ON o.transfer_id = once.transfer_id AND o.key_id = once.key_id
        OFFSET 0
    ), joined AS (
        SELECT once.unit, once.transfer_id, once.started_at, once.ended_at, once.status, once.bytes_moved, once.link_id,
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
          LEFT JOIN LATERAL (
              SELECT agreement_kept, expected, enquiry FROM transfers WHERE id = once.transfer_id OFFSET 0
          ) t ON true
          LEFT JOIN LATERAL (
              SELECT p.id, p.currency, p.energy_basis, CAST(once.stated[1] AS numeric) AS amount
                FROM price_books p
               WHERE once.from_log_alone AND p.id = CAST(once.stated[4] AS uuid) AND p.published_at IS NOT NULL
                 AND p.currency = once.stated[2] AND p.energy_basis = once.stated[3]
          ) published ON true
    ), computed AS (
        SELECT joined.*, held.customer_id,
               CASE WHEN NOT kept AND status = 'succeeded'
                    THEN amount * coalesce(
                        negotiated_credit,
                        (SELECT p.credit FROM prices p WHERE p.book_id = joined.book_id AND p.tier_id = joined.tier_id),
                        0
                    ) END AS credit,
               CASE WHEN amount IS NULL THEN CASE WHEN carries THEN 'unknown_quote' ELSE 'not_quoted' END
                    WHEN status <> 'succeeded' THEN 'not_successful' ELSE 'billed' END AS billing
          FROM joined
          LEFT JOIN held ON held.key_id = joined.key_id AND held.from_at <= held_at AND held_at < held.until_at
    )
"""  # noqa: S608 - of constants

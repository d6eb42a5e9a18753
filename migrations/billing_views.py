"""The views of what is billed: SLAs with negotiated credits, customers, and billed transfers."""

from dataclasses import replace

from migrations.credit_views import SLAS_WITH_CREDITS
from migrations.warehouse_views import View

SLAS_WITH_NEGOTIATED_CREDITS = replace(
    SLAS_WITH_CREDITS,
    source=SLAS_WITH_CREDITS.source.replace(
        "SELECT tier_id, book_id, amount, currency, energy_basis FROM public.quotes",
        "SELECT tier_id, book_id, amount, currency, energy_basis, credit FROM public.quotes",
    ),
    columns=tuple(
        (*column[:2], column[2].replace("coalesce(p.credit, 0)", "coalesce(q.credit, p.credit, 0)"))
        if column[0] == "credit" and len(column) == 3
        else column
        for column in SLAS_WITH_CREDITS.columns
    ),
)
"""The credit that was negotiated with a customer goes before that of the book, as on its statement."""

CUSTOMERS = View(
    "customers",
    "Dimension: one row a customer, which pays for all of its API keys by one statement a month.",
    "public.customers",
    (
        ("customer_id", "The customer.", "id"),
        ("number", "Its number, which is part of the numbers of its statements."),
        ("customer", "Its name.", "name"),
        ("archived_at", "When it was archived; NULL: it is not."),
    ),
)

# The rules are those of the statements (services.persistence.repositories.billing.usage_sql), for each month.
_BILLED = """(
    WITH held AS MATERIALIZED (
        SELECT tenant_id, key_id, customer_id, from_at,
               lead(from_at, 1, 'infinity') OVER (PARTITION BY key_id ORDER BY from_at) AS until_at
          FROM public.customer_keys
    ), brings AS MATERIALIZED (
        SELECT owner.id AS owner, bringer.id AS bringer
          FROM public.api_keys owner
          JOIN public.api_keys bringer
            ON bringer.tenant_id = owner.tenant_id
           AND (bringer.id = owner.id OR NOT bringer.scopes <@ ARRAY['agent']
                OR (owner.revoked_at IS NOT NULL AND owner.name = bringer.name))
    ), logged AS (
        SELECT l.id, l.transfer_id, l.link_id, l.received_at, l.started_at, l.status, l.sla, l.bytes_moved, l.quote,
               m.month,
               CASE WHEN b.key_id IS NULL OR brings.owner IS NOT NULL THEN o.key_id ELSE b.key_id END AS key_id,
               o.key_id AS quoted_key, o.tier_id, o.book_id, o.amount, o.currency, o.sla AS quoted_sla,
               o.credit AS negotiated_credit, o.at
          FROM public.transfer_logs l
          JOIN public.batches b ON b.id = l.batch_id
         CROSS JOIN LATERAL (SELECT date_trunc('month', l.started_at AT TIME ZONE 'UTC') AS month) m
          LEFT JOIN LATERAL (
              SELECT q.key_id, q.tier_id, q.book_id, q.amount, q.currency, q.sla, q.credit, q.at FROM public.quotes q
               WHERE q.transfer_id = l.transfer_id AND q.amount IS NOT NULL
                 AND q.at >= (m.month - interval '31 days') AT TIME ZONE 'UTC'
                 AND q.at < (m.month + interval '1 month') AT TIME ZONE 'UTC'
               ORDER BY q.at LIMIT 1) o ON true
          LEFT JOIN brings ON brings.owner = o.key_id AND brings.bringer = b.key_id
         WHERE l.chunk IS NULL OR l.chunk = 'whole'
    ), monthly AS (
        SELECT DISTINCT ON (coalesce(transfer_id, id), key_id, month) *, coalesce(transfer_id, id) AS one,
               max(started_at) OVER (PARTITION BY coalesce(transfer_id, id), key_id, month) AS last_start
          FROM logged
         ORDER BY coalesce(transfer_id, id), key_id, month, quote IS NULL, received_at, id
    ), once AS (
        SELECT *, lag(last_start) OVER (PARTITION BY one, key_id ORDER BY month) AS start_before,
               CASE WHEN (quoted_key IS NULL OR quoted_key IS DISTINCT FROM key_id)
                         AND quote ~ ('^[0-9]{1,25}[.][0-9]{6} [A-Z]{3} (total|dynamic) '
                                      '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
                    THEN string_to_array(quote, ' ') END AS stated, quoted_key IS NOT DISTINCT FROM key_id
                    AND quoted_key IS NOT NULL AS is_journalled
          FROM monthly
    ), joined AS (
        SELECT once.transfer_id, once.link_id, once.started_at, once.month, once.status, once.bytes_moved, once.key_id,
               NOT is_journalled AS from_log_alone,
               CASE WHEN is_journalled THEN once.tier_id END AS tier_id,
               CASE WHEN is_journalled THEN once.quoted_sla ELSE once.sla END AS sla,
               CASE WHEN is_journalled THEN once.amount ELSE published.amount END AS amount,
               CASE WHEN is_journalled THEN once.currency ELSE published.currency END AS currency,
               CASE WHEN is_journalled THEN once.book_id END AS book_id,
               CASE WHEN is_journalled THEN once.negotiated_credit END AS negotiated_credit,
               CASE WHEN is_journalled THEN once.at ELSE once.started_at END AS held_at,
               CASE WHEN (t.expected ->> 'feasible') IS DISTINCT FROM 'false' THEN t.agreement_kept END AS met
          FROM once
          LEFT JOIN public.transfers t ON t.id = once.transfer_id
          LEFT JOIN LATERAL (
              SELECT p.currency, once.stated[1]::numeric AS amount FROM public.price_books p
               WHERE NOT once.is_journalled AND p.id = once.stated[4]::uuid AND p.published_at IS NOT NULL
                 AND p.currency = once.stated[2] AND p.energy_basis = once.stated[3]) published ON true
         WHERE (start_before IS NULL OR start_before < (once.month - interval '31 days') AT TIME ZONE 'UTC')
           AND NOT EXISTS (
               SELECT FROM public.sealed_transfers s
                WHERE s.transfer_id = once.transfer_id AND s.month < once.month::date
                  AND s.month >= date_trunc('month', once.month - interval '31 days')::date)
    )
    SELECT joined.*, k.name AS api_key, c.id AS customer_id, c.name AS customer,
           CASE WHEN NOT joined.met THEN joined.amount * coalesce(joined.negotiated_credit, (
               SELECT p.credit FROM public.prices p WHERE p.book_id = joined.book_id AND p.tier_id = joined.tier_id
           ), 0) ELSE 0 END AS credit
      FROM joined
      LEFT JOIN public.api_keys k ON k.id = joined.key_id
      LEFT JOIN held ON held.key_id = joined.key_id AND held.from_at <= joined.held_at
                    AND joined.held_at < held.until_at
      LEFT JOIN public.customers c ON c.id = held.customer_id
     WHERE joined.status = 'succeeded' AND joined.amount IS NOT NULL) AS billed"""

BILLED_TRANSFERS = View(
    "billed_transfers",
    "Facts: one row a billed transfer, as statements have it: it was quoted, succeeded and was logged. "
    "What a customer pays for a month is sum(amount - credit), rounded once to the currency's smallest unit.",
    _BILLED,
    (
        ("transfer_id", "The transfer; transfers.transfer_id is the same. NULL: its log has none."),
        ("link_id", "The link; see warehouse.links."),
        ("month", "Month (UTC) of the statement, such as 2026-11.", "to_char(month, 'YYYY-MM')"),
        ("day", "Day (UTC) of started_at.", "(started_at AT TIME ZONE 'UTC')::date"),
        ("started_at", "Begin."),
        ("customer_id", "The customer that pays; see warehouse.customers. NULL: a key without a customer pays."),
        ("customer", "Its name."),
        ("key_id", "The API key that was quoted, else the one that sent the log."),
        ("api_key", "Name of the key."),
        ("tier_id", "The tier quoted; see warehouse.tiers. NULL: the quote is in the log alone."),
        ("sla", "Kind of the SLA."),
        ("bytes_moved", "bytes: moved."),
        ("amount", "Price quoted, in the currency.", "amount::numeric(38, 6)"),
        ("credit", "Part of the amount that is given back because the SLA was missed.", "credit::numeric(38, 12)"),
        ("currency", "Of the amount, by ISO 4217."),
        ("met", "Whether the SLA was met; NULL: not judged, or not promised."),
        ("from_log_alone", "Whether the quote is in the log and not in the service's own journal."),
    ),
)

BILLED_BY_LATE_QUOTES = replace(
    BILLED_TRANSFERS,
    source=_BILLED.replace(
        "q.at < (m.month + interval '1 month') AT", "q.at < (m.month + interval '1 month' + interval '1 day') AT"
    ),
)
"""A quote counts for a month until a day after it, as in the rules of the statements."""

_LATE = BILLED_BY_LATE_QUOTES.source
_ORDER_OF_RECORDS = "ORDER BY coalesce(transfer_id, id), key_id, month, quote IS NULL, received_at, id"
_ONCE_EACH = "PARTITION BY one, key_id ORDER BY month"

BILLED_BY_RECORDS_OF_TRANSFERS = replace(
    BILLED_TRANSFERS,
    source=_LATE.replace(
        _ORDER_OF_RECORDS, _ORDER_OF_RECORDS.replace("quote IS", "transfer_id IS NULL, quote IS")
    ).replace(_ONCE_EACH, _ONCE_EACH.replace("key_id", "key_id, transfer_id IS NULL")),
)
"""Records of a transfer go before one without a transfer whose own ID it has, as in the rules of the statements."""

BILLING_VIEWS = (CUSTOMERS, BILLED_TRANSFERS)

READ_COLUMNS = {
    "customers": "tenant_id, id, number, name, archived_at",
    "customer_keys": "tenant_id, key_id, from_at, customer_id",
    "sealed_transfers": "tenant_id, month, transfer_id",
}
"""Columns that analysts' logins may read of tables that no other view is made of."""

MORE_COLUMNS = {"api_keys": "scopes, revoked_at"}
"""More columns of tables that they may read in part."""

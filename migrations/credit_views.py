"""The views of prices and of what was promised, with what is given back for a missed SLA."""

from dataclasses import replace

from migrations.analyst_views import TRANSFER_SLAS
from migrations.warehouse_views import PRICES

PRICES_WITH_CREDITS = replace(
    PRICES,
    columns=(
        *PRICES.columns,
        ("credit", "Share of the amount that is given back where the SLA of a transfer is missed, 0 to 1.", "p.credit"),
    ),
)

_MISSED = "t.status = 'succeeded' AND NOT t.agreement_kept AND (t.expected ->> 'feasible') IS DISTINCT FROM 'false'"

SLAS_WITH_CREDITS = replace(
    TRANSFER_SLAS,
    source="""public.transfers t
        LEFT JOIN public.api_keys k ON k.id = t.key_id
        LEFT JOIN LATERAL (
            SELECT tier_id, book_id, amount, currency, energy_basis FROM public.quotes
             WHERE transfer_id = t.id
               AND at BETWEEN t.started_at - interval '62 days' AND t.started_at + interval '1 day'
             ORDER BY amount IS NULL, at LIMIT 1) q ON true
        LEFT JOIN public.prices p ON p.book_id = q.book_id AND p.tier_id = q.tier_id
        LEFT JOIN public.tier_names n ON n.tier_id = q.tier_id""",
    columns=(
        *TRANSFER_SLAS.columns,
        (
            "credit",
            "Part of the amount that is given back because the SLA was missed, in the currency; NULL: no amount.",
            f"(q.amount * CASE WHEN {_MISSED} THEN coalesce(p.credit, 0) ELSE 0 END)::numeric(38, 6)",
        ),
    ),
)
"""The first quote with an amount counts, as for statements."""

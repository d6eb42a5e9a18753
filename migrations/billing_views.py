"""The views of what is billed: SLAs with negotiated credits, customers, and billed transfers as statements have them."""

from dataclasses import replace

from migrations.credit_views import SLAS_WITH_CREDITS

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

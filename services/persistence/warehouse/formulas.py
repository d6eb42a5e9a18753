"""Mark texts of a CSV answer that a spreadsheet would take for formulas, as the file of usage does.

Names in logs come from customers: ``=HYPERLINK(…)`` as the name of an endpoint would run on the provider's computer.
"""

from collections.abc import Sequence

from psycopg import sql

from services.application.shared.formulas import FORMULA_STARTS, MARK
from services.persistence.warehouse.row_sizes import TEXTS, Column, make_names_unique

WRITTEN_AS_THEY_ARE = TEXTS | {18, 19, 705, 1790}
"""Types whose values may begin with any character: those of `TEXTS`, "char", name, unknown and refcursor.

Others begin with a digit, a sign before digits, a bracket, a quote or a letter.
"""

FORMULA = f"^[{''.join(start for start in FORMULA_STARTS if start != '-')}-]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def mark_formulas(columns: Sequence[Column]) -> str:
    """Return the columns for a SELECT: texts that begin like a formula, and are no number, get a quote in front."""
    named = make_names_unique(
        [
            Column(f"{MARK}{column.name}" if column.name.startswith(FORMULA_STARTS) else column.name, column.type)
            for column in columns
        ]
    )
    return ", ".join(_select(column, shown.name) for column, shown in zip(columns, named, strict=True))


def _select(column: Column, shown: str) -> str:
    name, label = sql.Identifier(column.name).as_string(None), sql.Identifier(shown).as_string(None)
    if column.type not in WRITTEN_AS_THEY_ARE:
        return f"{name} AS {label}"
    formula, number = sql.Literal(FORMULA).as_string(None), sql.Literal(NUMBER).as_string(None)
    is_formula = f"{name}::text ~ {formula} AND {name}::text !~ {number}"
    return f"CASE WHEN {is_formula} THEN '{MARK}{MARK}' || {name}::text ELSE {name}::text END AS {label}"

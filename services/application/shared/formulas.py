"""Texts that a spreadsheet would run: names in logs come from customers, and files of sums and queries show them."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that a spreadsheet takes for the start of a formula, in full width, too."""

MARK = "'"


def mark_formula(text: str) -> str:
    """Return a text as a cell of a CSV file: one that would be a formula gets a quote in front."""
    return f"{MARK}{text}" if text.startswith(FORMULA_STARTS) else text

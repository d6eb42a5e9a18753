"""Markdown that every generated page needs."""

import re
from collections.abc import Iterable, Sequence

NOTICE = "<!-- Written by `python -m infra.reference`; do not edit by hand. -->"


def format_page(title: str, *parts: str) -> str:
    """Return a page with its title, the notice that it is generated, and its parts."""
    return "\n\n".join([f"# {title}", NOTICE, *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar or a line break within a cell is made harmless."""
    lines = [_format_row(head), "|" + "---|" * len(head), *(_format_row(row) for row in rows)]
    return "\n".join(lines)


def format_code(text: str) -> str:
    """Return text as code, or nothing where there is none."""
    return f"`{text}`" if text else ""


def format_literal(docstring: str) -> str:
    """Return a docstring's text with its double backticks as Markdown has them, in one line a paragraph."""
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(" ".join(each.replace("``", "`").split()) for each in paragraphs)


def _format_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_format_cell(each) for each in cells) + " |"


def _format_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

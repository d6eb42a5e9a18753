"""The list of decisions, from the title of each."""

from pathlib import Path

from infra.reference.markdown import format_page, format_table

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"

INTRODUCTION = """\
Why things are as they are. Each page says what was decided, why, and what was rejected. A decision keeps its number.
One that is replaced says by which."""


def render_decisions() -> str:
    """Return the page that lists the decisions by number."""
    pages = sorted(FOLDER.glob("[0-9]*.md"))
    rows = ((f"{int(each.name[:4])}", f"[{_find_title(each)}]({each.name})") for each in pages)
    return format_page("Decisions", INTRODUCTION, format_table(("number", "decision"), rows))


def _find_title(document: Path) -> str:
    first = document.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip().partition(". ")[2] or first.removeprefix("#").strip()

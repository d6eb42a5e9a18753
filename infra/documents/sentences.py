"""How long the sentences of a document are: a page whose average is above a bound is hard to read.

Prose alone counts. Code, tables, headings, comments and addresses do not; each item of a list stands for itself.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from infra.documents.site import ROOT

MOST_WORDS = 18.0
TABLES = ("docs/results/papers.md",)
"""Written by a benchmark, and hardly more than a table."""

AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md")

FENCED = re.compile(r"^(\s*)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"(`+).+?\1", re.DOTALL)
NO_PROSE = re.compile(r"^\s*(?:\||#{1,6}\s|!!!|\?\?\?|[-=]{3,}\s*$)")
INDENTED, INDENTED_IN_LIST = re.compile(r"^(?: {4}|\t)"), re.compile(r"^(?: {8}|\t\t)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
END_OF_SENTENCE = re.compile(r"(?<=[.!?…])[)\"'*_”]*(?:\s+|$)")
WORD = re.compile(r"\w")


def compute_average_sentence(text: str) -> float:
    """Return the average number of words of a document's sentences, 0 for one without prose."""
    lengths = [sum(1 for word in each.split() if WORD.search(word)) for each in split_sentences(text)]
    counted = [length for length in lengths if length]
    return sum(counted) / len(counted) if counted else 0.0


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text."""
    for paragraph in _list_paragraphs(text):
        yield from (each for each in END_OF_SENTENCE.split(paragraph) if each.strip())


def list_pages_to_read(root: Path = ROOT) -> list[Path]:
    """Return the documents that are read as prose: the site's except the table of claims, and those at the top."""
    site = (page for page in (root / "docs").rglob("*.md") if page.relative_to(root).as_posix() not in TABLES)
    return sorted([*site, *(root / name for name in AT_THE_TOP if (root / name).exists())])


def find_hard_pages(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each document whose sentences are too long on average."""
    for page in list_pages_to_read(root):
        average = compute_average_sentence(page.read_text(encoding="utf-8"))
        if average > MOST_WORDS:
            yield f"{page.relative_to(root)}: {average:.1f} words a sentence on average, at most {MOST_WORDS:g}"


def _list_paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and items of lists, without what is no prose."""
    text = COMMENT.sub("", FENCED.sub("\n", text))
    text = LINK.sub(r"\1", IMAGE.sub("", CODE.sub("code", text)))
    lines: list[str] = []
    after_blank, in_list = True, False
    for line in text.splitlines():
        is_item = ITEM.match(line) is not None
        indented = INDENTED_IN_LIST if in_list else INDENTED
        is_code = after_blank and indented.match(line) is not None and not is_item
        if not line.strip() or NO_PROSE.match(line) or is_item or is_code:
            if lines:
                yield " ".join(lines)
            lines = []
        if line.strip() and not NO_PROSE.match(line) and not is_code:
            lines.append(ITEM.sub("", line).strip())
        in_list = is_item or (in_list and (not line.strip() or line.startswith(" ")))
        after_blank = not line.strip() or is_code
    if lines:
        yield " ".join(lines)

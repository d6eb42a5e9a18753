"""Links of documents that are no part of the site: the README and its like, and those beside code."""

import re
from collections.abc import Iterator
from pathlib import Path

from infra.documents.site import ROOT

FOLDERS = ("benchmarks", "clients", "core", "infra", "services", "tests")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^(?: {4}|\t).*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def find_broken_links() -> Iterator[str]:
    """Yield each relative link of a committed document outside ``docs/`` that leads to no file or heading."""
    beside_code = (page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))
    for document in sorted([*ROOT.glob("*.md"), *beside_code]):
        name = document.relative_to(ROOT)
        for target in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
            if not re.match(r"[a-z]+:", target) and not _leads_somewhere(document, target):
                yield f"{name}: {target} leads nowhere"


def _leads_somewhere(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    to = (document.parent / path).resolve() if path else document
    if not to.exists():
        return False
    return not anchor or anchor in {slug_of(each) for each in HEADING.findall(to.read_text(encoding="utf-8"))}


def slug_of(heading: str) -> str:
    """Return the anchor of a heading, as sites that show Markdown make it.

    >>> slug_of("Other people's `tools`")
    'other-peoples-tools'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")

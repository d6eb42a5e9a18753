"""Where links of the documents outside the site lead; MkDocs checks those of the site."""

import re
from collections.abc import Iterator
from pathlib import Path

from infra.documents.site import ROOT

FOLDERS = ("benchmarks", "clients", "core", "infra", "services", "tests")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def find_broken_links(root: Path = ROOT) -> Iterator[str]:
    """Yield each relative link of a document outside ``docs/`` that leads to no file or heading."""
    for document in list_documents_outside_the_site(root):
        name = document.relative_to(root)
        for target in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
            if not re.match(r"[a-z]+:", target) and not _leads_somewhere(document, target):
                yield f"{name}: {target} leads nowhere"


def list_documents_outside_the_site(root: Path = ROOT) -> list[Path]:
    """Return the documents at the top of the checkout and those in the folders of code."""
    in_code_folders = (page for folder in FOLDERS for page in (root / folder).rglob("*.md"))
    return sorted([*root.glob("*.md"), *in_code_folders])


def _leads_somewhere(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    to = (document.parent / path).resolve() if path else document
    if not to.exists():
        return False
    return not anchor or anchor in {build_slug(each) for each in HEADING.findall(to.read_text(encoding="utf-8"))}


def build_slug(heading: str) -> str:
    """Return the anchor of a heading, as sites that show Markdown make it.

    >>> build_slug("Other people's `tools`")
    'other-peoples-tools'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")

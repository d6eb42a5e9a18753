"""Names of code in documents: paths, modules, and identifiers that a document says are in one of them.

Each is marked as code. Documents use these forms, where ``flags.py`` stands for any path and ``a`` for any identifier:

- ``core/tradewind/flags.py`` from the top of the checkout; ``flags.py`` or ``tradewind/flags.py``, the end of a path
- ``tests.endings.Program``, a module or an identifier of it; ``python -m infra.reference``
- ``a`` and ``b`` in ``flags.py``; ``flags.py`` (``a``, ``b``); (``flags.py``, ``a``); ``flags.py``: ``a``
- ``core/tradewind`` (``flags``, ``units.py``), modules in a folder

History may name what is gone: released versions, decisions that are no longer accepted, and what something replaces.
"""

import re
from collections.abc import Iterator
from fnmatch import filter as filter_paths
from functools import cached_property
from pathlib import Path

from infra.documents.links import list_documents_outside_the_site
from infra.documents.site import ROOT

TOP = ("benchmarks", "clients", "core", "docs", "infra", "migrations", "services", "tests", "workers")
PACKAGES = {"tradewind": "core/tradewind", "tradewind_agent": "clients/python/tradewind_agent"}
HOMES = {**{name: name for name in TOP}, **PACKAGES}
_PATH = rf"`(?P<path>(?:{'|'.join(HOMES)})/[\w./{{}},*-]+|[\w./{{}},*-]+\.py)`"
_NAME = r"`[A-Za-z_]\w*(?:\.\w+)*(?:\(\))?`"
_NAMES = rf"(?P<names>{_NAME}(?:(?:,|,?\s+and)\s+{_NAME})*)"
_FORMS = (rf"{_NAMES}\s+in\s+{_PATH}", rf"{_PATH}(?::|\s+\()\s*{_NAMES}", rf"\({_PATH},\s+{_NAMES}")
PATH, NAMES_OF_PATH = re.compile(_PATH), [re.compile(form) for form in _FORMS]
MODULE = re.compile(rf"(?:`|-m\s)((?:{'|'.join(HOMES)})(?:\.(?!NAME\b)\w+)+)\b(?![./])")
BRACES = re.compile(r"\{([^}]*)\}")
REPLACED = re.compile(r"\breplaces\s+`[^`]*`")
HISTORY = re.compile(r"^(?:## \[?\d|Status: (?!accepted)).*", re.MULTILINE | re.DOTALL)


def find_missing_names(root: Path = ROOT) -> Iterator[str]:
    """Yield each path, module and identifier that a document names as code and that is not there."""
    checkout = _Checkout(root)
    for document in sorted([*list_documents_outside_the_site(root), *(root / "docs").rglob("*.md")]):
        text = HISTORY.sub("", REPLACED.sub("", document.read_text(encoding="utf-8")))
        for missing in dict.fromkeys(_list_missing(text, checkout)):
            yield f"{document.relative_to(root)}: there is no {missing}"


def _list_missing(text: str, checkout: "_Checkout") -> Iterator[str]:
    yield from (path for path in PATH.findall(text) if not all(map(checkout.find, _list_alternatives(path))))
    yield from (module for module in MODULE.findall(text) if not checkout.has_module(module))
    for found in (each for form in NAMES_OF_PATH for each in form.finditer(text)):
        places = [place for path in _list_alternatives(found["path"]) for place in checkout.find(path)]
        for name in (each.strip("`()") for each in re.findall(_NAME, found["names"])):
            if places and not any(_has_name(place, name) for place in places):
                yield f"{name} in {found['path']}"


def _list_alternatives(path: str) -> list[str]:
    """Return the paths that ``a/{b,c}.py`` stands for."""
    if not (found := BRACES.search(path)):
        return [path]
    choices = (path[: found.start()] + choice + path[found.end() :] for choice in found[1].split(","))
    return [each for choice in choices for each in _list_alternatives(choice)]


def _has_name(place: Path, name: str) -> bool:
    """Return whether a file has each part of a dotted name, or a folder has a module of that name or with it."""
    if place.is_dir():
        return any(name in (file.name, file.stem) or _has_name(file, name) for file in place.rglob("*.py"))
    if name.endswith(".py"):  # In a list of files each is a path of its own.
        return True
    text = place.read_text(encoding="utf-8", errors="replace")
    return all(re.search(rf"\b{part}\b", text) for part in name.split("."))


class _Checkout:
    """Finds modules of a checkout by the names that documents use."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def modules(self) -> list[str]:
        return [file.as_posix() for folder in TOP for file in (self.root / folder).rglob("*.py")]

    def find(self, path: str) -> list[Path]:
        """Return what a path stands for: from the top, or else the modules whose path ends with it."""
        first, _, rest = path.partition("/")
        if first in HOMES:
            return list(self.root.glob(f"{HOMES[first]}/{rest}".rstrip("/")))
        return [Path(file) for file in filter_paths(self.modules, f"*/{path}")]

    def has_module(self, dotted: str) -> bool:
        """Return whether it is a module or an identifier of one, or a text that the code quotes, as names of tasks."""
        first, *names = dotted.split(".")
        for depth in range(len(names), -1, -1):
            place = self.root.joinpath(HOMES[first], *names[:depth])
            file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            if file.is_file():
                return not names[depth:] or _has_name(file, ".".join(names[depth:])) or self._quotes(dotted)
        return self._quotes(dotted)

    def _quotes(self, text: str) -> bool:
        quoted = re.compile(rf"[\"']{re.escape(text)}[\"']")
        return any(quoted.search(Path(file).read_text(encoding="utf-8")) for file in self.modules)

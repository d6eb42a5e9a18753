"""Refuse folders that a reader cannot hold and names that mean too much: `python -m infra.checks.rooms`.

A folder has at most 20 Python modules, a module at most 360 lines, and no class name stands in more than two modules.
"""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULES = 20
MAX_LINES = 360
MAX_DEFINITIONS = 2

HISTORY = "migrations/versions/"
"""Migrations are frozen and only ever added; the rules do not bind them."""


def read_modules(root: Path) -> dict[str, str]:
    """Return the source of every Python module that git tracks, by its path."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    paths = [path for path in listed.stdout.splitlines() if not path.startswith(HISTORY) and (root / path).is_file()]
    return {path: (root / path).read_text(encoding="utf-8") for path in paths}


def find_large_folders(modules: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each folder with too many modules; ``__init__`` describes a folder and does not count."""
    counts = Counter(str(PurePosixPath(path).parent) for path in modules if PurePosixPath(path).name != "__init__.py")
    for folder, count in sorted(counts.items()):
        if count > MAX_MODULES:
            yield f"{folder}: {count} modules, {MAX_MODULES} at most: give a concept of it a folder of its own"


def find_long_modules(modules: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each module that is too long."""
    for path, source in sorted(modules.items()):
        lines = source.count("\n")
        if lines > MAX_LINES:
            yield f"{path}: {lines} lines, {MAX_LINES} at most: split it by concept"


def find_shared_class_names(modules: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each class name that more than two modules outside tests define."""
    places = defaultdict(list)
    for path, source in sorted(modules.items()):
        if not path.startswith("tests/"):
            names = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}
            for name in names:
                places[name].append(path)
    for name, paths in sorted(places.items()):
        if len(paths) > MAX_DEFINITIONS:
            yield f"class {name} in {len(paths)} modules: name each for what it is: {', '.join(paths)}"


def main() -> int:
    modules = read_modules(ROOT)
    offences = [*find_large_folders(modules), *find_long_modules(modules), *find_shared_class_names(modules)]
    print("\n".join(offences) or f"{len(modules)} modules")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())

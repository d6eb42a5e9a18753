"""Check that every distribution of requirements-dev.txt has a licence that lets Tradewind be Apache-2.0.

The same holds for committed files of other projects, which lie in a folder with their licence and an ``ORIGIN.json``.
Permissive licences are permitted, and MPL-2.0 and LGPL-3.0 for unmodified libraries; GPL and AGPL are not. The metadata
of a distribution is believed, in this order: licence expression, licence field, classifiers.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = (ROOT / "services", ROOT / "tests" / "browser")
ORIGIN = "ORIGIN.json"
PERMITTED = {
    "0BSD",
    "3-Clause BSD License",
    "Apache",  # the word of kubernetes-validate for 2.0, whose text it carries
    "Apache 2.0",
    "Apache Software License",
    "Apache-2.0",
    "BSD",
    "BSD 2-Clause License",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC License (ISCL)",
    "ISC",
    "LGPL-3.0-only",
    "MIT License",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "PSF-2.0",
    "Python Software Foundation License",
    "Unlicense",
    "Zlib",
}
PERMITTED_FOLDED = {name.casefold() for name in PERMITTED}


def is_permitted(expression: str) -> bool:
    """Return whether an SPDX expression can be met by permitted licences: OR is a choice, AND asks for all.

    >>> is_permitted("MPL-2.0 AND (GPL-2.0-only OR MIT)")
    True
    """
    words = re.findall(r"[()]|[^\s()]+", expression)
    return bool(words) and _is_any_permitted(iter([*words, ")"]))


def _is_any_permitted(words: Iterator[str]) -> bool:
    """Consume words up to the closing parenthesis."""
    choices = [True]
    negligible = False
    for word in words:
        if word == ")":
            break
        if word == "OR":
            choices.append(True)
        elif word == "WITH":
            negligible = True  # an exception only adds permissions
        elif negligible:
            negligible = False
        elif word != "AND":
            choices[-1] &= _is_any_permitted(words) if word == "(" else word.casefold() in PERMITTED_FOLDED
    return any(choices)


def list_licences(package: metadata.PackageMetadata) -> list[str]:
    """Return the licences of a distribution's metadata: its expression alone, else field and classifiers, a choice of
    any.
    """
    if "License-Expression" in package:
        return [package["License-Expression"]]
    field = package["License"].partition("\n")[0].strip() if "License" in package else ""
    classifiers = [line for line in package.get_all("Classifier") or [] if line.startswith("License :: ")]
    return [field] * bool(field) + [line.rpartition(" :: ")[2] for line in classifiers]


def is_permitted_distribution(package: metadata.PackageMetadata) -> bool:
    """Return whether a distribution may be used under at least one of the licences that it states."""
    return any(name.casefold() in PERMITTED_FOLDED or is_permitted(name) for name in list_licences(package))


def find_offences(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a folder of other projects' files: its licence, or files that differ from the published
    ones.
    """
    origin = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
    if not is_permitted(origin["licence"]):
        yield f"{folder.name}: {origin['licence']}"
    if "LICENSE" not in origin["sha256"]:
        yield f"{folder.name}: its licence is not with it"
    names = {path.name for path in folder.iterdir()} - {ORIGIN}
    for name in sorted(names | origin["sha256"].keys()):
        path = folder / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != origin["sha256"].get(name):
            yield f"{folder.name}/{name}: differs from {origin['name']} {origin['version']}"


def main() -> int:
    requirements = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    offenders = 0
    for name in re.findall(r"^([\w.-]+)==", requirements, re.MULTILINE):
        try:
            package = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue  # its marker leaves it out on this system
        if not is_permitted_distribution(package):
            print(f"{name}: {' / '.join(list_licences(package)) or 'no licence stated'}")
            offenders += 1
    for origin in sorted(origin for folder in COMMITTED for origin in folder.rglob(ORIGIN)):
        for offence in find_offences(origin.parent):
            print(offence)
            offenders += 1
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())

"""Every distribution that requirements-dev.txt installs must be under a licence that lets Tradewind be Apache-2.0.

So must files of others that are committed, which lie in a folder with their licence and an ``ORIGIN.json``.

Permissive licences are, and MPL-2.0 and LGPL-3.0 for libraries that we use unmodified; GPL and AGPL are not. What a
distribution says in its metadata is believed, in this order: licence expression, licence field, classifiers.
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
    "Apache",  # kubernetes-validate's word for 2.0, whose text it carries
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
    return bool(words) and _alternatives(iter([*words, ")"]))


def _alternatives(words: Iterator[str]) -> bool:
    """Consume up to the closing parenthesis."""
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
            choices[-1] &= _alternatives(words) if word == "(" else word.casefold() in PERMITTED_FOLDED
    return any(choices)


def stated_licences(facts: metadata.PackageMetadata) -> list[str]:
    """Return what a distribution's metadata says: its expression alone, else field and classifiers, a choice of any."""
    if "License-Expression" in facts:
        return [facts["License-Expression"]]
    field = facts["License"].partition("\n")[0].strip() if "License" in facts else ""
    classifiers = [line for line in facts.get_all("Classifier") or [] if line.startswith("License :: ")]
    return [field] * bool(field) + [line.rpartition(" :: ")[2] for line in classifiers]


def is_permitted_distribution(facts: metadata.PackageMetadata) -> bool:
    """Return whether a distribution may be used under at least one of the licences that it states."""
    return any(name.casefold() in PERMITTED_FOLDED or is_permitted(name) for name in stated_licences(facts))


def offences_of_committed(folder: Path) -> Iterator[str]:
    """Say what is wrong with a folder of others' files: its licence, or files that are not as they were published."""
    origin = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
    if not is_permitted(origin["licence"]):
        yield f"{folder.name}: {origin['licence']}"
    if "LICENSE" not in origin["sha256"]:
        yield f"{folder.name}: its licence is not with it"
    there = {path.name for path in folder.iterdir()} - {ORIGIN}
    for name in sorted(there | origin["sha256"].keys()):
        path = folder / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != origin["sha256"].get(name):
            yield f"{folder.name}/{name}: is not what {origin['name']} {origin['version']} has"


def main() -> int:
    requirements = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    offenders = 0
    for name in re.findall(r"^([\w.-]+)==", requirements, re.MULTILINE):
        try:
            facts = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue  # its marker leaves it out on this system
        if not is_permitted_distribution(facts):
            print(f"{name}: {' / '.join(stated_licences(facts)) or 'no licence stated'}")
            offenders += 1
    for origin in sorted(origin for folder in COMMITTED for origin in folder.rglob(ORIGIN)):
        for offence in offences_of_committed(origin.parent):
            print(offence)
            offenders += 1
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())

"""Keep requirements.txt and requirements-dev.txt in step with the three pyproject.toml files.

A checkout and an image need the first to run; the second has all of it at the same versions, and what tests, checks and
benchmarks need in addition. `python -m infra.checks.requirements` compares, without a network; `--write` resolves again
(needs uv). The first line of each file is a hash of all dependency declarations, which shows a changed declaration.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNNING, DEVELOPING = "requirements.txt", "requirements-dev.txt"
PROJECTS = ("core/pyproject.toml", "clients/python/pyproject.toml", "pyproject.toml")
MARK = "# declarations sha256:"
COMMAND = [
    "uv",
    "pip",
    "compile",
    "pyproject.toml",
    "--universal",
    "--python-version=3.11",
    "--fork-strategy=fewest",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-package=tradewind-core",
    "--no-emit-package=tradewind-agent",
    "--no-header",
    "--no-annotate",
    "--quiet",
]
EXTRAS = {DEVELOPING: ["--extra=dev"], RUNNING: ["--extra=checkout", f"--constraints={DEVELOPING}"]}
"""In the order of resolving: the running service has the versions that were tested."""


def compute_declarations_hash(root: Path) -> str:
    """Return a hash of what the three projects declare to need; other settings do not enter it."""
    declared = []
    for name in PROJECTS:
        project = tomllib.loads((root / name).read_text(encoding="utf-8"))["project"]
        declared.append(
            [
                project["requires-python"],
                sorted(project.get("dependencies", [])),
                {extra: sorted(needs) for extra, needs in project.get("optional-dependencies", {}).items()},
            ]
        )
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()


def is_in_step(root: Path) -> bool:
    """Return whether both files were resolved from the declarations as they are now."""
    expected = MARK + compute_declarations_hash(root)
    return all((root / name).read_text(encoding="utf-8").partition("\n")[0] == expected for name in EXTRAS)


def write(*, upgrade: bool) -> None:
    """Resolve the declarations; pinned versions are kept where they still fit, unless `upgrade`."""
    for name, extras in EXTRAS.items():
        options = [*extras, f"--output-file={name}", *(["--upgrade"] if upgrade else [])]
        subprocess.run([*COMMAND, *options], cwd=ROOT, check=True)
        resolved = (ROOT / name).read_text(encoding="utf-8")
        pins = resolved[resolved.index("\n") + 1 :] if resolved.startswith(MARK) else resolved
        (ROOT / name).write_text(f"{MARK}{compute_declarations_hash(ROOT)}\n{pins}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="resolve again, keeping versions that still fit")
    parser.add_argument("--upgrade", action="store_true", help="with --write: take the newest versions")
    arguments = parser.parse_args()
    if arguments.write:
        write(upgrade=arguments.upgrade)
    if not is_in_step(ROOT):
        sys.stderr.write("requirements are older than a pyproject.toml: python -m infra.checks.requirements --write\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Check what hosting services and editors read: CI workflows, issue forms, pre-commit, devcontainer.

The schemas come with check-jsonschema, so that no network is needed: `python -m infra.checks.hosting`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
SCHEMAS = {
    "vendor.github-workflows": (".github/workflows/*.yml",),
    "vendor.github-issue-forms": (".github/ISSUE_TEMPLATE/[!c]*.yml",),
    "vendor.github-issue-config": (".github/ISSUE_TEMPLATE/config.yml",),
    "vendor.gitlab-ci": (".gitlab-ci.yml",),
}
"""Schema → patterns of the files that it describes."""

TRANSFORMS = {"vendor.gitlab-ci": ("--data-transform", "gitlab-ci")}
RUN_BY_HOSTS = (
    ".github/workflows/*.yml",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json",
)
_SCRIPT = re.compile(r"(?<![\w/.])(?:\./|\.ci/|infra/)[\w-]+(?![\w/.])")


def find_invalid_files(root: Path) -> Iterator[str]:
    """Yield what a validator says of each file that its schema refuses, and of a schema that describes no file."""
    for schema, patterns in SCHEMAS.items():
        files = [str(path.relative_to(root)) for pattern in patterns for path in sorted(root.glob(pattern))]
        if not files:
            yield f"{schema}: no file matches {', '.join(patterns)}"
            continue
        options = ("--builtin-schema", schema, *TRANSFORMS.get(schema, ()))
        yield from _run_validator([PROGRAMS / "check-jsonschema", *options, *files], root)
    yield from _run_validator([PROGRAMS / "pre-commit", "validate-config", ".pre-commit-config.yaml"], root)
    try:
        json.loads((root / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))["image"]
    except (OSError, ValueError, KeyError) as error:
        yield f".devcontainer/devcontainer.json: {error!r}"


def find_missing_scripts(root: Path) -> Iterator[str]:
    """Yield a line for each script of this project that one of the files calls and that is not there."""
    for path in sorted(path for pattern in RUN_BY_HOSTS for path in root.glob(pattern)):
        for script in sorted(set(_SCRIPT.findall(path.read_text(encoding="utf-8")))):
            if not (root / script).is_file():
                yield f"{path.relative_to(root)}: there is no {script}"


def _run_validator(command: list[str | Path], root: Path) -> Iterator[str]:
    done = subprocess.run(command, cwd=root, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        yield done.stdout.strip()


def main() -> int:
    offences = [*find_invalid_files(ROOT), *find_missing_scripts(ROOT)]
    print("\n".join(offences) or "valid")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run every static check, also after one has failed, and print at the end which did: `python -m infra.checks`."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
MODULE = [sys.executable, "-P", "-m"]
STEPS: dict[str, Sequence[str | Path]] = {
    "types": [PROGRAMS / "mypy", "--no-error-summary"],
    "format": [PROGRAMS / "ruff", "format", "--check", "--quiet", "."],
    "lint": [PROGRAMS / "ruff", "check", "--quiet", "--output-format=concise", "."],
    "imports": [PROGRAMS / "lint-imports", "--no-logo"],
    "migrations": [*MODULE, "infra.checks.migrations"],
    "rooms": [*MODULE, "infra.checks.rooms"],
    "vocabulary": [*MODULE, "infra.checks.vocabulary"],
    "hosting": [*MODULE, "infra.checks.hosting"],
    "licences": [*MODULE, "infra.checks.licences"],
    "requirements": [*MODULE, "infra.checks.requirements"],
    "docs": [*MODULE, "infra.documents", "check"],
}
"""The longest is first: as many run at once as there are processors."""


def main() -> int:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(processors) as pool:
        passed = list(pool.map(run_check, STEPS, STEPS.values()))
    failed = [name for name, is_passed in zip(STEPS, passed, strict=True) if not is_passed]
    verdict = f"{len(STEPS) - len(failed)} of {len(STEPS)} checks passed"
    print(f"\n{verdict}; failed: {', '.join(failed)}" if failed else f"\n{verdict}")
    return 1 if failed else 0


def run_check(name: str, command: Sequence[str | Path]) -> bool:
    """Run one check; print its output only if it failed."""
    started_at = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    passed = done.returncode == 0
    report = f"{name:<14}{'passed' if passed else 'FAILED'}  {time.monotonic() - started_at:6.1f} s"
    output = "" if passed else done.stdout.decode("utf-8", "replace").strip() + "\n"
    print(f"{report}\n{output}", end="", flush=True)  # one text: another check may print meanwhile
    return passed


if __name__ == "__main__":
    sys.exit(main())

"""Audit the pinned distributions for known flaws: `python -m infra.audit [--requirements FILE] [--sbom FILE]`.

The program runs pip-audit, which queries a database of advisories over the network. It exits with 0 if that knows no
flaw, 1 if it knows some, and 3 if nothing was audited: that must not look like a good result.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from infra.checks.requirements import DEVELOPING, ROOT

SOUND, FLAWED, NOT_AUDITED = 0, 1, 3
PATIENCE_S = 600


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requirements", type=Path, default=ROOT / DEVELOPING, metavar="FILE")
    parser.add_argument("--service", choices=("osv", "pypi"), default="osv", help="which database of advisories")
    parser.add_argument("--sbom", type=Path, metavar="FILE", help="also write the distributions, as CycloneDX JSON")
    options = parser.parse_args(argv)
    if find_spec("pip_audit") is None:
        return _report_not_audited("pip-audit is not installed; pip install pip-audit")
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(options.requirements), "--disable-pip"]
    command += ["--require-hashes", "--progress-spinner=off", f"--vulnerability-service={options.service}"]
    try:
        answer = subprocess.run(
            [*command, "--format=json"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return _report_not_audited(f"no advisories within {PATIENCE_S} s")
    try:
        found = json.loads(answer.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return _report_not_audited((answer.stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1])
    if options.sbom is not None:
        document = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "components": [
                {
                    "type": "library",
                    "name": each["name"],
                    "version": each["version"],
                    "purl": f"pkg:pypi/{each['name']}@{each['version']}",
                }
                for each in found
                if "version" in each
            ],
        }
        options.sbom.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return report_flaws(found)


def report_flaws(found: Sequence[dict[str, object]]) -> int:
    unknown = [str(each["name"]) for each in found if "skip_reason" in each]
    flawed = {f"{each['name']} {each.get('version')}": each["vulns"] for each in found if each.get("vulns")}
    for name, flaws in flawed.items():
        assert isinstance(flaws, list)
        print(f"{name}: {', '.join(flaw['id'] for flaw in flaws)}")
    if unknown or not found:
        return _report_not_audited(f"nothing is known of {', '.join(unknown) or 'any distribution'}")
    print(f"{len(found)} distributions audited, {len(flawed)} with known flaws")
    return FLAWED if flawed else SOUND


def _report_not_audited(reason: str) -> int:
    sys.stderr.write(f"audit: NOT AUDITED: {reason}\n")
    return NOT_AUDITED


if __name__ == "__main__":
    sys.exit(main())

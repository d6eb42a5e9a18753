"""Writes what the API says of itself to where it is under test: ``python -m infra.openapi``, after a wanted change."""

import json
import sys
from pathlib import Path

from services.app import build_openapi_document

SNAPSHOT = Path(__file__).resolve().parents[1] / "tests" / "contract" / "openapi.json"


def rendered() -> str:
    """The OpenAPI document as it is kept."""
    return json.dumps(build_openapi_document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    SNAPSHOT.write_text(rendered(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

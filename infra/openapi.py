"""Write the API's description to the file that is under test: ``python -m infra.openapi``, after an intended change."""

import json
import sys
from pathlib import Path

from services.app import build_openapi_document

SNAPSHOT = Path(__file__).resolve().parents[1] / "tests" / "contract" / "openapi.json"


def render_document() -> str:
    """Return the OpenAPI document as it is stored."""
    return json.dumps(build_openapi_document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    SNAPSHOT.write_text(render_document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Scripts, styles and libraries of the pages: files of this service, cached by browsers until they change."""

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from tradewind.errors import NotFound

FOLDER = Path(__file__).with_name("static")
FILES = {
    "pages.css": "text/css",
    "pages.js": "text/javascript",
    "charts.js": "text/javascript",
    "sql.js": "text/javascript",
    "unsent.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "htmx/htmx.min.js": "text/javascript",
    "htmx/hx-sse.min.js": "text/javascript",
    "echarts/echarts.min.js": "text/javascript",
    "echarts-gl/echarts-gl.min.js": "text/javascript",
}
DIGEST_CHARACTERS = 12

router = APIRouter(prefix="/admin/static", include_in_schema=False)


@cache
def build_asset_address(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    digest = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:DIGEST_CHARACTERS]
    return f"/admin/static/{name}?v={digest}"


@router.get("/{name:path}")
async def static_file(name: str, v: str = "") -> Response:
    """Return one of the files; those requested by their digest never change."""
    if name not in FILES:
        raise NotFound(f"there is no {name} here")
    cache_control = "public, max-age=31536000, immutable" if v else "no-cache"
    headers = {"Cache-Control": cache_control, "X-Content-Type-Options": "nosniff"}
    return FileResponse(FOLDER / name, media_type=FILES[name], headers=headers)

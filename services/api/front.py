"""``/`` and ``/docs``: where a user begins who knows the address only. Every byte comes from this service."""

from pathlib import Path
from types import MappingProxyType

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse

from tradewind.errors import NotFound

router = APIRouter(include_in_schema=False)

_STATIC = Path(__file__).with_name("static")
_FILES = MappingProxyType(
    {
        "docs.js": (_STATIC / "docs.js", "text/javascript"),
        "swagger-ui-bundle.js": (_STATIC / "swagger-ui" / "swagger-ui-bundle.js", "text/javascript"),
        "swagger-ui.css": (_STATIC / "swagger-ui" / "swagger-ui.css", "text/css"),
    }
)
_LINKS = MappingProxyType(
    {
        "pages": "/admin",
        "documentation": "/docs",
        "openapi": "/openapi.json",
        "health": "/healthz",
        "readiness": "/readyz",
        "metrics": "/metrics",
    }
)
_HEADERS = MappingProxyType(
    {
        # The browser itself keeps the page from requesting another origin. Styles are set by its script, images
        # are data.
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "style-src-attr 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
)


@router.get("/")
async def front(request: Request) -> Response:
    """Return what answers here, with links; redirect a browser to the pages."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("admin", headers={"Vary": "Accept"})
    description = {"name": request.app.title, "version": request.app.version, "links": dict(_LINKS)}
    return JSONResponse(description, headers={"Vary": "Accept"})


@router.get("/docs")
async def documentation() -> Response:
    """Show the API's description."""
    return FileResponse(_STATIC / "docs.html", media_type="text/html", headers=dict(_HEADERS))


@router.get("/docs/{name}")
async def documentation_file(name: str) -> Response:
    """Return a file of that page."""
    if name not in _FILES:
        raise NotFound(f"there is no {name} here")
    path, media_type = _FILES[name]
    return FileResponse(path, media_type=media_type, headers=dict(_HEADERS))

"""HAR logs made by hand: times in ms, as the format has them."""

from datetime import UTC, datetime, timedelta
from typing import Any

BEGAN = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def entry(
    at_ms: float = 0,
    *,
    url: str = "https://example.org/a",
    blocked: float = -1,
    connect: float = -1,
    ssl: float = -1,
    wait: float = 20,
    receive: float = 10,
    size: int = 1000,
    version: str = "HTTP/1.1",
    connection: str | None = None,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An object asked for ``at_ms`` after the begin of the page."""
    told: dict[str, Any] = {
        "pageref": "page_1",
        "startedDateTime": (BEGAN + timedelta(milliseconds=at_ms)).isoformat(),
        "request": {"method": "GET", "url": url, "httpVersion": version},
        "response": {
            "status": 200,
            "httpVersion": version,
            "headers": [{"name": name, "value": value} for name, value in (headers or {}).items()],
            "headersSize": 0,
            "bodySize": size,
            "content": {"size": size},
        },
        "timings": {"blocked": blocked, "dns": -1, "connect": connect, "ssl": ssl, "send": 0, "wait": wait,
                    "receive": receive},
    }  # fmt: skip
    if connection is not None:
        told["connection"] = connection
    return told | more


def har(*entries: Any, load_ms: float = 1000, pages: Any = None, **log: Any) -> dict[str, Any]:
    page = {
        "id": "page_1",
        "startedDateTime": BEGAN.isoformat(),
        "title": "https://example.org/private?token=1",
        "pageTimings": {"onLoad": load_ms},
    }
    told = {"version": "1.2", "creator": {"name": "a tool"}, "pages": [page] if pages is None else pages}
    return {"log": told | {"entries": list(entries)} | log}

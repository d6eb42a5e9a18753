"""The views on loads of web pages and their connections."""

from collections.abc import Mapping
from dataclasses import replace

from migrations.warehouse_views import Column, View

PAGE_LOADS = View(
    "page_loads",
    "Facts: one row a load of a web page, from a browser's log (HAR).",
    "public.page_loads",
    (
        ("page_load_id", "The load.", "id"),
        ("received_at", "When the service received its log last."),
        ("started_at", "Begin of the load, by the browser's clock."),
        ("tool", "Browser or program that wrote the log."),
        ("name", "Title of the page, or its origin."),
        ("load_s", "s: from the begin to the load event; to the last byte where the log does not tell it."),
        ("load_told", "Whether the log tells the load event."),
        ("idle_s", "s: of the load, in which no object was received."),
        ("net_transfer_s", "s: load without idle time.", "load_s - idle_s"),
        (
            "effective_concurrency",
            "Connections that received at once while any did: sum of their times of receiving over the union of these.",
        ),
        ("encryption", "encrypted or plain: more than 90 % of the connections were; else mixed."),
        ("rtt_s", "s: least round trip of its connections; NULL: not known."),
        ("objects", "Objects that came over the network."),
        ("wire_bytes", "bytes: received, headers included."),
        ("untimed", "Objects of which the log tells no time of receiving."),
        ("unsized", "Objects of which the log tells no size."),
        ("cache_hits", "Objects that a cache on the way had.", "coalesce((caches->>'hit')::integer, 0)"),
        ("cache_misses", "Objects that it had to fetch.", "coalesce((caches->>'miss')::integer, 0)"),
        (
            "cached_elsewhere",
            "Objects with an X-Cache of another cache, or one that tells neither.",
            "coalesce((caches->>'elsewhere')::integer, 0)",
        ),
        ("without_cache", "Objects without an X-Cache.", "coalesce((caches->>'none')::integer, 0)"),
        ("left_out", "JSON: entries of the log that are no object of the page, by reason."),
        ("lengths", "JSON: connections that fit in an initial window, short ones (up to 2 MB), longer ones."),
        ("advice", "JSON: what to change, with s saved by the round model."),
    ),
)  # fmt: skip

PAGE_CONNECTIONS = View(
    "page_connections",
    "Facts: one row a connection of a page's load.",
    "public.page_connections",
    (
        ("page_load_id", "The load; see warehouse.page_loads."),
        ("ordinal", "Number in its page, from 0, by the first request."),
        ("origin", "Scheme, host and port of its first object."),
        ("encrypted", "Whether it spoke TLS."),
        ("http_version", "HTTP/1.1, HTTP/2, HTTP/3 or other."),
        ("inferred", "Whether its objects were put together by their times, since the log names no connections."),
        ("objects", "Objects that came over it."),
        ("wire_bytes", "bytes: its volume."),
        ("opened_s", "s: from the begin of the load to its first request."),
        ("duration_s", "s: from its first request to its last byte; NULL: not known."),
        ("receiving_s", "s: in which it received objects."),
        ("rtt_s", "s: its round trip, from TCP's handshake or as it was given; NULL: not known."),
        ("first_object_bytes", "bytes: of its first object."),
        ("first_object_rtts", "Round trip in which its first object was complete, from 1; NULL: not known."),
    ),
)

_IDLE = "s: of the load, in which no object was received; NULL: no object has times."
_NET = "s: load without idle time; NULL likewise."


def _where(condition: str) -> View:
    """Loads with idle time where that is known."""

    def where_known(expression: str) -> str:
        return f"CASE WHEN {condition} THEN {expression} END"

    changed: Mapping[str, Column] = {
        "name": ("name", "Origin of the first entry of the page."),
        "idle_s": ("idle_s", _IDLE, where_known("idle_s")),
        "net_transfer_s": ("net_transfer_s", _NET, where_known("load_s - idle_s")),
    }
    return replace(PAGE_LOADS, columns=tuple(changed.get(column[0], column) for column in PAGE_LOADS.columns))


TIMED_PAGE_LOADS = _where("objects = 0 OR untimed < objects")

TRANSFERRED_PAGE_LOADS = _where("untimed < objects")
"""A page that received nothing over the network has no idle time either."""

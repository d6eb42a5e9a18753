"""The API process: the application for uvicorn."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.types import Lifespan

from services.admin.events import make_page_slots
from services.admin.routers import PAGES
from services.api import front, middleware, probes, problems, shedding, traced
from services.api.routes import (
    batching,
    completions,
    compression,
    connections,
    devices,
    endpoints,
    keys,
    limits,
    links,
    logs,
    recommend,
    regions,
    releases,
    sla_tiers,
    transfers,
    warehouse,
)
from services.api.routes.billing import customers, issued_statements, price_books, price_files, price_rules, usage
from services.application.shared.single_flight import SingleFlight
from services.application.warehouse.query import QueryLimits
from services.bootstrap import Container, Options, SignOn, build_container
from services.observability.telemetry import create_logger
from services.observability.tracing import create_tracing
from services.persistence.address import parse_libpq_url
from services.settings import Settings
from services.streaming.query_slots import QuerySlots
from tradewind.errors import InvalidValue
from tradewind.failure import remove_secrets

TITLE = "Tradewind"
VERSION = "1.0"
COLLECTIONS = (20_000, 20, 50)
"""How many new objects trigger a collection, and how many young collections an older one. Neither an answer nor the end
of a transfer leaves cycles; at Python's own 700 a busy process spent a twentieth of its time collecting, up to 0.05
s at once.
"""

SWITCH_S = 0.000_5
"""How long a thread that stores an upload may keep the interpreter from the one that answers. Answering gives it up
with every message that it sends: at Python's own 5 ms a heartbeat waited four times as long, again and again.
"""

CANCELLED_AGAIN_S = 0.2

NO_TELEMETRY = TelemetryConfig(tracing=False, metrics=False, logs=False)
"""Switches off the framework's own telemetry, which reads its configuration with each request. The service has
`middleware.MetricsMiddleware`.
"""

HOT_ROUTERS = (recommend.router, transfers.live_router)
"""Routers of the most frequent requests: their routes are matched before all others, and without a router in
between.
"""

ROUTERS = (
    completions.router,
    logs.router,
    compression.router,
    transfers.router,
    endpoints.router,
    limits.router,
    links.router,
    releases.router,
    sla_tiers.router,
    price_books.router,
    price_rules.router,
    price_files.router,
    usage.router,
    customers.router,
    customers.prices_router,
    usage.statement_router,
    issued_statements.router,
    issued_statements.issuer_router,
    devices.router,
    regions.router,
    regions.grid_router,
    batching.router,
    keys.router,
    warehouse.router,
    connections.router,
    probes.router,
    front.router,
    *PAGES,
)
"""In the order in which a request is matched: the more frequent first."""


def app_from_environment() -> FastAPI:
    """Return the application of a uvicorn process; exit with one line where the environment does not describe one.

    Whoever starts it has brought the schema up to date.
    """
    try:
        settings = Settings.from_environment(os.environ, data_folder=Path("var"))
        database_url = settings.required_database_url
        redis_url = settings.required_redis_url
        parse_libpq_url(database_url)
    except InvalidValue as wrong:
        raise SystemExit(f"api: {wrong}") from None
    return create_app_for(
        database_url=database_url,
        redis_url=redis_url,
        options=Options(
            query_limits=QueryLimits(
                rows=settings.query_rows, seconds=settings.query_seconds, answer_bytes=settings.query_bytes
            ),
            reader_address=settings.reader_address,
            export_place=settings.export_place and remove_secrets(settings.export_place),
            log_months=settings.log_months,
            sign_on=None if settings.sign_on is None else SignOn.at(*settings.sign_on),
            notice=settings.notice,
            call_limits=settings.call_limits,
            session_limits=settings.session_limits,
            tracing=create_tracing(
                os.environ, service="tradewind-api", log=create_logger("api", output=sys.stderr), trusted=False
            ),
        ),
    )


def create_app_for(*, database_url: str, redis_url: str, options: Options | None = None) -> FastAPI:
    """Return the application with parts of its own, which it closes when it shuts down.

    ``database_url`` : of the application's role, with the schema in place.
    """
    closing = ExitStack()
    parts = build_container(database_url=database_url, redis_url=redis_url, options=options)
    app = create_app(closing.enter_context(parts), closing)
    gc.freeze()  # the collector need not look again and again at what exists now
    gc.set_threshold(*COLLECTIONS)
    gc.enable()
    sys.setswitchinterval(SWITCH_S)
    return app


async def cancel_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended.

    Once is not always enough: the store's client may take a cancellation within its own time limit for that limit.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCELLED_AGAIN_S)


def create_app(parts: Container, closing: ExitStack | None = None) -> FastAPI:
    """Return the application on the parts of a process; ``closing`` is closed with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        parts.notices.start()
        following = [
            asyncio.create_task(task)
            for task in (
                parts.live_shares.follow(),
                parts.quotes.follow(),
                parts.rate_limits.follow(),
                parts.refused_sign_ins.follow(),
            )
        ]
        try:
            yield
        finally:
            await cancel_tasks(following)
            await parts.quotes.close()
            parts.notices.stop()
            app.state.query_slots.close()
            await parts.session_client.aclose()
            if closing is not None:
                closing.close()

    app = _create_described_app(lifespan)
    app.state.container = parts
    app.state.notice = parts.options.notice
    app.state.page_slots = make_page_slots()
    app.state.page_look_ups = SingleFlight()
    app.state.query_slots = QuerySlots(parts.warehouse.limits)
    problems.install_handlers(app)
    app.add_middleware(middleware.BodyLimit)
    app.add_middleware(shedding.Shedding)
    if parts.options.tracing is not None:
        app.add_middleware(traced.TracingMiddleware, tracing=parts.options.tracing)
    app.add_middleware(middleware.MetricsMiddleware, metrics=parts.metrics)
    app.add_middleware(middleware.RequestIdMiddleware)
    return app


def build_openapi_document() -> dict[str, Any]:
    """Return the API's description; needs no parts."""
    return _create_described_app(None).openapi()


def _create_described_app(lifespan: Lifespan[FastAPI] | None) -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        lifespan=lifespan,
        description="Transfer tuning as a service.",
        routes=[route for router in HOT_ROUTERS for route in router.routes],
        docs_url=None,  # the framework's pages load scripts from elsewhere; ``api.front`` has one that does not
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    for router in ROUTERS:
        app.include_router(router)
    problems.describe_problems(app)
    return app

"""The API process: the application for uvicorn."""

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from services.api import endpoints, keys, links, logs, middleware, probes, problems, recommend, releases
from services.bootstrap import Container, container
from services.settings import Settings
from tradewind.errors import InvalidValue

TITLE = "Tradewind"
VERSION = "1.0"
ROUTERS = (logs.router, endpoints.router, links.router, recommend.router, releases.router, keys.router, probes.router)


def app_from_environment() -> FastAPI:
    """The application of a uvicorn process; who starts it has brought the schema up to date."""
    settings = Settings.from_environment(os.environ, data_folder=Path("var"))
    if settings.database_url is None:
        raise InvalidValue("DATABASE_URL", "must be set")
    if settings.redis_url is None:
        raise InvalidValue("REDIS_URL", "must be set")
    return app_for(database_url=settings.database_url, redis_url=settings.redis_url)


def app_for(*, database_url: str, redis_url: str) -> FastAPI:
    """The application with parts of its own, which it closes when it shuts down.

    Parameters
    ----------
    database_url : of the application's role, with the schema in place.
    """
    closing = ExitStack()
    return create_app(closing.enter_context(container(database_url=database_url, redis_url=redis_url)), closing)


def create_app(parts: Container, closing: ExitStack | None = None) -> FastAPI:
    """The application on the parts of a process; ``closing`` is closed with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        parts.notices.start()
        try:
            yield
        finally:
            parts.notices.stop()
            if closing is not None:
                closing.close()

    app = FastAPI(title=TITLE, version=VERSION, lifespan=lifespan, description="Transfer tuning as a service.")
    app.state.container = parts
    for router in ROUTERS:
        app.include_router(router)
    problems.install(app)
    app.add_middleware(middleware.BodyLimit)
    app.add_middleware(middleware.Measured, metrics=parts.metrics)
    return app

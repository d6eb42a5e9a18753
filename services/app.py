"""The API process: the application for uvicorn."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import FastAPI

from services.api import endpoints, keys, logs, middleware, probes, problems
from services.bootstrap import Container, container

TITLE = "Tradewind"
VERSION = "1.0"
ROUTERS = (logs.router, endpoints.router, keys.router, probes.router)


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

"""An error has one status, whether a program or a person is told of it."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

from services.admin.rendering import build_page_router
from services.api import problems
from services.statuses import find_status
from services.system_clock import SystemClock
from tradewind.errors import CannotFit, Deadlocked, InvalidUnit, NotFound, QueryRefused, TooLarge, TradewindError

ERRORS = (NotFound("a"), TooLarge("a"), QueryRefused("a"), CannotFit("a"), Deadlocked("a"))


def failing(error: TradewindError) -> FastAPI:
    """A page and an address of the API at which ``error`` is raised."""
    app, pages = FastAPI(), build_page_router()
    problems.install_handlers(app)
    app.state.notice = ""
    app.state.container = SimpleNamespace(clock=SystemClock())

    @app.get("/v1/it")
    @pages.get("/it")
    def fail() -> None:
        raise error

    app.include_router(pages)
    return app


async def answers(app: FastAPI) -> tuple[httpx.Response, httpx.Response]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
        return await client.get("/admin/it"), await client.get("/v1/it")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_page_and_the_api_answer_an_error_with_the_same_status(error: TradewindError) -> None:
    page, problem = asyncio.run(answers(failing(error)))
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.status_code == problem.status_code == problem.json()["status"] == find_status(error)[0]


def test_an_error_of_a_kind_below_goes_by_the_kind_above() -> None:
    assert find_status(InvalidUnit("rtt_s", "is no number")) == (422, "Invalid value")

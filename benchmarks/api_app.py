"""The real application, and beside its routes the baselines: the same answers without the work."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis.asyncio
from fastapi import FastAPI, Response

from services.api.dependencies import AgentKey, Parts
from services.api.recommend import recommend_parameters
from services.app import app_from_environment
from tradewind.wire.recommendations import RecommendRequest

ECHO = "/v1/echo"
ECHO_REDIS = "/v1/echo-redis"


def app() -> FastAPI:
    """For uvicorn. The echoes authenticate, validate the same body, and give back what was answered to it before."""
    application = app_from_environment()
    client = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])
    kept: dict[tuple[object, ...], bytes] = {}

    async def kept_answer(asked: RecommendRequest, parts: Parts, principal: AgentKey) -> Response:
        case = (asked.destination, asked.sla.kind, asked.sla.fraction, asked.dataset.total_bytes)
        if case not in kept:
            kept[case] = bytes((await recommend_parameters(asked, parts, principal)).body)
        return Response(kept[case], media_type="application/json")

    async def kept_answer_after_redis(asked: RecommendRequest, parts: Parts, principal: AgentKey) -> Response:
        await client.get("benchmark")
        return await kept_answer(asked, parts, principal)

    application.post(ECHO)(kept_answer)
    application.post(ECHO_REDIS)(kept_answer_after_redis)
    original = application.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncIterator[None]:
        async with original(served):
            yield
        await client.aclose()

    application.router.lifespan_context = lifespan
    return application

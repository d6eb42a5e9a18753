"""The real application, with the baselines next to its routes: the same answers without the work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import redis.asyncio
from fastapi import FastAPI, HTTPException, Response
from fastapi.routing import APIRoute

from benchmarks.api.live_transfers import WARM_UP_TICKS
from services.api.dependencies import AgentKey, Body, Parts
from services.api.direct_route import DirectRoute
from services.api.routes.recommend import recommend_parameters
from services.api.routes.transfers import heartbeat
from services.api.routing import StrictRoute
from services.app import app_from_environment
from services.application.transfers.sessions import (
    ExchangeOutcome,
    ExchangeResult,
    SessionsUnreachable,
    Tick,
    TransferKey,
)
from services.application.transfers.tune import Tuner
from services.bootstrap import Container
from services.queue.sessions import RedisSessions
from tradewind.wire.compression import FullRecommendRequest
from tradewind.wire.heartbeats import Heartbeat

ECHO = "/v1/echo"
DIRECT_ECHO = "/v1/direct-echo"
ECHO_REDIS = "/v1/echo/{transfer_id}/heartbeats"
DIRECT_ECHO_REDIS = "/v1/direct-echo/{transfer_id}/heartbeats"

NOT_OVERTAKEN = 2**52
"""The sequence that an echo claims to know: both routes to it send heartbeats of one session, each with its own
numbers.
"""

REALLY_ANSWERED = WARM_UP_TICKS
"""Heartbeats of a transfer before its echo starts: state and answer are then those of a running transfer."""


def make_app() -> FastAPI:
    """Make the application for uvicorn.

    The echoes authenticate, validate the same body, and return what was answered to it before. Some are ordinary
    endpoints of the framework, with the standard client of Redis; others are reached directly and send over the
    connection that all heartbeats share, like the real ones.
    """
    application = app_from_environment()
    answers: dict[tuple[object, ...], bytes] = {}

    async def echo_stored_answer(
        recommend_request: FullRecommendRequest, parts: Parts, principal: AgentKey
    ) -> Response:
        case = (
            recommend_request.destination,
            recommend_request.sla.kind,
            recommend_request.sla.fraction,
            recommend_request.dataset.total_bytes,
        )
        if case not in answers:
            answers[case] = bytes((await recommend_parameters(recommend_request, parts, principal)).body)
        return Response(answers[case], media_type="application/json")

    _add_ordinary_route(application, ECHO, echo_stored_answer)
    application.router.add_api_route(
        DIRECT_ECHO, echo_stored_answer, methods=["POST"], route_class_override=DirectRoute
    )
    parts: Container = application.state.container
    echoed: dict[UUID, _EchoedHeartbeat] = {}
    ordinary = HeartbeatEcho(parts, _PooledSessions(parts.session_client), echoed)
    direct = HeartbeatEcho(parts, parts.sessions, echoed)
    _add_ordinary_route(application, ECHO_REDIS, ordinary.answer)
    application.router.add_api_route(
        DIRECT_ECHO_REDIS, direct.answer, methods=["POST"], route_class_override=DirectRoute
    )
    for echo in (ECHO, DIRECT_ECHO):
        _place_before(application, echo, recommend_parameters)
    for echo in (ECHO_REDIS, DIRECT_ECHO_REDIS):
        _place_before(application, echo, heartbeat)
    return application


def _add_ordinary_route(application: FastAPI, path: str, endpoint: Callable[..., object]) -> None:
    """Add a route of the class that all of v1 has: it looks the key up before the framework reads the body."""
    application.router.add_api_route(path, endpoint, methods=["POST"], route_class_override=StrictRoute)


def _place_before(application: FastAPI, path: str, endpoint: Callable[..., object]) -> None:
    """Put the route of ``path`` directly before that of ``endpoint``, so that neither is found sooner."""
    routes = application.router.routes
    echo = next(route for route in routes if isinstance(route, APIRoute) and route.path == path)
    routes.remove(echo)
    place = next(i for i, each in enumerate(routes) if isinstance(each, APIRoute) and each.endpoint is endpoint)
    routes.insert(place, echo)


@dataclass
class _EchoedHeartbeat:
    """What a transfer's last decided heartbeat sent to the store of sessions, and its answer."""

    key: TransferKey
    tick: Tick
    answer: bytes
    times: int = 1


class _PooledSessions(RedisSessions):
    """Sessions by the standard client: a connection from its pool for each heartbeat."""

    async def _run_exchange(self, keys: Sequence[str], arguments: Sequence[bytes | str | float]) -> Sequence[Any]:
        answer: Sequence[Any] = await self._exchange(keys=keys, args=arguments)
        return answer


class _RecordingSessions(RedisSessions):
    """Sessions that remember what was sent last for each transfer, until it is taken."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        super().__init__(client)
        self.sent: dict[TransferKey, Tick] = {}

    async def exchange(self, key: TransferKey, tick: Tick) -> ExchangeResult:
        self.sent[key] = tick
        return await super().exchange(key, tick)


class HeartbeatEcho:
    """Sends to the store of sessions, by the same script and in as many bytes, what was sent for a real heartbeat.

    Parameters
    ----------
    sessions : the store's client.
    echoed : what was sent for real heartbeats, for all echoes together.

    Nothing is decided: the state, decision and answer of each transfer are those of one of its first heartbeats.
    """

    def __init__(self, parts: Container, sessions: RedisSessions, echoed: "dict[UUID, _EchoedHeartbeat]") -> None:
        self._sending = sessions
        self._sessions = _RecordingSessions(parts.session_client)
        self._recorded = replace(parts, tuner=Tuner(self._sessions, parts.owners))
        self._echoed = echoed

    async def answer(self, transfer_id: UUID, beat: Heartbeat, body: Body, principal: AgentKey) -> Response:
        """Answer one heartbeat."""
        echoed = self._echoed.get(transfer_id)
        if echoed is None or echoed.times < REALLY_ANSWERED:
            return await self._decide(transfer_id, beat, principal)
        tick = echoed.tick
        sent = Tick(
            sequence=beat.sequence,
            known=NOT_OVERTAKEN,
            owner=tick.owner,
            state=tick.state,
            request=tick.request,
            heartbeat=body,
            decision=tick.decision,
            claims=tick.claims,
            used=tick.used,
            requested=tick.requested,
            weight=tick.weight,
            silent_after_s=tick.silent_after_s,
        )
        try:
            exchanged = await self._sending.exchange(echoed.key, sent)
        except (
            SessionsUnreachable
        ) as away:  # a real heartbeat is answered in any case; an echo that sent nothing is none
            raise HTTPException(503, f"nothing was sent: {away}") from away
        assert exchanged.outcome is ExchangeOutcome.STORED
        return Response(echoed.answer, media_type="application/json")

    async def _decide(self, transfer_id: UUID, beat: Heartbeat, principal: AgentKey) -> Response:
        own = UUID(int=transfer_id.int ^ 1)  # apart from the real transfer, which has a session of its own
        answer = await heartbeat(own, beat, self._recorded, principal)
        key = TransferKey(principal.tenant_id, own)
        if (tick := self._sessions.sent.pop(key, None)) is not None:  # a repeated heartbeat sends nothing
            before = self._echoed.get(transfer_id)
            times = before.times + 1 if before else 1
            self._echoed[transfer_id] = _EchoedHeartbeat(key, tick, bytes(answer.body), times)
        return answer

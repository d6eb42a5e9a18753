"""Tiers are cut by what the transfers of a link requested."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from benchmarks.api.cases import make_log_lines
from services.application.access.authenticate import Scope
from services.persistence.log_reader import LogReader
from tests.integration.live_transfers import DESTINATION, Transfer, learned
from tests.integration.models.refreshes import Refreshes
from tests.integration.transfers.test_transfers_api import complete
from tests.stack import Tenant
from tradewind.model import LinkModel
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.demand import Demand
from workers.learner import Learner

__all__ = ["learned"]

TARGET_BPS = 23e6


class NotingLearner(Learner):
    """A learner that notes what was requested."""

    requested: Demand

    def fit(self, *args: Any, requested: Demand, **settings: Any) -> LinkModel:
        self.requested = requested
        return super().fit(*args, requested=requested, **settings)


@pytest.fixture
def agent(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.AGENT) as opened:
        yield opened


def test_a_fit_knows_the_targets_of_transfers_that_ended_over_the_link(
    learned: Tenant, agent: httpx.Client, logs: LogReader
) -> None:
    sla = {"kind": "throughput_at_least", "target": TARGET_BPS, "energy_basis": "total"}
    now = learned.parts.clock.now()
    for destination, has_ended in ((DESTINATION, True), (DESTINATION, False), ("elsewhere", True)):
        moved = Transfer(agent, sla=sla, destination=destination)
        moved.beat(0)
        if has_ended:
            record = json.loads(next(make_log_lines(3, (destination,))))
            record |= {"id": str(uuid4()), "transfer_id": moved.id, "chunk": "whole"}
            record |= {"started_at": f"{now - timedelta(seconds=60):%FT%TZ}", "ended_at": f"{now:%FT%TZ}"}
            complete(agent, moved.id, {"records": [record], "heartbeats": [{"heartbeat": moved.body(1)}]})
    agent.post("/v1/logs", content=b"".join(make_log_lines(2, (DESTINATION,)))).raise_for_status()
    fixture, learner = Refreshes(learned, logs), NotingLearner()
    fixture.refresh = replace(fixture.refresh, learner=learner)
    assert fixture.run_now() is not None
    assert learner.requested == {(SlaKind.THROUGHPUT_AT_LEAST, EnergyBasis.TOTAL): [TARGET_BPS]}

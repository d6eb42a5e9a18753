"""An operator, and how people sign in by a clock that can be moved."""

from datetime import timedelta

import pytest

from services.application.access.sign_in import SignIns
from tests.integration.admin.visitors import person


class MovedClock:
    def __init__(self, clock):
        self._clock, self.ahead = clock, timedelta()

    def now(self):
        return self._clock.now() + self.ahead


@pytest.fixture
def clock(parts):
    return MovedClock(parts.clock)


@pytest.fixture
def sign_ins(parts, clock):
    registry = parts.store.registry
    return SignIns(registry.find_user, registry.find_session, parts.store.unit_of_work, clock, parts.passwords)


@pytest.fixture
def operator(parts, tenant):
    return person(parts, tenant)

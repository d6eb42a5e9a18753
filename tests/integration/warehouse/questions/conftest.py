"""A history, and the tenant that has it."""

import pytest

from services.bootstrap import Container
from tests.integration.warehouse.questions.history import History, Storage, make_up_history
from tests.stack import Tenant, new_tenant


@pytest.fixture(scope="module")
def history() -> History:
    return make_up_history(seed=20260301)


@pytest.fixture(scope="module")
def provider(api: str, parts: Container, database_url: str, history: History) -> Tenant:
    """The tenant of the history, next to another tenant with the same one."""
    for _ in range(2):
        found = new_tenant(parts, database_url)
        Storage(found, api).store(history)
    return found

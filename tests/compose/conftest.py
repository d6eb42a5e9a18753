"""What tests of the containers share: the stack that the run is about, and a tenant in it."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.compose_stack import ComposeStack
from tests.stack import admin_database_url, api, database_url, parts, redis_url, tenant

__all__ = ["admin_database_url", "api", "database_url", "parts", "redis_url", "tenant"]

FIGURES = pytest.StashKey[list[str]]()
ENQUIRY = {
    "source": "alpha",
    "destination": "omega",
    "dataset": {"file_count": 300, "total_bytes": 3e8},
    "sla": {"kind": "max_throughput"},
}


@pytest.fixture(scope="session")
def stack() -> ComposeStack:
    running = ComposeStack.running()
    assert running is not None, "these tests are run by ./run test --stack compose"
    return running


@pytest.fixture(scope="session")
def key(stack: ComposeStack) -> str:
    return stack.new_key()


@pytest.fixture
def client(stack: ComposeStack, key: str) -> Iterator[httpx.Client]:
    with new_client(stack, key) as opened:
        yield opened


def outcome(answer: httpx.Response) -> str:
    """The status; of a failure also who gave it, and why."""
    if answer.is_success:
        return str(answer.status_code)
    return f"{answer.status_code} by {answer.headers.get('Server', 'the API')}: {answer.text[:120]}"


def new_client(stack: ComposeStack, key: str) -> httpx.Client:
    return httpx.Client(base_url=stack.address, headers={"Authorization": f"Bearer {key}"}, timeout=60)


@pytest.fixture
def agents_requesting(stack: ComposeStack, key: str):
    """Ask for recommendations by several agents while the block runs; what became of them.

    Together 200 a second at most, which is below what a key may.
    """

    @contextmanager
    def ask(agents: int = 4) -> Iterator[Counter[str]]:
        outcomes: Counter[str] = Counter()
        ended = threading.Event()

        def agent() -> None:
            with new_client(stack, key) as client:
                while not ended.wait(agents / 200):
                    try:
                        outcomes[outcome(client.post("/v1/recommend", json=ENQUIRY))] += 1
                    except httpx.HTTPError as failure:
                        outcomes[repr(failure)] += 1

        threads = [threading.Thread(target=agent) for _ in range(agents)]
        for thread in threads:
            thread.start()
        try:
            yield outcomes
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    return ask


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Notes a line that is printed at the end of the run."""
    return request.config.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if figures := config.stash.get(FIGURES, []):
        terminalreporter.section("of the containers")
        for line in figures:
            terminalreporter.line(line)

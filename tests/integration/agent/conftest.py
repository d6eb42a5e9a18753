"""Somebody at a terminal, and a service that can be told to fail."""

import pytest

from tests.integration.agent.support.command import environment
from tests.integration.agent.support.faulty_service import faulty_service
from tests.integration.serve_files.serving import serving


@pytest.fixture
def env(tmp_path):
    return environment(tmp_path / "home")


@pytest.fixture
def origin(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / f"file{number}").write_bytes(bytes([number]) * 50_000)
    with serving(source) as server:
        yield server


@pytest.fixture
def service():
    with faulty_service() as running:
        yield running


@pytest.fixture
def logged_in(env, service):
    return env | {"TRADEWIND_URL": service.url, "TRADEWIND_KEY": "key"}

"""A served folder that takes uploads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.serve_files.serving import serving
from tradewind_agent.serve import Server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as server:
        yield server

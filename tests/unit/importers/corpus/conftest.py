"""Fixtures of importers' tests."""

from pathlib import Path

import pytest

from tests.unit.agent.history.watched_folder import Watched


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)

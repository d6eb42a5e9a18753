"""A testbed for each test that asks for one; where the machine does not permit it, the tests say why."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import require_permission
from benchmarks.testbed.testbed import Testbed


@pytest.fixture(autouse=True)
def _permitted() -> None:
    try:
        require_permission()
    except CannotEmulate as reason:
        pytest.skip(str(reason))


@pytest.fixture
def stand() -> Iterator[Callable[..., Testbed]]:
    """Set a testbed up for the length of the test."""
    with ExitStack() as standing:

        def stand(path: PathSpec, **options: int) -> Testbed:
            return standing.enter_context(Testbed(path, **options))

        yield stand

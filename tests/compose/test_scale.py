"""More containers than the file says."""

import pytest

from tests.conditions import eventually


@pytest.fixture
def more(stack):
    stack.compose("up", "--detach", "--wait", "--no-recreate", "--scale", "api=3", "--scale", "worker=4")
    yield
    stack.compose("up", "--detach", "--wait", "--no-recreate", "--scale", "api=2", "--scale", "worker=1")


def test_three_of_the_api_and_four_workers_are_used_and_can_be_fewer_again(stack, agents_requesting, figure, more):
    assert len(stack.containers("api")) == 3
    assert len(stack.containers("worker")) == 4
    with agents_requesting() as outcomes:
        stack.compose("up", "--detach", "--wait", "--no-recreate", "--scale", "api=1", "--scale", "worker=1")
        eventually(lambda: len(stack.containers("api")) == 1)
    figure(f"api from 3 containers to 1 under load: {dict(outcomes)}")
    assert outcomes.keys() == {"200"}

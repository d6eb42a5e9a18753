import json

import pytest

from tests.unit.tuning.simulated_path import SimulatedPath, run
from tests.unit.tuning.transfers import BIG, P, mixed, searching, warm
from tradewind.errors import InvalidValue
from tradewind.tuning import TuningState, begin


@pytest.fixture(params=["warm", "searching", "mixed with tables", "mixed without"])
def transfer(request):
    """Transfers in the middle of something: some ticks done, and then the path has changed."""
    transfer = {
        "warm": lambda: warm(BIG),
        "searching": lambda: searching(BIG, 4),
        "mixed with tables": lambda: mixed(tabled=True),
        "mixed without": lambda: mixed(tabled=False),
    }[request.param]()
    run(P, [transfer], 6)
    run(SimulatedPath(bandwidth_bps=3e7), [transfer], 3)
    return transfer


def test_a_state_comes_back_from_json_as_it_was(transfer):
    for state in (transfer.state, begin(transfer.basis)):
        assert TuningState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_a_state_is_small(transfer):
    assert len(json.dumps(transfer.state.to_dict())) < 4096


def test_a_state_of_another_version_is_refused():
    stored = warm(BIG).state.to_dict()
    with pytest.raises(InvalidValue, match=r"state\.version"):
        TuningState.from_dict({**stored, "version": 0})


@pytest.mark.parametrize("field", ["decision", "belief", "bank", "search", "sequence"])
def test_a_damaged_state_is_refused(field):
    stored = warm(BIG).state.to_dict()
    del stored[field]
    with pytest.raises(InvalidValue, match="state: is damaged"):
        TuningState.from_dict(stored)


def test_a_state_with_another_shape_is_refused():
    stored = warm(BIG).state.to_dict()
    with pytest.raises(InvalidValue, match="state: is damaged"):
        TuningState.from_dict({**stored, "bank": [1, 2, 3, 4]})

"""Which kept rows claims are judged by, and which are made again."""

import pytest

from benchmarks.facts.loss_trials import LONGEST_S, held_up


@pytest.mark.parametrize(("lasted_s", "disturbed"), [(0.006, False), (LONGEST_S, False), (2 * LONGEST_S, True)])
def test_a_loss_that_was_held_up_between_acknowledgements_is_made_again(lasted_s, disturbed):
    assert (held_up(lasted_s) is not None) is disturbed

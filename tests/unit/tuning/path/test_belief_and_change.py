import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.dataset import ChunkKind
from tradewind.tuning.path.belief import FIRST_NOISE, Gain, build_prior_belief
from tradewind.tuning.path.change import REPEATEDLY, ChangeDetector


@given(st.floats(-3, 3), st.floats(0.05, 2), st.floats(-3, 3), st.floats(0.01, 1))
def test_a_posterior_lies_between_prior_and_measurement_and_is_surer(mean, sd, value, noise_sd):
    gain = Gain(mean, sd**2).update(value, noise_sd**2)
    assert min(mean, value) - 1e-9 <= gain.mean <= max(mean, value) + 1e-9
    assert gain.variance < noise_sd**2


def test_a_gain_is_learned_through_noise():
    rng = random.Random(1)
    belief = build_prior_belief(0.5)
    for _ in range(20):
        belief = belief.update(math.log(0.6) + rng.gauss(0, 0.05), {}, 0.0)
    assert math.exp(belief.path.mean) == pytest.approx(0.6, rel=0.05)


def test_a_tick_with_slow_start_in_it_counts_for_less():
    poor = build_prior_belief(0.3).update(-1.0, {}, extra_variance=0.5)
    good = build_prior_belief(0.3).update(-1.0, {}, extra_variance=0.0)
    assert good.path.mean < poor.path.mean < 0


def test_chunks_differ_from_the_path_they_share():
    belief = build_prior_belief(0.5)
    for _ in range(15):
        belief = belief.update(-0.5, {ChunkKind.SMALL: -0.9, ChunkKind.LARGE: -0.3}, 0.0)
    assert math.exp(belief.path.mean + belief.chunks[ChunkKind.SMALL].mean) == pytest.approx(math.exp(-0.9), rel=0.1)
    assert math.exp(belief.path.mean + belief.chunks[ChunkKind.LARGE].mean) == pytest.approx(math.exp(-0.3), rel=0.1)


def test_noise_is_learned_and_a_jump_does_not_pass_for_it():
    rng = random.Random(2)
    belief = build_prior_belief(0.1)
    for _ in range(60):
        belief = belief.update(rng.gauss(0, 0.04), {}, 0.0)
    assert 0.03 <= math.sqrt(belief.noise) < 0.06
    assert math.sqrt(belief.update(-2.0, {}, 0.0).noise) < FIRST_NOISE


def test_after_a_change_the_next_tick_is_believed():
    belief = build_prior_belief(0.1)
    for _ in range(20):
        belief = belief.update(0.0, {}, 0.0)
    assert belief.update(-1.0, {}, 0.0).path.mean > -0.6
    assert belief.reopen(0.5).update(-1.0, {}, 0.0).path.mean < -0.9


def fed(values, detector=None):
    detector = detector or ChangeDetector()
    for value in values:
        detector = detector.update(value)
    return detector


@pytest.mark.parametrize("direction", [1, -1])
def test_a_shift_of_two_sd_is_found_within_four_ticks_and_a_large_one_at_once(direction):
    assert fed([2.0 * direction] * 3).direction == 0
    assert fed([2.0 * direction] * 4).direction == direction
    assert fed([9.0 * direction]).direction == direction


def test_noise_alone_seldom_passes_for_a_change():
    rng = random.Random(3)
    alarms, detector = 0, ChangeDetector()
    for _ in range(2000):
        detector = detector.update(rng.gauss(0, 1))
        if detector.direction:
            alarms, detector = alarms + 1, ChangeDetector()
    assert alarms <= 10  # one in 460 ticks


def test_changes_that_follow_one_another_soon_distrust_the_table():
    once = fed([9.0]).restart()
    assert not once.distrusts_table
    assert fed([9.0], once).restart().distrusts_table
    assert not fed([0.0] * 10 + [9.0], once).restart().distrusts_table
    assert REPEATEDLY == 2

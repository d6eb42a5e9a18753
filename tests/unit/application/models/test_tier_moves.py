"""A tier is to be reviewed while its bounds differ from those that its provider has seen."""

from itertools import pairwise
from uuid import uuid4

from services.application.models.learned_model import ReviewedBounds, Tier


def follow(tier: Tier, uppers: list[float]) -> list[Tier]:
    """The tier after each of its moves; the lower bound stays."""
    tiers = [tier]
    for before, now in pairwise(ReviewedBounds(40e6, upper) for upper in uppers):
        tiers.append(tiers[-1].move(before, now))
    return tiers[1:]


def test_small_moves_add_up_until_the_tier_is_to_be_reviewed() -> None:
    tiers = follow(Tier(uuid4()), [80e6, 81e6, 82e6, 83e6])
    assert [tier.needs_review for tier in tiers] == [False, True, True]
    assert {tier.reviewed for tier in tiers} == {ReviewedBounds(40e6, 80e6)}


def test_a_tier_that_moves_back_need_not_be_reviewed() -> None:
    assert [tier.needs_review for tier in follow(Tier(uuid4()), [80e6, 90e6, 80.5e6])] == [True, False]


def test_a_part_that_nobody_has_seen_stays_to_be_reviewed() -> None:
    part = Tier(uuid4(), needs_review=True, split_from=uuid4())
    (moved,) = follow(part, [80e6, 80e6])
    assert moved == Tier(part.id, needs_review=True)

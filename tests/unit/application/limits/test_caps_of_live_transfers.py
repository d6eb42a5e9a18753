"""What a newcomer may expect of caps that others hold already."""

import pytest

from services.application.limits.caps import Limit, Limits, LimitScope
from services.application.limits.live_shares import ScopeUsage

TENANT = Limit(scope=LimitScope.TENANT, concurrency=16)
LINK = Limit(scope=LimitScope.LINK, source="a", destination="b", concurrency=8, streams=32)
LIMITS = Limits([TENANT, LINK])
OF_TENANT, OF_LINK = (limit.claim().scope for limit in (TENANT, LINK))


@pytest.mark.parametrize(
    ("held", "weight", "expected"),
    [
        ({}, 1.0, (8, 32, 0)),
        ({OF_LINK: ScopeUsage(1, 1.0, 2, 4)}, 1.0, (6, 28, 1)),  # what is free
        ({OF_LINK: ScopeUsage(1, 1.0, 8, 32)}, 1.0, (4, 16, 1)),  # its part, once the other has shrunk
        ({OF_LINK: ScopeUsage(1, 1.0, 8, 32)}, 3.0, (6, 24, 1)),
        ({OF_LINK: ScopeUsage(100, 100.0, 8, 32)}, 1.0, (1, 1, 100)),
        ({OF_TENANT: ScopeUsage(3, 3.0, 16, 64)}, 1.0, (4, 32, 3)),
        ({OF_TENANT: ScopeUsage(3, 3.0, 13, 64), OF_LINK: ScopeUsage(1, 1.0, 1, 1)}, 1.0, (4, 31, 3)),
    ],
)
def test_newcomer_may_use_the_free_or_a_fair_part(
    held: dict[str, ScopeUsage], weight: float, expected: tuple[int, int, int]
) -> None:
    caps, shared_with = LIMITS.compute_permitted("a", "b", held=held, weight=weight)
    assert (caps.concurrency, caps.streams, shared_with) == expected


def test_other_paths_fall_under_their_own_limits_only() -> None:
    caps, shared_with = LIMITS.compute_permitted("b", "a", held={OF_LINK: ScopeUsage(1, 1.0, 8, 32)})
    assert (caps.concurrency, caps.streams, shared_with) == (16, None, 0)


def test_no_two_links_share_a_cap_by_names_that_run_together():
    first = Limit(scope=LimitScope.LINK, source="dtn:2811", destination="store", concurrency=8)
    other = Limit(scope=LimitScope.LINK, source="dtn", destination="2811:store", concurrency=8)
    assert first.claim().scope != other.claim().scope

"""Sizes of connections in the web transport paper (004, figure 3) against those that our pages are drawn from."""

from collections.abc import Iterator

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims.connections import PAGES
from benchmarks.papers.finding import Comparison, Finding, compare_computed, make_finding_elsewhere
from benchmarks.transport.pages import draw_typical_sizes

SEED, DRAWN = 13, 20_000
POINTS = 1.0


def check_sizes(claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere(f"{PAGES}; ours are drawn so that they have its two shares", _list_shares(claim))


def _list_shares(claim: Claim) -> Iterator[Comparison]:
    """Compare the shares that it prints below its two limits with those of many sizes, drawn as those of our pages."""
    drawn = draw_typical_sizes(SEED, DRAWN)
    for name, limit_bytes in claim.values.items():
        share_pct = float(name.removeprefix("p").removesuffix("_B"))
        below_pct = 100 * sum(size < limit_bytes for size in drawn) / DRAWN
        yield compare_computed(
            f"sizes of ours below {limit_bytes / 1e3:g} kB, %", share_pct, below_pct, absolute=POINTS
        )


CHECKS = {"004-fig3": check_sizes}

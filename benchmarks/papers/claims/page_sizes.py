"""Sizes of connections in the web transport paper (004, figure 3) beside those that our pages are drawn from."""

from collections.abc import Iterator

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.claims.connections import PAGES
from benchmarks.papers.finding import Comparison, Finding, computed, elsewhere
from benchmarks.transport.pages import draw_typical_sizes

SEED, DRAWN = 13, 20_000
POINTS = 1.0


def sizes(fact: Fact, _facts: Facts) -> Finding:
    return elsewhere(f"{PAGES}; ours are drawn so that they have its two shares", _shares(fact))


def _shares(fact: Fact) -> Iterator[Comparison]:
    """Of many sizes drawn as our pages' are, how many lie below each of its two."""
    drawn = draw_typical_sizes(SEED, DRAWN)
    for name, limit_bytes in fact.values.items():
        share_pct = float(name.removeprefix("p").removesuffix("_B"))
        below_pct = 100 * sum(size < limit_bytes for size in drawn) / DRAWN
        yield computed(f"sizes of ours below {limit_bytes / 1e3:g} kB, %", share_pct, below_pct, absolute=POINTS)


CHECKS = {"004-fig3": sizes}

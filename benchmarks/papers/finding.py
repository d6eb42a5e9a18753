"""The finding about a claim: comparisons, what prevents more of them, and the verdict that follows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from benchmarks.papers.printed import Range, build_exact_range, find_printed_range


class ClaimVerdict(StrEnum):
    """In the order in which one outweighs the next."""

    CONTRADICTED = "contradicted by arithmetic"
    DIFFERS = "differs"
    """Our code or testbed gives something else, and arithmetic does not say who is right."""
    NOT_SHOWN = "not shown"
    """What was measured leaves open whether the claim holds here: more measurements may tell."""
    NOT_MEASURED = "not measured yet"
    NOT_HERE = "not reproducible here"
    IN_OUR_FORM = "agrees in our form"
    """What our testbed can run gives the same; what the paper had is not here."""
    REPRODUCED = "reproduced"


class Source(StrEnum):
    """The source of our number."""

    ARITHMETIC = "arithmetic"
    """The paper's own other numbers: a difference is an error of the paper."""
    CODE = "code"
    TESTBED = "testbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One number, or one property (1 for yes, 0 for no), of the paper and of ours.

    ``paper`` : its number; ``None`` where it has none, and ours is compared with what was ``made`` for it to be found.
    ``ours`` : ``None`` where the measurement leaves it open, so that it neither agrees nor fails. ``allowed`` : how far
    they may be apart, in words. ``agrees`` : whether they are within that.
    """

    what: str
    paper: float | None
    ours: float | None
    allowed: str
    agrees: bool
    source: Source
    made: float | None = None

    @property
    def fails(self) -> bool:
        return self.is_shown and not self.agrees

    @property
    def is_shown(self) -> bool:
        return self.ours is not None

    @property
    def deviation(self) -> float | None:
        """Ours relative to the other; ``None`` where there is none, or that is 0."""
        other = self.made if self.paper is None else self.paper
        return self.ours / other - 1 if other and self.ours is not None else None


def compare_printed(what: str, claimed: Range | float, ours: Range | float) -> Comparison:
    """Compare a printed number with what the paper's own numbers give, each as far as it is printed."""
    paper, own = claimed if isinstance(claimed, Range) else find_printed_range(claimed), build_exact_range(ours)
    return Comparison(
        what=what,
        paper=paper.value,
        ours=own.value,
        allowed="rounding of what is printed",
        agrees=paper.overlaps(own),
        source=Source.ARITHMETIC,
    )


def compare_computed(
    what: str, paper: float, ours: float, *, relative: float = 0.0, absolute: float = 0.0, source: Source = Source.CODE
) -> Comparison:
    """Compare a number of the paper with that of our code, within a share of it or an amount."""
    near = math.fabs(ours - paper) <= max(relative * math.fabs(paper), absolute)
    allowed = f"{relative:.2g} of it" if relative else f"{absolute:.2g}" if absolute else "none"
    return Comparison(what=what, paper=paper, ours=ours, allowed=allowed, agrees=near, source=source)


def compare_recovered(what: str, made: float, ours: float, *, relative: float = 0.0) -> Comparison:
    """Compare what our code finds in made data with what they were made from; the paper has no number of it."""
    found = compare_computed(f"{what}, made as {made:.5g}", made, ours, relative=relative)
    return replace(found, paper=None, made=made)


def compare_cases(what: str, cases: int, held: int) -> Comparison:
    """Compare something that the paper claims for all cases with the share of our cases in which it holds."""
    return compare_computed(f"{what}, of {cases}", 1.0, held / cases)


def compare_range(what: str, low: float, high: float, ours: float, *, more: float) -> Comparison:
    """Compare a number of the testbed with the nearer of the two ends that the paper gives, within them or ``more``
    away.
    """
    nearer = min((low, high), key=lambda end: abs(ours - end))
    allowed, agrees = f"{low - more:.3g} to {high + more:.3g}", low - more <= ours <= high + more
    return Comparison(what=what, paper=nearer, ours=ours, allowed=allowed, agrees=agrees, source=Source.TESTBED)


def compare_upper_bound(what: str, paper: float, ours: float) -> Comparison:
    """Compare a number of the testbed with one that the paper states as its upper bound."""
    return Comparison(what=what, paper=paper, ours=ours, allowed="no more", agrees=ours <= paper, source=Source.TESTBED)


def compare_property(what: str, holds: bool, *, claimed: bool = True, source: Source = Source.CODE) -> Comparison:
    """Compare something that the paper says (or implies) to hold with whether it does."""
    return Comparison(
        what=what, paper=float(claimed), ours=float(holds), allowed="none", agrees=claimed == holds, source=source
    )


def compare_gain(what: str, low: float, high: float) -> Comparison:
    """Compare something that the paper says to be above 0 with an interval of the testbed.

    It holds where the entire interval is above 0, and fails where it is below; between these it is not shown.
    """
    return leave_open(what, 1.0) if low <= 0 <= high else compare_property(what, low > 0, source=Source.TESTBED)


def leave_open(what: str, paper: float, *, allowed: str = "none") -> Comparison:
    """Return a comparison that the measurement leaves open."""
    return Comparison(what=what, paper=paper, ours=None, allowed=allowed, agrees=False, source=Source.TESTBED)


def compare_excess(what: str, share: float, *, spread: float) -> Comparison:
    """Compare something that the paper says to be more than something else with the share by which it is more here.

    ``spread`` : difference between two measurements of the same; a smaller difference is not shown.
    """
    return compare_gain(what, share - spread, share + spread)


def compare_measured(
    what: str, paper: float, ours: float, *, relative: float = 0.0, absolute: float = 0.0
) -> Comparison:
    """Compare a number of the paper with one of the testbed."""
    return compare_computed(what, paper, ours, relative=relative, absolute=absolute, source=Source.TESTBED)


@dataclass(frozen=True, slots=True)
class Finding:
    """The comparisons of a claim.

    ``needs`` : what a fuller answer needs that is not here. ``machine`` : the machine of the testbed. ``unmeasured`` :
    the testbed could run a form of the claim, and has not. ``is_current`` : whether the sources of what was measured
    are today's.
    """

    comparisons: tuple[Comparison, ...] = ()
    needs: str = ""
    unmeasured: bool = False
    machine: str = ""
    is_current: bool = True

    @property
    def verdict(self) -> ClaimVerdict:
        wrong = {each.source for each in self.comparisons if each.fails}
        if Source.ARITHMETIC in wrong:
            return ClaimVerdict.CONTRADICTED
        if wrong:
            return ClaimVerdict.DIFFERS
        if not all(each.is_shown for each in self.comparisons):
            return ClaimVerdict.NOT_SHOWN
        if self.unmeasured:
            return ClaimVerdict.NOT_MEASURED
        if self.needs or not self.comparisons:
            return ClaimVerdict.IN_OUR_FORM if self.is_measured else ClaimVerdict.NOT_HERE
        return ClaimVerdict.REPRODUCED

    @property
    def verdicts(self) -> tuple[ClaimVerdict, ...]:
        """The verdict; a claim that arithmetic contradicts may differ from our code or testbed as well."""
        differs = any(each.fails and each.source is not Source.ARITHMETIC for each in self.comparisons)
        also = (ClaimVerdict.DIFFERS,) if differs and self.verdict is ClaimVerdict.CONTRADICTED else ()
        return (self.verdict, *also)

    def add_measured(self, comparisons: Iterable[Comparison], *, machine: str, substitute: str = "") -> "Finding":
        """Add the comparisons of a run on the testbed in our form; what the paper had is still not here.

        ``substitute`` : what replaced it.
        """
        needs = "; ".join(each for each in (self.needs, substitute) if each)
        return replace(self, comparisons=(*self.comparisons, *comparisons), needs=needs, machine=machine)

    @property
    def is_measured(self) -> bool:
        return any(each.source is Source.TESTBED for each in self.comparisons)

    @property
    def decisive_comparison(self) -> Comparison | None:
        """The comparison that decides the verdict: the first that fails or is open, else the first."""
        graver = [Source.ARITHMETIC, Source.CODE, Source.TESTBED]
        failed = sorted((each for each in self.comparisons if each.fails), key=lambda each: graver.index(each.source))
        open_ = [each for each in self.comparisons if not each.is_shown]
        return next(iter([*failed, *open_, *self.comparisons]), None)


def make_finding(*comparisons: Comparison) -> Finding:
    return Finding(comparisons)


def make_finding_elsewhere(needs: str, comparisons: Iterable[Comparison] = ()) -> Finding:
    """Return the finding of a claim about hardware or hosts that are not here, with what arithmetic says of it."""
    return Finding(tuple(comparisons), needs=needs)

"""What came of a claim: comparisons, what stands in the way of more of them, and the verdict that follows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from benchmarks.papers.printed import Range, exact, printed


class Verdict(StrEnum):
    """In the order in which one outweighs the next."""

    CONTRADICTED = "contradicted by arithmetic"
    DIFFERS = "differs"
    """Our code or testbed gives something else, and arithmetic does not say who is right."""
    NOT_SHOWN = "not shown"
    """What was measured leaves open whether it is so here: more of the same may tell."""
    NOT_MEASURED = "not measured yet"
    NOT_HERE = "not reproducible here"
    IN_OUR_FORM = "agrees in our form"
    """What our testbed can run of it gives the same; what the paper had is not here."""
    REPRODUCED = "reproduced"


class By(StrEnum):
    """Where our number comes from."""

    ARITHMETIC = "arithmetic"
    """The paper's own other numbers: a difference is an error of the paper."""
    CODE = "code"
    TESTBED = "testbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One number, or one property (1 for yes, 0 for no), of the paper beside ours.

    ``paper`` : its number; ``None`` where it has none, and ours stands beside what was ``made`` for it to be found.
    ``ours`` : ``None`` where what was measured does not tell, so that it neither agrees nor fails.
    ``allowed`` : how far they may be apart, in words. ``agrees`` : whether they are within that.
    """

    what: str
    paper: float | None
    ours: float | None
    allowed: str
    agrees: bool
    by: By
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


def recomputed(what: str, claim: Range | float, ours: Range | float) -> Comparison:
    """A printed number beside what the paper's own numbers give, each as far as it is printed."""
    paper, own = claim if isinstance(claim, Range) else printed(claim), exact(ours)
    return Comparison(
        what=what,
        paper=paper.value,
        ours=own.value,
        allowed="rounding of what is printed",
        agrees=paper.meets(own),
        by=By.ARITHMETIC,
    )


def computed(
    what: str, paper: float, ours: float, *, relative: float = 0.0, absolute: float = 0.0, by: By = By.CODE
) -> Comparison:
    """A number of the paper beside that of our code, within a share of it or an amount."""
    near = math.fabs(ours - paper) <= max(relative * math.fabs(paper), absolute)
    allowed = f"{relative:.2g} of it" if relative else f"{absolute:.2g}" if absolute else "none"
    return Comparison(what=what, paper=paper, ours=ours, allowed=allowed, agrees=near, by=by)


def recovered(what: str, made: float, ours: float, *, relative: float = 0.0) -> Comparison:
    """A number of which the paper has none: what data were made with, beside what our code finds in them."""
    found = computed(f"{what}, made as {made:.5g}", made, ours, relative=relative)
    return replace(found, paper=None, made=made)


def holds_for_all(what: str, cases: int, held: int) -> Comparison:
    """Something that the paper says to hold, in so many cases of ours: the share of them in which it does."""
    return computed(f"{what}, of {cases}", 1.0, held / cases)


def between(what: str, low: float, high: float, ours: float, *, more: float) -> Comparison:
    """A number of the testbed beside the nearer of two ends that the paper gives, within them or ``more`` away."""
    nearer = min((low, high), key=lambda end: abs(ours - end))
    allowed, agrees = f"{low - more:.3g} to {high + more:.3g}", low - more <= ours <= high + more
    return Comparison(what=what, paper=nearer, ours=ours, allowed=allowed, agrees=agrees, by=By.TESTBED)


def no_more(what: str, paper: float, ours: float) -> Comparison:
    """A number of the testbed that the paper says to be its own at most."""
    return Comparison(what=what, paper=paper, ours=ours, allowed="no more", agrees=ours <= paper, by=By.TESTBED)


def property_of(what: str, holds: bool, *, claimed: bool = True, by: By = By.CODE) -> Comparison:
    """Something that the paper says (or implies) to hold, beside whether it does."""
    return Comparison(
        what=what, paper=float(claimed), ours=float(holds), allowed="none", agrees=claimed == holds, by=by
    )


def gained(what: str, low: float, high: float) -> Comparison:
    """Something that the paper says to be above 0, beside the ends of an interval of the testbed.

    It holds where all of that is above 0, and does not where all is below; between these it is not shown.
    """
    return not_shown(what, 1.0) if low <= 0 <= high else property_of(what, low > 0, by=By.TESTBED)


def not_shown(what: str, paper: float, *, allowed: str = "none") -> Comparison:
    """Something of the paper of which what was measured does not tell whether it is so."""
    return Comparison(what=what, paper=paper, ours=None, allowed=allowed, agrees=False, by=By.TESTBED)


def beyond(what: str, share: float, *, spread: float) -> Comparison:
    """Something that the paper says to be more than something else, beside by what share more it is on the testbed.

    ``spread`` : by which two measurements of the same differ: what is not as far apart is not shown.
    """
    return gained(what, share - spread, share + spread)


def measured(what: str, paper: float, ours: float, *, relative: float = 0.0, absolute: float = 0.0) -> Comparison:
    """A number of the paper beside one of the testbed."""
    return computed(what, paper, ours, relative=relative, absolute=absolute, by=By.TESTBED)


@dataclass(frozen=True, slots=True)
class Finding:
    """``needs`` : what a fuller answer would take that is not here.

    ``machine`` : that the testbed ran on.
    ``unmeasured`` : there is a form of the claim that the testbed can run, and it has not.
    """

    comparisons: tuple[Comparison, ...] = ()
    needs: str = ""
    unmeasured: bool = False
    machine: str = ""

    @property
    def verdict(self) -> Verdict:
        wrong = {each.by for each in self.comparisons if each.fails}
        if By.ARITHMETIC in wrong:
            return Verdict.CONTRADICTED
        if wrong:
            return Verdict.DIFFERS
        if not all(each.is_shown for each in self.comparisons):
            return Verdict.NOT_SHOWN
        if self.unmeasured:
            return Verdict.NOT_MEASURED
        if self.needs or not self.comparisons:
            return Verdict.IN_OUR_FORM if self.is_measured else Verdict.NOT_HERE
        return Verdict.REPRODUCED

    def with_measured(self, comparisons: Iterable[Comparison], *, machine: str, stands_for: str = "") -> "Finding":
        """After a testbed has run it in a form of ours: what the paper had is still not here.

        ``stands_for`` : what stood for it.
        """
        needs = "; ".join(each for each in (self.needs, stands_for) if each)
        return replace(self, comparisons=(*self.comparisons, *comparisons), needs=needs, machine=machine)

    @property
    def is_measured(self) -> bool:
        return any(each.by is By.TESTBED for each in self.comparisons)

    @property
    def told(self) -> Comparison | None:
        """The comparison that speaks for the verdict: the first that fails or does not tell, else the first."""
        graver = [By.ARITHMETIC, By.CODE, By.TESTBED]
        failed = sorted((each for each in self.comparisons if each.fails), key=lambda each: graver.index(each.by))
        open_ = [each for each in self.comparisons if not each.is_shown]
        return next(iter([*failed, *open_, *self.comparisons]), None)


def compared(*comparisons: Comparison) -> Finding:
    return Finding(comparisons)


def elsewhere(needs: str, comparisons: Iterable[Comparison] = ()) -> Finding:
    """A claim of hardware or hosts that are not here, beside what arithmetic says of it."""
    return Finding(tuple(comparisons), needs=needs)

"""Has the path changed? Two one-sided cumulative sums of standardised innovations (Page 1954).

up ← max(0, up + z − k), down ← max(0, down − z − k); a change where either exceeds h. With k = 0.5 and h = 5 a false
alarm comes once in about 460 ticks of Gaussian noise, and a shift of 2 sd is found within 4 ticks.
"""

from dataclasses import dataclass
from typing import Self

SLACK = 0.5
THRESHOLD = 5.0

SOON_TICKS = 6
"""A change found again within so many ticks means that the table does not describe the path."""

REPEATEDLY = 2
"""After so many changes in close succession the table is no longer trusted (algorithms §6: |z| > 3 repeatedly)."""

_HIGHEST_Z = 6.0
"""One tick may reveal a large change, but its size counts only up to here."""


@dataclass(frozen=True, slots=True)
class ChangeDetector:
    """Sums of innovations; ``repeats`` counts changes soon after one another, ``ticks`` those since the last."""

    up: float = 0.0
    down: float = 0.0
    ticks: int = 0
    repeats: int = 0

    def update(self, z: float) -> Self:
        """Return the sums after one more standardised innovation."""
        bounded = max(-_HIGHEST_Z, min(z, _HIGHEST_Z))
        return type(self)(
            up=max(0.0, self.up + bounded - SLACK),
            down=max(0.0, self.down - bounded - SLACK),
            ticks=self.ticks + 1,
            repeats=self.repeats,
        )

    @property
    def direction(self) -> int:
        """Return +1 where the path has become faster, −1 where slower, 0 where nothing has changed."""
        if max(self.up, self.down) <= THRESHOLD:
            return 0
        return 1 if self.up > self.down else -1

    @property
    def distrusts_table(self) -> bool:
        return self.repeats >= REPEATEDLY

    def restart(self) -> Self:
        """Return the detector after a reported change: the sums start at 0."""
        soon = self.repeats > 0 and self.ticks <= SOON_TICKS
        return type(self)(repeats=self.repeats + 1 if soon else 1)

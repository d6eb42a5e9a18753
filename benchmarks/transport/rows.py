"""Rows of the benchmark: found again where they were measured before, made again where others disturbed them."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.support.disturbance import watched
from benchmarks.support.report import Value, here
from benchmarks.support.sources import Sources
from benchmarks.testbed.soundness import PAUSES_S, made_again
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import RunLog

Row = dict[str, Value]

_AGENT = "clients/python/tradewind_agent"
_HERE = (
    *("arena", "browser", "cases", "client", "engine", "installed", "measuring", "origin", "pages", "proxy", "rows"),
    *("turns", "wire"),
)
_PART = "transport"
PARTS = {
    _PART: (
        *(f"benchmarks/transport/{name}.py" for name in _HERE),
        "benchmarks/support/disturbance.py",
        "benchmarks/support/processes.py",
        "benchmarks/testbed",
        "clients/bpf",
        f"{_AGENT}/engine",
        *(f"{_AGENT}/copy/{name}.py" for name in ("run", "plan", "moving")),
        f"{_AGENT}/serve",
        f"{_AGENT}/transport",
        "core/tradewind/connections",
    )
}
"""What a row depends on, beside its case, this machine and its kernel."""

DISTURBED = "disturbed"
"""Of a row: what was wrong with the machine meanwhile; ``None`` where it was good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What was measured so far on a machine.

    ``sources`` : as the benchmark began with them, before it installed anything. ``ahead`` : whether runs go ahead of
    whatever else the machine does. ``pauses_s`` : before a row is made again.
    """

    log: RunLog
    sources: Sources
    machine: str = field(default_factory=here)
    ahead: bool
    pauses_s: Sequence[float] = PAUSES_S
    sleep: Callable[[float], None] = time.sleep

    def has(self, *facts: object) -> bool:
        return self.log.find(self._key(facts)) is not None

    def made(self, *facts: object, by: Callable[[], Row]) -> Row:
        """The row of these facts, the name of its case first; one that stays disturbed says so, and is not kept.

        Raises
        ------
        SourcesChanged : while it was made; it is not kept either.
        """
        key = self._key(facts)
        if (found := self.log.find(key)) is not None:
            return told({name: value for name, value in found.items() if name != "key"})
        row, wrong = made_again(str(facts[0]), by, _disturbance, pauses_s=self.pauses_s, sleep=self.sleep)
        self.sources.require_unchanged(_PART)
        if wrong is None:
            self.log.add(key, row)
        return told(row)

    def judged(self, bed: Testbed, measure: Callable[[], Row]) -> Row:
        """A row, with what was wrong with the machine while it was measured on a testbed."""
        with watched(bed, ahead=self.ahead) as seen:
            row = measure()
        return row | {DISTURBED: seen.wrong}

    def _key(self, facts: Sequence[object]) -> str:
        return "; ".join([*map(str, facts), self.machine, self.sources.digests[_PART]])


def _disturbance(row: Row) -> str | None:
    return None if row[DISTURBED] is None else str(row[DISTURBED])


def told(row: Row) -> Row:
    """The same, after a line on standard error."""
    figures = ", ".join(f"{name} {value:.3g}" for name, value in row.items() if isinstance(value, int | float))
    wrong = f"; left out: {row[DISTURBED]}" if row.get(DISTURBED) else ""
    sys.stderr.write(f"  {row['case']}: {figures}{wrong}\n")
    return row

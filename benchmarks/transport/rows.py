"""Rows of the benchmark: found again if they were measured before, measured again if they were disturbed."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.support.disturbance import watch_disturbance
from benchmarks.support.report import Value, name_machine
from benchmarks.support.sources import Sources
from benchmarks.testbed.soundness import PAUSES_S, repeat_while_disturbed
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import RunLog

Row = dict[str, Value]

_AGENT = "clients/python/tradewind_agent"
_HERE = (
    *("arena", "browser", "cases", "client", "engine", "installed", "measuring", "origin", "pages", "proxy", "rows"),
    *("alternation", "wire"),
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
"""What a row depends on, in addition to its case, this machine and its kernel."""

DISTURBED = "disturbed"
"""Key of a row: what disturbed the machine meanwhile; ``None`` where it was good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that were measured so far on a machine.

    ``sources`` : those with which the benchmark started, before it installed anything. ``prioritised`` : whether runs
    have precedence over all other programs. ``pauses_s`` : pauses before a row is measured again.
    """

    log: RunLog
    sources: Sources
    machine: str = field(default_factory=name_machine)
    prioritised: bool
    pauses_s: Sequence[float] = PAUSES_S
    sleep: Callable[[float], None] = time.sleep

    def has_row(self, *key_parts: object) -> bool:
        return self.log.find(self._build_key(key_parts)) is not None

    def find_or_measure(self, *key_parts: object, measure: Callable[[], Row]) -> Row:
        """Return the row with this key, the name of its case first; measure it if there is none.

        A row that stays disturbed says so, and is not stored.

        Raises
        ------
        SourcesChanged : while it was measured; the row is not stored either.
        """
        key = self._build_key(key_parts)
        if (found := self.log.find(key)) is not None:
            return log_row({name: value for name, value in found.items() if name != "key"})
        row, disturbance = repeat_while_disturbed(
            str(key_parts[0]), measure, _find_disturbance, pauses_s=self.pauses_s, sleep=self.sleep
        )
        self.sources.require_unchanged(_PART)
        if disturbance is None:
            self.log.add(key, row)
        return log_row(row)

    def measure_on(self, bed: Testbed, measure: Callable[[], Row]) -> Row:
        """Measure a row on a testbed; add what disturbed the machine meanwhile."""
        with watch_disturbance(bed, prioritised=self.prioritised) as watch:
            row = measure()
        return row | {DISTURBED: watch.disturbance}

    def _build_key(self, key_parts: Sequence[object]) -> str:
        return "; ".join([*map(str, key_parts), self.machine, self.sources.digests[_PART]])


def _find_disturbance(row: Row) -> str | None:
    return None if row[DISTURBED] is None else str(row[DISTURBED])


def log_row(row: Row) -> Row:
    """Log a row on standard error, and return it."""
    figures = ", ".join(f"{name} {value:.3g}" for name, value in row.items() if isinstance(value, int | float))
    disturbance = f"; left out: {row[DISTURBED]}" if row.get(DISTURBED) else ""
    sys.stderr.write(f"  {row['case']}: {figures}{disturbance}\n")
    return row

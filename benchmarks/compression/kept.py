"""What was measured before, found again: a row each look at a file, packing and transfer, if nothing changed."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.compression.ends import processors_of_ends, running_on
from benchmarks.support.sources import Sources
from benchmarks.wan.runs import Row, RunLog, digest_sources
from tradewind_agent.compression.sampling import read_cpu_class

_CORE, _AGENT = "core/tradewind/compression", "clients/python/tradewind_agent"
_HERE = ("bounds", "ends", "files", "kept", "packing", "slow_path", "transfers", "ways")
_PARTS: Mapping[str, Sequence[str]] = {
    "packing": (
        _CORE,
        f"{_AGENT}/compression",
        *(f"benchmarks/compression/{name}.py" for name in ("ends", "files", "packing")),
    ),
    "transfers": (
        _CORE,
        f"{_AGENT}/compression",
        f"{_AGENT}/serve",
        *(f"benchmarks/compression/{n}.py" for n in _HERE),
    ),
}
"""What a figure depends on, beside the engine and its tuning (`benchmarks.wan.runs`) for what is transferred."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows by what they are of, on this machine and of these sources."""

    log: RunLog
    sources: Sources
    packing: str
    transfers: str

    @classmethod
    def of(cls, log: RunLog, **conditions: object) -> "Kept":
        """``conditions`` : of the whole run, without which no transfer can be compared with another."""
        here, _ = processors_of_ends()
        with running_on(here):
            machine = read_cpu_class()
        sources, told = Sources.of(_PARTS), json.dumps(conditions, sort_keys=True)
        found = sources.digests
        return cls(
            log,
            sources,
            packing=f"{machine}; {found['packing']}",
            transfers=f"{told}; {machine}; {found['transfers']}; {digest_sources()['controller']}",
        )

    def packed(self, what: str, measure: Callable[[], Row]) -> Row:
        """Of a file alone, whatever it is sent over."""
        return self._row("packing", f"{what}; {self.packing}", what, measure)

    def moved(self, what: str, measure: Callable[[], Row]) -> Row:
        """Of something that went over a path."""
        return self._row("transfers", f"{what}; {self.transfers}", what, measure)

    def _row(self, part: str, key: str, what: str, measure: Callable[[], Row]) -> Row:
        if (row := self.log.find(key)) is not None:
            return row
        made = measure()
        self.sources.require_unchanged(part)
        row = self.log.add(key, made)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.items() if isinstance(value, int | float))
        sys.stderr.write(f"  {what}: {figures}\n")
        return row

"""Store rows: one for each sample of a file, packing and transfer; find it again if nothing changed."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.compression.ends import run_on, split_processors
from benchmarks.support.sources import Sources
from benchmarks.wan.runs import Row, RunLog, digest_sources
from tradewind_agent.compression.sampling import read_cpu_class

_CORE, _AGENT = "core/tradewind/compression", "clients/python/tradewind_agent"
_HERE = ("bounds", "ends", "files", "packing", "row_store", "slow_path", "transfers", "modes")
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
"""What a figure depends on; a transfer also on the engine and its tuning (`benchmarks.wan.runs`)."""


@dataclass(frozen=True, slots=True)
class RowStore:
    """Rows by what they measure, on this machine and from these sources."""

    log: RunLog
    sources: Sources
    packing: str
    transfers: str

    @classmethod
    def of(cls, log: RunLog, **conditions: object) -> "RowStore":
        """Return the store for this machine; ``conditions`` : of the entire run, which all transfers must share."""
        own_processors, _ = split_processors()
        with run_on(own_processors):
            machine = read_cpu_class()
        sources, condition_text = Sources.of(_PARTS), json.dumps(conditions, sort_keys=True)
        digests = sources.digests
        return cls(
            log,
            sources,
            packing=f"{machine}; {digests['packing']}",
            transfers=f"{condition_text}; {machine}; {digests['transfers']}; {digest_sources()['controller']}",
        )

    def find_packing(self, name: str, measure: Callable[[], Row]) -> Row:
        """Return the row of a file alone, whatever it is sent over."""
        return self._find_or_measure("packing", f"{name}; {self.packing}", name, measure)

    def find_transfer(self, name: str, measure: Callable[[], Row]) -> Row:
        """Return the row of something that went over a path."""
        return self._find_or_measure("transfers", f"{name}; {self.transfers}", name, measure)

    def _find_or_measure(self, part: str, key: str, name: str, measure: Callable[[], Row]) -> Row:
        if (row := self.log.find(key)) is not None:
            return row
        measured = measure()
        self.sources.require_unchanged(part)
        row = self.log.add(key, measured)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.items() if isinstance(value, int | float))
        sys.stderr.write(f"  {name}: {figures}\n")
        return row

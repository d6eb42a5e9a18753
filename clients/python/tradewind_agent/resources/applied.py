"""The result of limits: enforced by the host, and how; or only advice, and why."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tradewind.parameters import Parameters
from tradewind.units import format_bps, format_bytes, format_hertz


@dataclass(frozen=True, slots=True)
class Enforced:
    """A limit that is enforced; ``value`` is the actual one, which may be below the requested one."""

    resource: str
    value: float
    how: str

    def __str__(self) -> str:
        return f"limited to {describe(self.resource, self.value)}: {self.how}"


@dataclass(frozen=True, slots=True)
class Advice:
    """A limit that cannot be enforced here; ``is_about_value`` where others of the same resource may be."""

    resource: str
    value: float
    why: str
    is_about_value: bool = False

    def __str__(self) -> str:
        return f"not limited, only advised, to {describe(self.resource, self.value)}: {self.why}"


Verdict = Enforced | Advice


class Applied:
    """Limits in effect until `undo`, or until the end of the ``with`` block.

    Attributes
    ----------
    enforced, advice : the result of each limit; one that is enforced in part has an entry in both.
    left : what could not be undone, a line each; the next start of the agent tries again.
    """

    def __init__(self, verdicts: Sequence[Verdict], undo: Callable[[], Sequence[str]] | None = None) -> None:
        self.enforced = tuple(verdict for verdict in verdicts if isinstance(verdict, Enforced))
        self.advice = tuple(verdict for verdict in verdicts if isinstance(verdict, Advice))
        self.left: tuple[str, ...] = ()
        self._undo = undo

    @property
    def parameters(self) -> Parameters:
        """Return the enforced limits as a record states them.

        A record counts whole cores, so a part of one is rounded up: the record has to show that there was a limit.
        """
        values = {each.resource: each.value for each in self.enforced}
        cores, memory_bytes = values.get("cores"), values.get("memory_bytes")
        return Parameters(
            cores=None if cores is None else math.ceil(cores),
            frequency_hz=values.get("frequency_hz"),
            memory_bytes=None if memory_bytes is None else int(memory_bytes),
            disk_bps=values.get("disk_bps"),
            nic_bps=values.get("nic_bps"),
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for the user about each limit."""
        return tuple(str(each) for each in (*self.enforced, *self.advice))

    def undo(self) -> None:
        """Restore the previous state; a second call does nothing."""
        undo, self._undo = self._undo, None
        if undo is not None:
            self.left = tuple(undo())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def describe(resource: str, value: float) -> str:
    """Describe a limit, such as ``1.5 cores`` or ``50 Mbit/s of the network``."""
    match resource:
        case "cores":
            return f"{value:g} {'core' if value == 1 else 'cores'}"
        case "frequency_hz":
            return f"{format_hertz(value)} of processor frequency"
        case "memory_bytes":
            return f"{format_bytes(value)} of memory"
        case "disk_bps":
            return f"{format_bps(value)} of each disk"
        case _:
            return f"{format_bps(value)} of the network"

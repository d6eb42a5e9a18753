"""Decide whether this machine was good enough for a run: by what touched the run, not by its other load.

The limits lie between what was seen of four programs over 100 Mbit/s, 60 ms on two processors. With precedence over all
others, 99 % of packets were at most 0.4 … 5 ms late, also next to two endless loops a processor; throughput was 0 … 10
% lower then. Without precedence, next to those loops, packets were up to 33 ms late, programs waited 0.59 … 0.87 of the
time, and up to three quarters of the throughput were gone. Waiting alone says nothing: programs of a run wait for one
another, those of many threads or processes up to 0.74.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.support.processes import ProcessorShare
from benchmarks.testbed.path_spec import PathCounters
from tradewind.errors import TradewindError

LATE_SHARES = (0.5, 0.99, 1.0)
"""Shares of a run's packets whose lateness is stored: median, 99th percentile, maximum."""

LATE_SHARE = 0.95
"""Share of the packets that must be in time.

A host that stops a machine once for 50 ms makes 1 % of the packets of a run of five seconds late, and costs it as much;
5 % late packets show in a figure.
"""

MOST_LATE_S, MOST_LATE_OF_ROUND_TRIP = 0.010, 0.25
"""The larger of both applies: a packet that is late has had a longer path."""

MOST_STOLEN = 0.1
"""Share of all processors that a virtual machine's host keeps.

When it kept a fifth, 0.1 % of wake-ups at real-time priority were 10 … 150 ms late; a hundredth is usual.
"""

PAUSES_S = (5.0, 15.0, 45.0)
"""Pauses before a run is repeated: hosts are busy for seconds at a time."""

MOST_WAITED = 0.5
MOST_FOR_OTHERS = 0.1
"""Share of all processors. A run without precedence may not wait much while other processes have more than this."""


Made = TypeVar("Made")


class MachineTooBusy(TradewindError):
    """The machine was too busy to measure in every attempt."""


def repeat_until_undisturbed(name: str, make: Callable[[], Made], find_fault: Callable[[Made], str | None]) -> Made:
    """Return what ``make`` returns; repeat it after a pause while ``find_fault`` names a fault.

    Raises
    ------
    MachineTooBusy : the last attempt was disturbed, too.
    """
    made, reason = repeat_while_disturbed(name, make, find_fault)
    if reason is not None:
        raise MachineTooBusy(
            f"{name}: {reason}; start again when the machine is quiet; the next start continues from here"
        )
    return made


def repeat_while_disturbed(
    name: str,
    make: Callable[[], Made],
    find_fault: Callable[[Made], str | None],
    *,
    pauses_s: Sequence[float] = PAUSES_S,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Made, str | None]:
    """Return the first result without a fault, or the last one after all pauses with its fault."""
    for pause_s in pauses_s:
        made = make()
        if (reason := find_fault(made)) is None:
            return made, None
        sys.stderr.write(f"  {name} is repeated: {reason}\n")
        sleep(pause_s)
    made = make()
    return made, find_fault(made)


def find_disturbance(path: PathCounters, share: ProcessorShare, *, rtt_s: float, prioritised: bool) -> str | None:
    """Return what disturbed a run; ``None`` where the machine was good enough.

    Parameters
    ----------
    path : what the link did meanwhile.
    share : who had the processors meanwhile.
    rtt_s : of the empty path.
    prioritised : whether the run had precedence: then other processes have only what it leaves.
    """
    late_s, refused = path.late.compute_quantile_s(LATE_SHARE), path.down.refused + path.up.refused
    most_late_s = max(MOST_LATE_S, MOST_LATE_OF_ROUND_TRIP * rtt_s)
    if late_s > most_late_s:
        most = f"{1e3 * most_late_s:.0f} ms are tolerable"
        return f"packets left up to {1e3 * late_s:.0f} ms late ({LATE_SHARE:.0%} of them); {most}"
    if share.stolen > MOST_STOLEN:
        return f"this machine's host kept {share.stolen:.0%} of the processors; {MOST_STOLEN:.0%} are tolerable"
    if not prioritised and share.waited > MOST_WAITED and share.others > MOST_FOR_OTHERS:
        waited = f"its programs waited for a processor {share.waited:.0%} of the time that they could have run"
        return f"{waited}, while others had {share.others:.0%} of the processors; {MOST_FOR_OTHERS:.0%} are tolerable"
    if refused:
        return f"the emulation failed to carry {refused} packets"
    return None

"""Whether this machine was good enough for a run: judged by what touched the run, not by what else there was to do.

The limits lie between what was seen of four programs over 100 Mbit/s, 60 ms on two processors. Ahead of all others:
99 % of packets at most 0.4 … 5 ms late, with two endless loops a processor beside too; throughput 0 … 10 % lower then.
Not ahead, beside those: up to 33 ms late, waited 0.59 … 0.87, up to three quarters of the throughput gone. Waiting
alone says nothing: programs of a run wait for one another, those of many threads or processes up to 0.74.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.support.processes import Share
from benchmarks.testbed.path_spec import PathCounters
from tradewind.errors import TradewindError

LATE_SHARES = (0.5, 0.99, 1.0)
"""What is kept of a run's lateness: median, 99th percentile, maximum."""

LATE_SHARE = 0.95
"""Of the packets, that have to be in time. A host that stops a machine once for 50 ms makes 1 % of those of a run of
five seconds late, and costs it as much; what makes 5 % late shows in a figure."""

MOST_LATE_S, MOST_LATE_OF_ROUND_TRIP = 0.010, 0.25
"""The larger of both: a packet that is late has had a longer path."""

MOST_STOLEN = 0.1
"""Of all processors: a virtual machine's host. When it kept a fifth, 0.1 % of wake-ups at real-time priority were 10 …
150 ms late; a hundredth is usual."""

PAUSES_S = (5.0, 15.0, 45.0)
"""Before a run is made again: hosts are busy for seconds at a time."""

MOST_WAITED = 0.5
MOST_FOR_OTHERS = 0.1
"""Of all processors. Where a run does not go ahead of others it may not wait much while these have more than this."""


Made = TypeVar("Made")


class MachineTooBusy(TradewindError):
    """The machine was too busy to measure, however often it was tried."""


def undisturbed(name: str, make: Callable[[], Made], wrong: Callable[[Made], str | None]) -> Made:
    """What is made, and made again after a pause while ``wrong`` tells of something.

    Raises
    ------
    MachineTooBusy : the last one was disturbed, too.
    """
    made, reason = made_again(name, make, wrong)
    if reason is not None:
        raise MachineTooBusy(f"{name}: {reason}; start again when the machine is quiet, it goes on from here")
    return made


def made_again(
    name: str,
    make: Callable[[], Made],
    wrong: Callable[[Made], str | None],
    *,
    pauses_s: Sequence[float] = PAUSES_S,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Made, str | None]:
    """The first that nothing is wrong with, or the last after all pauses with what is."""
    for pause_s in pauses_s:
        made = make()
        if (reason := wrong(made)) is None:
            return made, None
        sys.stderr.write(f"  {name} is run again: {reason}\n")
        sleep(pause_s)
    made = make()
    return made, wrong(made)


def complaint(path: PathCounters, share: Share, *, rtt_s: float, ahead: bool) -> str | None:
    """What was wrong with the machine during a run; ``None`` where it was good enough.

    Parameters
    ----------
    path : what the link did meanwhile.
    share : who had the processors meanwhile.
    rtt_s : of the empty path.
    ahead : whether the run went ahead of all others: then these have only what it leaves.
    """
    late_s, refused = path.late.quantile_s(LATE_SHARE), path.down.refused + path.up.refused
    most_late_s = max(MOST_LATE_S, MOST_LATE_OF_ROUND_TRIP * rtt_s)
    if late_s > most_late_s:
        most = f"{1e3 * most_late_s:.0f} ms are tolerable"
        return f"packets left up to {1e3 * late_s:.0f} ms late ({LATE_SHARE:.0%} of them); {most}"
    if share.stolen > MOST_STOLEN:
        return f"this machine's host kept {share.stolen:.0%} of the processors; {MOST_STOLEN:.0%} are tolerable"
    if not ahead and share.waited > MOST_WAITED and share.others > MOST_FOR_OTHERS:
        waited = f"its programs waited for a processor {share.waited:.0%} of the time that they could have run"
        return f"{waited}, while others had {share.others:.0%} of the processors; {MOST_FOR_OTHERS:.0%} are tolerable"
    if refused:
        return f"the emulation failed to carry {refused} packets"
    return None

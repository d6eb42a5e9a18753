"""Run a benchmark before whatever else this machine does: in a control group of its own, where the host permits one.

Niceness does not suffice: with autogroups (sched(7)) it counts within one session only. All processes that a benchmark
starts are born into its group. The agent's ledger of changed hosts says which groups a killed benchmark has left; the
next start removes them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from benchmarks.support.report import ROOT
from benchmarks.support.wakefulness import Loops
from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.control_groups import ControlGroups, Group, dissolve
from tradewind_agent.resources.host_files import HostFolders, KernelFiles
from tradewind_agent.resources.ledger import Entry, Ledger
from tradewind_agent.resources.processes import ProcessIdentity, identify
from tradewind_agent.resources.target import Target

NOTES = ROOT / "var" / "bench" / "groups"

MOST_SHARES, MOST_WEIGHT = 262_144, 10_000
"""The kernel's maximum in version 1 and 2 of control groups: 256 and 100 times that of an ordinary group."""

REAL_TIME_US = 300_000
"""Time of each second that real-time processes of the group may run; version 1 refuses them in groups without any.

All groups together may have 0.95 s, so that three benchmarks can be measured side by side. An emulated link takes 0.09
s for 100 Mbit/s.
"""


@contextmanager
def take_precedence(notes: Path = NOTES) -> Iterator[bool]:
    """Take the processors before all other programs and keep them awake until the end of the block.

    The value is whether the host permits it.
    """
    host = HostFolders()
    ledger = Ledger(notes, host.proc)
    here = identify(os.getpid(), host.proc)
    assert here is not None, "this process runs"
    loops = Loops()
    with ledger.hold_lock():
        for entry in tuple(ledger.list_abandoned()):
            _remove_groups(_find_target(entry, ledger, host), here)
        # The loops first: they stay outside the group that has precedence.
        idle_target = _find_target(ledger.begin(here, identify(loops.pid, host.proc) or here), ledger, host)
        if idle_target.pid == loops.pid and _set_up_group(idle_target, _make_idle):
            loops.start()
        target = _find_target(ledger.begin(here, here), ledger, host)
        permitted = _set_up_group(target, _give_highest_weight)
    try:
        yield permitted
    finally:
        with ledger.hold_lock():
            _remove_groups(idle_target, here)
            _remove_groups(target, here)
        loops.stop()


def _find_target(entry: Entry, ledger: Ledger, host: HostFolders) -> Target:
    return Target(pid=entry.target.pid, folders=(), host=host, files=KernelFiles(), ledger=ledger, entry=entry)


def _set_up_group(target: Target, set_up: Callable[[Target, Group], None]) -> bool:
    try:
        ControlGroups(target).limit("cpu", partial(set_up, target))
    except ResourceRefused:
        return False
    return True


def _give_highest_weight(target: Target, group: Group) -> None:
    if group.unified:
        target.files.write(group.folder / "cpu.weight", str(MOST_WEIGHT))
        return
    target.files.write(group.folder / "cpu.shares", str(MOST_SHARES))
    with suppress(OSError):  # kernels without groups of real-time processes permit these anywhere
        target.files.write(group.folder / "cpu.rt_runtime_us", str(REAL_TIME_US))


def _make_idle(target: Target, group: Group) -> None:
    """Let all other groups run first, whatever their weight: the scheduling policy of idle processes, for a group."""
    target.files.write(group.folder / "cpu.idle", "1")


def _remove_groups(target: Target, here: ProcessIdentity) -> None:
    """Remove an entry's groups.

    A group that cannot be removed stays recorded; a group from before the machine's last start is gone.
    """
    entry = target.entry
    gone = [claim for claim in entry.groups if entry.owner.boot != here.boot or dissolve(claim, target) is None]
    entry.groups = [claim for claim in entry.groups if claim not in gone]
    target.ledger.save(entry)

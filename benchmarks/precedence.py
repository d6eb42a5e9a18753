"""A benchmark ahead of whatever else this machine does: in a control group of its own, where the host permits one.

Niceness would not do: with autogroups (sched(7)) it counts within one session only. All that a benchmark starts is born
into its group. The agent's ledger of changed hosts says which groups a killed benchmark has left; the next start
removes them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.report import ROOT
from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.control_groups import ControlGroups, Group, dissolve
from tradewind_agent.resources.host_files import HostFolders, KernelFiles
from tradewind_agent.resources.ledger import Entry, Ledger
from tradewind_agent.resources.processes import ProcessIdentity, identify
from tradewind_agent.resources.target import Target

NOTES = ROOT / "var" / "bench" / "groups"

MOST_SHARES, MOST_WEIGHT = 262_144, 10_000
"""The most that the kernel takes, of version 1 and 2: 256 and 100 times an ordinary group's."""

REAL_TIME_US = 900_000
"""Of each second that real-time processes of the group may run: without any, version 1 refuses them in groups."""


@contextmanager
def precedence(notes: Path = NOTES) -> Iterator[bool]:
    """Go ahead of everybody else until the end of the block; whether the host permits it."""
    host = HostFolders()
    ledger = Ledger(notes, host.proc)
    here = identify(os.getpid(), host.proc)
    assert here is not None, "this process runs"
    with ledger.locked():
        for left in tuple(ledger.abandoned()):
            _remove_groups(_target(left, ledger, host), here)
        target = _target(ledger.begin(here, here), ledger, host)
        permitted = _ahead(target)
    try:
        yield permitted
    finally:
        with ledger.locked():
            _remove_groups(target, here)


def _target(entry: Entry, ledger: Ledger, host: HostFolders) -> Target:
    return Target(pid=entry.target.pid, folders=(), host=host, files=KernelFiles(), ledger=ledger, entry=entry)


def _ahead(target: Target) -> bool:
    def write(group: Group) -> None:
        if group.unified:
            target.files.write(group.folder / "cpu.weight", str(MOST_WEIGHT))
            return
        target.files.write(group.folder / "cpu.shares", str(MOST_SHARES))
        with suppress(OSError):  # kernels without groups of real-time processes permit these anywhere
            target.files.write(group.folder / "cpu.rt_runtime_us", str(REAL_TIME_US))

    try:
        ControlGroups(target).limit("cpu", write)
    except ResourceRefused:
        return False
    return True


def _remove_groups(target: Target, here: ProcessIdentity) -> None:
    """Remove an entry's groups; one that resists stays noted, and one from before the machine's last start is gone."""
    entry = target.entry
    gone = [claim for claim in entry.groups if entry.owner.boot != here.boot or dissolve(claim, target) is None]
    entry.groups = [claim for claim in entry.groups if claim not in gone]
    target.ledger.save(entry)

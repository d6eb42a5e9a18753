"""Apply limits to a process of this host and remove them again: the entry of this package."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tradewind_agent.folders import build_ledger_folder
from tradewind_agent.resources.applied import Advice, Applied, Verdict
from tradewind_agent.resources.control_groups import ControlGroups, dissolve
from tradewind_agent.resources.cores import limit_cores, unbind
from tradewind_agent.resources.disk import limit_disk
from tradewind_agent.resources.frequency import limit_frequency, list_frequencies_hz, release_frequency
from tradewind_agent.resources.host_files import ControlFiles, HostFolders, KernelFiles
from tradewind_agent.resources.ledger import Entry, Ledger
from tradewind_agent.resources.limits import Limits
from tradewind_agent.resources.memory import limit_memory
from tradewind_agent.resources.network import advise_network
from tradewind_agent.resources.processes import identify
from tradewind_agent.resources.target import Target
from tradewind_agent.system_errors import explain_os_error


class ResourceLimiter:
    """Limits processes of this host as far as it permits, and says where it does not.

    Parameters
    ----------
    folder : of the notes about what is changed.
    host : where the kernel's control files are.
    """

    def __init__(self, folder: Path, host: HostFolders | None = None, files: ControlFiles | None = None) -> None:
        self._host = host or HostFolders()
        self._files = files or KernelFiles()
        self._ledger = Ledger(folder, self._host.proc)

    @classmethod
    def of_this_host(cls, environ: Mapping[str, str]) -> "ResourceLimiter":
        """Return the limiter with its notes in this user's state folder, where other agents find them."""
        return cls(build_ledger_folder(environ))

    def apply(self, limits: Limits, pid: int | None = None, *, folders: Sequence[Path] = ()) -> Applied:
        """Limit a process with its descendants, or this one; what is not permitted becomes advice.

        Parameters
        ----------
        pid : of the process; ``None`` for the agent's own.
        folders : that it reads or writes: their disks are those that ``disk_bps`` is about.
        """
        if not limits.select_known():
            return Applied(())
        target_pid = os.getpid() if pid is None else pid
        owner, process = identify(os.getpid(), self._host.proc), identify(target_pid, self._host.proc)
        if owner is None or process is None:
            return _advise_all(limits, f"there is no process {target_pid}")
        try:
            with self._ledger.hold_lock():
                entry = self._ledger.begin(owner, process)
                target = self._build_target(entry, folders)
                verdicts = tuple(_limit(limits, target))
                return Applied(verdicts, None if entry.is_empty else lambda: self._undo(entry))
        except OSError as failure:
            return _advise_all(
                limits, f"nothing can be noted in {self._ledger.folder}: {explain_os_error(failure).what}"
            )

    def list_frequencies_hz(self) -> tuple[float, ...]:
        """Return the frequencies that an experiment of this process may try; none where they cannot be capped."""
        return list_frequencies_hz(sorted(os.sched_getaffinity(0)), self._host, self._files)

    def recover(self) -> tuple[str, ...]:
        """Undo the changes of killed agents; return a line for each that could not be undone."""
        if not self._ledger.folder.is_dir():
            return ()
        try:
            with self._ledger.hold_lock():
                return tuple(line for entry in self._ledger.list_abandoned() for line in self._take_back(entry))
        except OSError as failure:
            return (f"the limits noted in {self._ledger.folder} cannot be looked at: {explain_os_error(failure).what}",)

    def _build_target(self, entry: Entry, folders: Sequence[Path] = ()) -> Target:
        return Target(
            pid=entry.target.pid,
            folders=folders,
            host=self._host,
            files=self._files,
            ledger=self._ledger,
            entry=entry,
        )

    def _undo(self, entry: Entry) -> Sequence[str]:
        try:
            with self._ledger.hold_lock():
                return self._take_back(entry)
        except OSError as failure:
            return (f"limits could not be undone: {explain_os_error(failure).what}",)

    def _take_back(self, entry: Entry) -> list[str]:
        """Undo an entry in the reverse order; what fails stays noted for the next start of the agent."""
        here = identify(os.getpid(), self._host.proc)
        if here is not None and here.boot != entry.owner.boot:
            entry.path.unlink(missing_ok=True)  # the machine has forgotten it all
            return []
        target = self._build_target(entry)
        wrong = list(release_frequency(target))
        for claim in tuple(entry.groups):
            if (failure := dissolve(claim, target)) is None:
                entry.groups.remove(claim)
            else:
                wrong.append(failure)
        if (failure := unbind(target)) is not None:
            wrong.append(failure)
        return wrong


def _limit(limits: Limits, target: Target) -> Iterator[Verdict]:
    """Apply the limits, cores first: the frequency limit applies to the chosen CPUs."""
    groups = ControlGroups(target)
    if limits.cores is not None:
        yield from limit_cores(float(limits.cores), target, groups)
    if limits.frequency_hz is not None:
        try:
            cpus = tuple(sorted(os.sched_getaffinity(target.pid)))
        except OSError as refusal:
            yield Advice("frequency_hz", limits.frequency_hz, explain_os_error(refusal).what)
        else:
            yield from limit_frequency(limits.frequency_hz, cpus, target)
    if limits.memory_bytes is not None:
        yield from limit_memory(limits.memory_bytes, target, groups)
    if limits.disk_bps is not None:
        yield from limit_disk(limits.disk_bps, target, groups)
    if limits.nic_bps is not None:
        yield advise_network(limits.nic_bps)


def _advise_all(limits: Limits, why: str) -> Applied:
    return Applied([Advice(name, value, why) for name, value in limits.select_known().items()])

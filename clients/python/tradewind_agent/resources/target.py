"""The process that is being limited, with the files and the ledger for that."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.resources.host_files import ControlFiles, HostFolders
from tradewind_agent.resources.ledger import Entry, Ledger
from tradewind_agent.resources.processes import list_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A process with its descendants; of the agent itself only the process, whose later children inherit.

    ``folders`` : that it reads and writes, whose disks may be limited.
    """

    pid: int
    folders: Sequence[Path]
    host: HostFolders
    files: ControlFiles
    ledger: Ledger
    entry: Entry

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.pid,) if self.pid == os.getpid() else list_tree(self.pid)

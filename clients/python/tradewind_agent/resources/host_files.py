"""The host's control files: where they are, and how they are read and written."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFolders:
    """Where the kernel shows what can be limited."""

    cgroup: Path = Path("/sys/fs/cgroup")
    cpus: Path = Path("/sys/devices/system/cpu")
    block_devices: Path = Path("/sys/dev/block")
    proc: Path = Path("/proc")


class ControlFiles(Protocol):
    """Access to control files, by the kernel or by tests; each call raises OSError if the kernel refuses."""

    def is_there(self, path: Path) -> bool: ...

    def can_write(self, file: Path) -> bool: ...

    def read(self, file: Path) -> str: ...

    def write(self, file: Path, text: str) -> None:
        """Write to a file that exists: a control file that is missing is never made up."""

    def make_folder(self, folder: Path) -> None: ...

    def remove_folder(self, folder: Path) -> None: ...


class KernelFiles:
    """The files of the running kernel."""

    def is_there(self, path: Path) -> bool:
        return path.exists()

    def can_write(self, file: Path) -> bool:
        return os.access(file, os.W_OK)

    def read(self, file: Path) -> str:
        return file.read_text()

    def write(self, file: Path, text: str) -> None:
        descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def make_folder(self, folder: Path) -> None:
        folder.mkdir()

    def remove_folder(self, folder: Path) -> None:
        folder.rmdir()

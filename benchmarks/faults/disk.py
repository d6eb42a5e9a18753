"""Give the service a small disk of its own, so that it can be filled."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tradewind.units import MIB

SIZE_BYTES = 1024 * MIB
"""More than twice what the service has on it in a full run."""

BLOCK_BYTES = 1 * MIB


@dataclass(frozen=True)
class Disk:
    """A disk. ``folder`` : of the service. ``is_own`` : whether it may be filled without harm to others."""

    folder: Path
    is_own: bool

    @property
    def _filling(self) -> Path:
        return self.folder / "filling"

    def fill(self) -> None:
        """Take every free block."""
        assert self.is_own
        with self._filling.open("wb", buffering=0) as file:
            for block in (b"\0" * BLOCK_BYTES, b"\0" * 4096):
                try:
                    while file.write(block) == len(block):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """Free the blocks again."""
        self._filling.unlink(missing_ok=True)


@contextmanager
def mount_disk(folder: Path) -> Iterator[Disk]:
    """Mount a disk in memory for root; else yield a part of the disk that ``folder`` is on."""
    folder.mkdir()
    if os.geteuid() != 0:
        yield Disk(folder, is_own=False)
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=0755", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        yield Disk(folder, is_own=False)
        return
    try:
        yield Disk(folder, is_own=True)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)

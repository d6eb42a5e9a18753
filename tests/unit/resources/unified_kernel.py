"""Control groups of version 2 in memory, by the rules of cgroups(7), for hosts that have version 1 or a hybrid."""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

_FILES = {
    "cpu": {"cpu.max": "max 100000"},
    "memory": {"memory.max": "max", "memory.high": "max"},
    "io": {"io.max": ""},
}


@dataclass
class Group:
    controllers: set[str]
    handed_down: set[str] = field(default_factory=set)
    pids: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def show(self, controllers: set[str]) -> None:
        """Give the group the files of controllers that its parent hands down."""
        for controller in controllers - self.controllers:
            self.files |= _FILES[controller]
        self.controllers |= controllers


class UnifiedKernel:
    """The tree below ``root``; groups are made by `grow` before the test and by the code under test later."""

    def __init__(self, root: Path, controllers: set[str]) -> None:
        self.root = root
        self.groups = {root: Group(set(controllers))}

    def grow(self, path: str, *, handing_down: set[str] = frozenset(), pids: tuple[int, ...] = ()) -> Group:
        folder = self.root / path
        self.make_folder(folder)
        group = self.groups[folder]
        group.handed_down = set(handing_down)
        group.pids = [str(pid) for pid in pids]
        return group

    def is_there(self, path: Path) -> bool:
        if path in self.groups:
            return True
        return path.parent in self.groups and path.name in self._texts(path.parent)

    def read(self, file: Path) -> str:
        return self._texts(self._group_folder(file))[file.name]

    def write(self, file: Path, text: str) -> None:
        folder = self._group_folder(file)
        group = self.groups[folder]
        if file.name == "cgroup.procs":
            self._admit(folder, text)
        elif file.name == "cgroup.subtree_control":
            if folder != self.root and group.pids:
                raise _error(errno.EBUSY, file)  # "no internal processes"
            if text[1:] not in group.controllers:
                raise _error(errno.ENOENT, file)
            group.handed_down.add(text[1:])
            for child, its in self.groups.items():
                if child.parent == folder and child != folder:
                    its.show(group.handed_down)
        else:
            group.files[file.name] = text

    def make_folder(self, folder: Path) -> None:
        if folder in self.groups:
            raise _error(errno.EEXIST, folder)
        made = Group(set())
        made.show(self.groups[folder.parent].handed_down)
        self.groups[folder] = made

    def remove_folder(self, folder: Path) -> None:
        if self.groups[folder].pids or any(other.parent == folder for other in self.groups if other != folder):
            raise _error(errno.EBUSY, folder)
        del self.groups[folder]

    def _admit(self, folder: Path, pid: str) -> None:
        if folder != self.root and self.groups[folder].handed_down:
            raise _error(errno.EBUSY, folder)
        for group in self.groups.values():
            if pid in group.pids:
                group.pids.remove(pid)
        self.groups[folder].pids.append(pid)

    def _group_folder(self, file: Path) -> Path:
        if not self.is_there(file):
            raise _error(errno.ENOENT, file)
        return file.parent

    def _texts(self, folder: Path) -> dict[str, str]:
        group = self.groups[folder]
        return {
            "cgroup.controllers": " ".join(sorted(group.controllers)),
            "cgroup.subtree_control": " ".join(sorted(group.handed_down)),
            "cgroup.procs": "\n".join(group.pids),
            **group.files,
        }


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))

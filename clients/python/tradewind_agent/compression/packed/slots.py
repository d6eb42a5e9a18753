"""Simultaneous packed files of one copy: no more than cores can feed, and than a server packs for one client."""

from collections import deque

from tradewind_agent.engine.file_transfer import FileTransfer


class PackedFileSlots:
    """The slots of packed files, used in the event loop alone.

    Attributes
    ----------
    most : files at once.
    in_use : files that have a slot.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.in_use = 0
        self._waiting: deque[FileTransfer] = deque()

    def acquire(self, file: FileTransfer) -> bool:
        """Take a slot for ``file``, and return whether there was one; else the file is queued once one is free."""
        if self.in_use >= self.most:
            if file not in self._waiting:
                self._waiting.append(file)
            return False
        self.in_use += 1
        return True

    def release(self) -> None:
        """Free a slot for the file that has waited longest."""
        self.in_use -= 1
        while self._waiting:
            file = self._waiting.popleft()
            if not file.is_over:
                file.host.make_available(file)
                return

"""A folder of logs that a test watches."""

import os
import threading
from random import Random

from tests.unit.agent.records import lines
from tradewind_agent.history.importers.ports import ImportContext
from tradewind_agent.history.log_reader import ImportingReader
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.watch_state import build_state_path
from tradewind_agent.history.watching import Watch, WatchOptions

NOW_S = 1_700_000_000.0
QUIET_S = 60.0


class Watched:
    """A folder of logs and all that a watch of it needs; a new watch is what a restart makes."""

    def __init__(self, root):
        self.folder = root / "logs"
        self.folder.mkdir()
        self.notes = []
        self.spool = Spool(root / "spool", warn=self.notes.append)
        self.state = build_state_path(root / "state", self.folder)
        self.state.parent.mkdir(parents=True)

    def watch(self, *, service=None, spool=None, pattern="*", **context):
        return Watch(
            options=WatchOptions(folder=self.folder, pattern=pattern, interval_s=0.0, quiet_s=QUIET_S),
            state_path=self.state,
            spool=spool or self.spool,
            service=service,
            reader=ImportingReader(ImportContext(source="alpha", destination="beta", **context)),
            note=self.notes.append,
            stop=threading.Event(),
            jitter=Random(1),
            now_s=lambda: NOW_S,
        )

    def write(self, name, content, *, age_s=0.0):
        path = self.folder / name
        with path.open("ab") as file:
            file.write(content)
        os.utime(path, (NOW_S - age_s, NOW_S - age_s))
        return path

    @property
    def spooled(self):
        return b"".join(segment.path.read_bytes() for segment in self.spool.list_segments())


def joined(count, first=1):
    return b"".join(lines(count, first))

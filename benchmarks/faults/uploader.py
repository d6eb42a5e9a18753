"""Upload batches of known rows by an agent's spool until SIGTERM, and end when all are acknowledged.

The number of each batch is noted before it is spooled. Killed and started again, the program continues with the last
one noted: the spool has that once, and the service stores it once, however far it was.
"""

import argparse
import signal
import sys
import threading
from pathlib import Path

from benchmarks.faults.rows import make_batch
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client

PACE_S = 1.0
AGAIN_S = 0.5
LAST_PATIENCE_S = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agent", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("address")
    parser.add_argument("key")
    options = parser.parse_args()
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    spool = Spool(options.folder / "spool", warn=lambda text: print(text, file=sys.stderr))
    batch_number = BatchNumber(options.folder / "batches")
    with Client(options.address, options.key) as client:
        while not stopping.is_set():
            spool.append(make_batch(options.agent, batch_number.current))
            batch_number.advance()
            _drain(spool, client)
            stopping.wait(PACE_S)
        for _ in range(round(LAST_PATIENCE_S / AGAIN_S)):
            if not spool.list_segments():
                return 0
            _drain(spool, client)
            threading.Event().wait(AGAIN_S)
    return 1


def _drain(spool: Spool, client: Client) -> None:
    try:
        for refused in spool.drain(client).refused:
            print(refused, file=sys.stderr, flush=True)
    except ServiceUnreachable as away:  # it stays in the spool
        print(away, file=sys.stderr, flush=True)


class BatchNumber:
    """The number of the batch that is being spooled, on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.current = read_batch_number(path)
        self._note()

    def advance(self) -> None:
        self.current += 1
        self._note()

    def _note(self) -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_text(str(self.current))
        draft.replace(self._path)


def read_batch_number(path: Path) -> int:
    """Return the last batch that an uploader with this file of numbers has started, 0 at first."""
    return int(path.read_text()) if path.exists() else 0


if __name__ == "__main__":
    sys.exit(main())

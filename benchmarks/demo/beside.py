"""The same copy without tuning, beside the one that is tuned: ``python -m benchmarks.demo.beside``.

A process of its own, so that neither copy waits for the other's interpreter. It asks the service for its plan as the
tuned one does, and keeps to it.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.demo import changing_path, stack
from benchmarks.demo.course import Course
from tradewind.errors import TradewindError
from tradewind_agent.copy.run import PreparedCopy, copy_files
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.service.client import Client

KEY_VARIABLE = "TRADEWIND_DEMO_KEY"
NOTED_EVERY_S = 0.1


@contextmanager
def untuned_copy(url: str, folder: Path, *, service: tuple[str, str], logs: Path) -> Iterator[Path]:
    """Run it until the block is left; begun when this yields the file with its course.

    Parameters
    ----------
    service : address and key.

    Raises
    ------
    TradewindError : the copy failed; what it moved until then is no rate to compare with.
    """
    course = logs / "beside.course"
    address, key = service
    command = (*stack.PYTHON, "benchmarks.demo.beside", url, str(folder), "--service", address, "--course", str(course))
    with stack.started("beside", command, logs=logs, environment={KEY_VARIABLE: key}) as process:
        process.line_matching("begun")
        yield course
    if process.process.returncode > 0:  # below 0 it was stopped here, which is no failure
        raise TradewindError(f"the copy that is not tuned failed; see {process.log}")


@dataclass
class Notes:
    """Writes down the copy's course now and then, and says once that it has begun."""

    path: Path
    _noted_at_s: float = float("-inf")

    def look(self, snapshot: Snapshot, _: PreparedCopy) -> None:
        if time.monotonic() - self._noted_at_s < NOTED_EVERY_S:
            return
        if self._noted_at_s < 0:
            sys.stdout.write("begun\n")
            sys.stdout.flush()
        point = Course().note(snapshot.moved_bytes)
        self._noted_at_s = point.at_s
        with self.path.open("a") as file:
            file.write(point.line())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo.beside", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder")
    parser.add_argument("--service", required=True, metavar="URL", help=f"its key is in {KEY_VARIABLE}")
    parser.add_argument("--course", type=Path, required=True, metavar="FILE")
    asked = parser.parse_args(argv)
    with Client(asked.service, os.environ[KEY_VARIABLE]) as client:
        report = copy_files(
            [asked.url],
            asked.folder,
            options=changing_path.options(tune=False),
            client=client,
            on_snapshot=Notes(asked.course).look,
        )
    sys.stderr.write(f"{report.line()}\n")
    return 0 if report.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())

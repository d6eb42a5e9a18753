"""Run the same copy without tuning, at the same time as the tuned one: ``python -m benchmarks.demo.untuned_copy``.

It is a process of its own, so that neither copy waits for the other's interpreter. Like the tuned copy it gets its plan
from the service, and then keeps it.
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
WRITTEN_EVERY_S = 0.1


@contextmanager
def run_untuned_copy(url: str, folder: Path, *, service: tuple[str, str], logs: Path) -> Iterator[Path]:
    """Run the untuned copy until the block ends; yield the file with its course once the copy has started.

    Parameters
    ----------
    service : address and key.

    Raises
    ------
    TradewindError : the copy failed; what it moved until then is no rate to compare with.
    """
    course = logs / "untuned.course"
    address, key = service
    command = (
        *stack.PYTHON,
        "benchmarks.demo.untuned_copy",
        url,
        str(folder),
        "--service",
        address,
        "--course",
        str(course),
    )
    with stack.run_process("untuned", command, logs=logs, environment={KEY_VARIABLE: key}) as process:
        process.wait_for_line("started")
        yield course
    if process.process.returncode > 0:  # below 0 it was stopped here, which is no failure
        raise TradewindError(f"the copy that is not tuned failed; see {process.log}")


@dataclass
class CourseWriter:
    """Writes down the copy's course now and then, and prints once that the copy has started."""

    path: Path
    _written_at_s: float = float("-inf")

    def follow(self, snapshot: Snapshot, _: PreparedCopy) -> None:
        if time.monotonic() - self._written_at_s < WRITTEN_EVERY_S:
            return
        if self._written_at_s < 0:
            sys.stdout.write("started\n")
            sys.stdout.flush()
        point = Course().record(snapshot.moved_bytes)
        self._written_at_s = point.at_s
        with self.path.open("a") as file:
            file.write(point.to_line())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo.untuned_copy", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder")
    parser.add_argument("--service", required=True, metavar="URL", help=f"its key is in {KEY_VARIABLE}")
    parser.add_argument("--course", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args(argv)
    with Client(arguments.service, os.environ[KEY_VARIABLE]) as client:
        report = copy_files(
            [arguments.url],
            arguments.folder,
            options=changing_path.build_copy_options(tune=False),
            client=client,
            on_snapshot=CourseWriter(arguments.course).follow,
        )
    sys.stderr.write(f"{report.format_line()}\n")
    return 0 if report.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())

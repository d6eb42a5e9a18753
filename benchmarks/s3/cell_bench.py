"""One cell: its files in a bucket and on this host, the path between, and single runs of the contenders."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.s3.gateway import PORT, RunningStore, fill_bucket, remove_objects, run_gateway, run_gateway_at
from benchmarks.s3.tools import Places, StoreTool, make_environment
from benchmarks.support.direction import Direction
from benchmarks.support.sources import digest_values
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import Judge, MeasuredRun, run_measured
from benchmarks.testbed.origins import is_listening
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.cells import Cell
from tradewind.parameters import Parameters

COMPARED, LESSONS = "set", "lessons"
"""Prefixes of the files that are compared, and of those that are learned from."""

_SENT = "sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A tool with a setting, or with none: its defaults, or our own choice.

    ``variables`` : further variables of its environment, such as the address of our service.
    ``learned`` : digest of what that service knows.
    """

    name: str
    tool: StoreTool
    setting: Parameters | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    learned: str = ""

    def build_command(self, direction: Direction, places: Places) -> list[str]:
        """Return the command that copies between two places."""
        command = self.tool.upload(places) if direction is Direction.UP else self.tool.download(places)
        return [*command, *(() if self.setting is None else self.tool.add_setting(self.setting))]

    def make_environment(self, home: Path, endpoint_url: str) -> Mapping[str, str]:
        configuration = "" if self.setting is None else self.tool.configure(self.setting)
        return {**make_environment(home, endpoint_url, configuration), **self.variables}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBench:
    """One cell's testbed.

    ``files`` : digest of the sizes of the compared files. ``is_prioritised`` : runs have precedence over all others.
    """

    cell: Cell
    bed: Testbed
    store: RunningStore
    files: str
    folder: Path
    is_prioritised: bool

    def run(
        self,
        contender: Contender,
        direction: Direction,
        *,
        cut_s: float,
        files: str = COMPARED,
        make_judge: Callable[[Path], Judge] | None = None,
        on_end: Callable[[Path], None] = lambda _: None,
    ) -> MeasuredRun:
        """Make one run, into an empty folder or below an empty prefix.

        ``make_judge`` : returns its judge, by the folder that it fills.
        ``on_end`` : called with the home of the program before it is removed.
        """
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            home, got = Path(name) / "home", Path(name) / "got"
            home.mkdir()
            got.mkdir()
            log = Path(name) / "log"
            places, target = Places(self.store.url, f"{files}/", got), got
            if direction is Direction.UP:
                places = Places(self.store.url, f"{_SENT}/", self.folder / files)
                target = self.store.bucket_folder / _SENT
            run = run_measured(
                self.bed,
                self.bed.clients[0],
                contender.build_command(direction, places),
                target,
                cut_s=cut_s,
                environment=contender.make_environment(home, self.store.url),
                log=log,
                enough=None if make_judge is None else make_judge(target),
            )
            remove_objects(self.store, _SENT)
            on_end(home)
            if run.cut and direction is Direction.UP:  # what the store has of a file in parts is in no file yet
                run = replace(run, bytes_done=max(run.bytes_done, run.path.up.bytes))
            if make_judge is None:
                run.require_moved(f"{self.cell.name}, {direction}, {contender.name}", log)
            return run


@contextmanager
def set_up_bench(
    work: Path, cell: Cell, sizes: Sequence[int], lesson_sizes: Sequence[int], seed: int, *, is_prioritised: bool
) -> Iterator[CellBench]:
    """Set up a cell: its files in a bucket, the path, and the store at its other end."""
    with tempfile.TemporaryDirectory(dir=work, prefix="cell-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        root = folder / "store"
        with run_gateway(root, folder) as near:  # without the path in between
            for prefix, drawn in ((COMPARED, sizes), (LESSONS, lesson_sizes)):
                write_files(folder / prefix, drawn, seed)
                fill_bucket(near, f"{prefix}/", folder / prefix)
        with Testbed(cell.path, seed=seed) as bed, _run_gateway_on(bed, root) as store:
            yield CellBench(
                cell=cell,
                bed=bed,
                store=store,
                files=digest_values(list(sizes)),
                folder=folder,
                is_prioritised=is_prioritised and bed.link.is_real_time,
            )


@contextmanager
def _run_gateway_on(bed: Testbed, root: Path) -> Iterator[RunningStore]:
    """Serve ``root`` on the testbed's server host."""
    host = bed.server.address

    def start(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        return bed.start(bed.server, command, log=log)

    with run_gateway_at(root, f"{host}:{PORT}", bed.folder / "gateway.log", start, lambda: is_listening(bed, PORT)):
        yield RunningStore(f"http://{host}:{PORT}", root)

"""One cell's testbed with its origins and files, and single runs on it."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import SizeLists, draw_sizes, write_files
from benchmarks.testbed.measured_run import MeasuredRun, measured_run
from benchmarks.testbed.peers import Job, Peer, environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.cells import Cell
from tradewind.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A tool with a setting, or with none: a peer's defaults, or our own choice.

    Attributes
    ----------
    options : further words of its command line, such as an agreement.
    variables : further variables of its environment, such as where our service is.
    """

    name: str
    peer: Peer
    setting: Parameters | None = None
    options: Sequence[str] = ()
    variables: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Where a cell's runs take place; files and losses are the same for every contender."""

    cell: Cell
    bed: Testbed
    web_url: str
    gridftp_url: str | None
    sizes: Sequence[int]
    folder: Path
    spools: Path

    def run(self, contender: Contender, *, cut_s: float) -> MeasuredRun:
        """One run from an empty destination; our own logs are kept in ``spools``, as history to learn from."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            destination, scratch = Path(name) / "got", Path(name) / "scratch"
            destination.mkdir()
            scratch.mkdir()
            url = self.gridftp_url if contender.peer.over_gridftp else self.web_url
            assert url is not None, "a peer over GridFTP is asked for only where there is a server"
            names = [f"{number:05d}.bin" for number in range(len(self.sizes))]
            job = Job(url=url, names=names, destination=destination, scratch=scratch, source=self.cell.path_name)
            run = measured_run(
                self.bed,
                self.bed.clients[0],
                [*contender.peer.command(job, contender.setting), *contender.options],
                destination,
                cut_s=cut_s,
                environment={**environment(scratch), **(contender.variables or {})},
                log=Path(name) / "log",
            )
            self._keep_spool(scratch)
            return run

    def _keep_spool(self, scratch: Path) -> None:
        for log in scratch.glob("tradewind/spool/*.ndjson"):
            self.spools.mkdir(parents=True, exist_ok=True)
            shutil.move(log, self.spools / log.name)


@contextmanager
def arena(
    cell: Cell, lists: SizeLists, *, at_least_bytes: float, seed: int, folder: Path, spools: Path, with_gridftp: bool
) -> Iterator[Arena]:
    """Set a cell up: its files, the path, nginx and, where there are peers for it, a GridFTP server.

    Parameters
    ----------
    at_least_bytes : how much there is to move.
    folder : for the files served and received; what this writes there is removed.
    spools : where the logs of our own runs are kept.
    """
    sizes = draw_sizes(cell.kind, lists, at_least_bytes, seed)
    with tempfile.TemporaryDirectory(dir=folder, prefix="cell-") as name:
        served = Path(name) / "served"
        write_files(served, sizes, seed)
        with Testbed(cell.path, seed=seed) as bed, ExitStack() as servers:
            yield Arena(
                cell=cell,
                bed=bed,
                web_url=servers.enter_context(origins.nginx(bed, served)),
                gridftp_url=servers.enter_context(origins.gridftp(bed, served)) if with_gridftp else None,
                sizes=sizes,
                folder=Path(name),
                spools=spools,
            )

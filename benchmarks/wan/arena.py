"""One cell's testbed with its origins and files, and single runs on it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.sources import digest_of
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import SizeLists, draw_sizes, write_files
from benchmarks.testbed.measured_run import Judge, MeasuredRun, measured_run
from benchmarks.testbed.peers import Job, Peer, environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.lessons import lesson_sizes
from tradewind.parameters import Parameters

SERVED = "served"
"""The folder that the servers serve, below an arena's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A tool with a setting, or with none: a peer's defaults, or our own choice.

    Attributes
    ----------
    options : further words of its command line, such as an agreement.
    variables : further variables of its environment, such as where our service is.
    learned : digest of what that service knows.
    """

    name: str
    peer: Peer
    setting: Parameters | None = None
    options: Sequence[str] = ()
    variables: Mapping[str, str] | None = None
    learned: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Where a cell's runs take place; files and losses are the same for every contender.

    ``ahead`` : whether they go ahead of whatever else this machine does.
    """

    cell: Cell
    bed: Testbed
    web_url: str
    gridftp_url: str | None
    sizes: Sequence[int]
    lesson_sizes: Sequence[int]
    folder: Path
    knowledge: Knowledge
    ahead: bool

    def run(self, contender: Contender, *, cut_s: float, judged: Callable[[Path], Judge] | None = None) -> MeasuredRun:
        """One run from an empty destination; ``judged`` makes its judge, which may look at what has come there."""
        with self._destination() as (destination, scratch):
            job = self._job(contender, "", self.sizes, destination, scratch)
            return self._run(contender, job, cut_s, None if judged is None else judged(destination))

    def lesson(self, contender: Contender, *, cut_s: float, log: Path) -> MeasuredRun:
        """A transfer of our engine of the lessons' files; what it logs is kept in ``log`` to learn from."""
        with tempfile.TemporaryDirectory(dir=self.served) as name, self._destination() as (destination, scratch):
            # Only while it is needed: some tools fetch all that is served.
            lessons = Path(name)
            lessons.chmod(0o755)
            write_files(lessons, self.lesson_sizes, seed=0)
            job = self._job(contender, f"{lessons.name}/", self.lesson_sizes, destination, scratch)
            run = self._run(contender, job, cut_s)
            _keep_spool(scratch, log)
            return run

    @contextmanager
    def _destination(self) -> Iterator[tuple[Path, Path]]:
        """Empty folders for what is received and for what a tool keeps."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            destination, scratch = Path(name) / "got", Path(name) / "scratch"
            destination.mkdir()
            scratch.mkdir()
            yield destination, scratch

    def _job(self, contender: Contender, below: str, sizes: Sequence[int], destination: Path, scratch: Path) -> Job:
        url = self.gridftp_url if contender.peer.over_gridftp else self.web_url
        assert url is not None, "a peer over GridFTP is asked for only where there is a server"
        named = {f"{number:05d}.bin": size for number, size in enumerate(sizes)}
        return Job(url=url + below, sizes_bytes=named, destination=destination, scratch=scratch, source=self.source)

    def _run(self, contender: Contender, job: Job, cut_s: float, enough: Judge | None = None) -> MeasuredRun:
        return measured_run(
            self.bed,
            self.bed.clients[0],
            [*contender.peer.command(job, contender.setting), *contender.options],
            job.destination,
            cut_s=cut_s,
            environment={**environment(job.scratch), **(contender.variables or {})},
            log=job.scratch.with_name("log"),
            enough=enough,
        )

    @property
    def served(self) -> Path:
        return self.folder / SERVED

    @property
    def source(self) -> str:
        """What the sender is called in our own logs."""
        return self.cell.path_name

    @property
    def files_digest(self) -> str:
        """Of the sizes of what is compared; their contents follow from these and the seed."""
        return digest_of(list(self.sizes))


def _keep_spool(scratch: Path, keep: Path) -> None:
    logs = sorted(scratch.glob("tradewind/spool/*.ndjson"))
    keep.parent.mkdir(parents=True, exist_ok=True)
    keep.write_text("".join(log.read_text(encoding="utf-8") for log in logs), encoding="utf-8")


@contextmanager
def arena(
    cell: Cell,
    lists: SizeLists,
    *,
    at_least_bytes: float,
    seed: int,
    folder: Path,
    knowledge: Knowledge,
    ahead: bool,
    with_gridftp: bool,
) -> Iterator[Arena]:
    """Set a cell up: its files, the path, nginx and, where there are peers for it, a GridFTP server.

    Parameters
    ----------
    at_least_bytes : how much there is to move.
    folder : for the files served and received; what this writes there is removed.
    knowledge : where the logs of lessons are kept.
    """
    sizes = draw_sizes(cell.kind, lists, at_least_bytes, seed)
    with tempfile.TemporaryDirectory(dir=folder, prefix="cell-") as name:
        Path(name).chmod(0o755)  # a service in there may run as another account
        served = Path(name) / SERVED
        write_files(served, sizes, seed)
        with Testbed(cell.path, seed=seed) as bed, ExitStack() as servers:
            yield Arena(
                cell=cell,
                bed=bed,
                web_url=servers.enter_context(origins.nginx(bed, served)),
                gridftp_url=servers.enter_context(origins.gridftp(bed, served)) if with_gridftp else None,
                sizes=sizes,
                lesson_sizes=lesson_sizes(cell, lists, seed),
                folder=Path(name),
                knowledge=knowledge,
                ahead=ahead and bed.link.is_ahead,
            )

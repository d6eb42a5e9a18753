"""Set up one cell's testbed with its origins and files, and make single runs on it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.sources import digest_values
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import SizeLists, draw_sizes, write_files
from benchmarks.testbed.measured_run import Judge, MeasuredRun, run_measured
from benchmarks.testbed.peers import Job, Peer, clean_environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.lessons import draw_lesson_sizes
from tradewind.parameters import Parameters

SERVED = "served"
"""The folder that the servers serve, below an arena's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A tool with a setting, or with none: a peer's defaults, or our own choice.

    Attributes
    ----------
    options : further words of its command line, such as an SLA.
    variables : further variables of its environment, such as the address of our service.
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
    """The place of a cell's runs; files and losses are the same for every contender.

    ``prioritised`` : whether runs have precedence over all other programs.
    """

    cell: Cell
    bed: Testbed
    web_url: str
    gridftp_url: str | None
    sizes: Sequence[int]
    lesson_sizes: Sequence[int]
    folder: Path
    knowledge: Knowledge
    prioritised: bool

    def run(
        self, contender: Contender, *, cut_s: float, make_judge: Callable[[Path], Judge] | None = None
    ) -> MeasuredRun:
        """Make one run to an empty destination; ``make_judge`` returns its judge, which may look at what has come
        there.
        """
        with self._open_destination() as (destination, scratch):
            job = self._build_job(contender, "", self.sizes, destination, scratch)
            return self._run(contender, job, cut_s, None if make_judge is None else make_judge(destination))

    def run_lesson(self, contender: Contender, *, cut_s: float, log: Path) -> MeasuredRun:
        """Transfer the lessons' files by our engine; store its log in ``log`` to learn from."""
        with (
            tempfile.TemporaryDirectory(dir=self.served_folder) as name,
            self._open_destination() as (destination, scratch),
        ):
            # They exist only for this run: some tools fetch all that is served.
            lessons = Path(name)
            lessons.chmod(0o755)
            write_files(lessons, self.lesson_sizes, seed=0)
            job = self._build_job(contender, f"{lessons.name}/", self.lesson_sizes, destination, scratch)
            run = self._run(contender, job, cut_s)
            store_spool(scratch, log)
            return run

    @contextmanager
    def _open_destination(self) -> Iterator[tuple[Path, Path]]:
        """Yield empty folders for what is received and for what a tool stores."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            destination, scratch = Path(name) / "got", Path(name) / "scratch"
            destination.mkdir()
            scratch.mkdir()
            yield destination, scratch

    def _build_job(
        self, contender: Contender, below: str, sizes: Sequence[int], destination: Path, scratch: Path
    ) -> Job:
        url = self.gridftp_url if contender.peer.over_gridftp else self.web_url
        assert url is not None, "a peer over GridFTP is asked for only where there is a server"
        named = {f"{number:05d}.bin": size for number, size in enumerate(sizes)}
        return Job(url=url + below, sizes_bytes=named, destination=destination, scratch=scratch, source=self.source)

    def _run(self, contender: Contender, job: Job, cut_s: float, enough: Judge | None = None) -> MeasuredRun:
        return run_measured(
            self.bed,
            self.bed.clients[0],
            [*contender.peer.command(job, contender.setting), *contender.options],
            job.destination,
            cut_s=cut_s,
            environment={**clean_environment(job.scratch), **(contender.variables or {})},
            log=job.scratch.with_name("log"),
            enough=enough,
        )

    @property
    def served_folder(self) -> Path:
        return self.folder / SERVED

    @property
    def source(self) -> str:
        """The sender's name in our own logs."""
        return self.cell.path_name

    @property
    def files_digest(self) -> str:
        """Digest of the sizes of the compared files; their contents follow from these and the seed."""
        return digest_values(list(self.sizes))


def store_spool(scratch: Path, target: Path) -> None:
    """Store the log that the agent has spooled, with ``scratch`` as its home, in one file."""
    logs = sorted(scratch.glob("tradewind/spool/*.ndjson"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(log.read_text(encoding="utf-8") for log in logs), encoding="utf-8")


@contextmanager
def set_up_arena(
    cell: Cell,
    lists: SizeLists,
    *,
    at_least_bytes: float,
    seed: int,
    folder: Path,
    knowledge: Knowledge,
    prioritised: bool,
    with_gridftp: bool,
) -> Iterator[Arena]:
    """Set up a cell: its files, the path, nginx and, where there are peers for it, a GridFTP server.

    Parameters
    ----------
    at_least_bytes : how much there is to move.
    folder : for the files served and received; what this writes there is removed.
    knowledge : where the logs of lessons are stored.
    """
    sizes = draw_sizes(cell.kind, lists, at_least_bytes, seed)
    with tempfile.TemporaryDirectory(dir=folder, prefix="cell-") as name:
        Path(name).chmod(0o755)  # a service in there may run as another account
        served_folder = Path(name) / SERVED
        write_files(served_folder, sizes, seed)
        with Testbed(cell.path, seed=seed) as bed, ExitStack() as servers:
            yield Arena(
                cell=cell,
                bed=bed,
                web_url=servers.enter_context(origins.run_nginx(bed, served_folder)),
                gridftp_url=servers.enter_context(origins.run_gridftp(bed, served_folder)) if with_gridftp else None,
                sizes=sizes,
                lesson_sizes=draw_lesson_sizes(cell, lists, seed),
                folder=Path(name),
                knowledge=knowledge,
                prioritised=prioritised and bed.link.is_real_time,
            )

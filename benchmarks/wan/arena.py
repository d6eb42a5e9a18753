"""Set up one cell's testbed with its origins and files, and make single runs on it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.direction import Direction
from benchmarks.support.sources import digest_values
from benchmarks.testbed import origins
from benchmarks.testbed.certificate import make_certificate
from benchmarks.testbed.data_sets import SizeLists, draw_sizes, write_files
from benchmarks.testbed.measured_run import Judge, MeasuredRun, run_measured
from benchmarks.testbed.peers import Job, Peer, clean_environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.testbed.uploads.origins import run_webdav
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from benchmarks.wan.lessons import draw_lesson_sizes
from tradewind.parameters import Parameters

FILES, RECEIVED = "files", "received"
"""Folders below an arena's own: of the files at the sender's end, and for what comes to the receiver's end."""


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


class _RunFolders(NamedTuple):
    """Empty folders of a run: for what is received, at that end of the path, and for what a tool stores."""

    received: Path
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """The place of a cell's runs; files and losses are the same for every contender.

    ``ca_file`` : the authority of the web server's certificate. ``prioritised`` : whether runs have precedence over all
    other programs.
    """

    cell: Cell
    bed: Testbed
    web_url: str
    gridftp_url: str | None
    ca_file: Path | None
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
        with self._open_folders() as folders:
            job = self._build_job(contender, self.files_folder, self.sizes, folders)
            enough = None if make_judge is None else make_judge(folders.received)
            return self._run(contender, job, folders, cut_s, enough)

    def run_lesson(self, contender: Contender, *, cut_s: float, log: Path) -> MeasuredRun:
        """Transfer the lessons' files by our engine; store its log in ``log`` to learn from."""
        with tempfile.TemporaryDirectory(dir=self.files_folder) as name, self._open_folders() as folders:
            # They exist only for this run: some tools move all that is there.
            lessons = Path(name)
            lessons.chmod(0o755)
            write_files(lessons, self.lesson_sizes, seed=0)
            job = self._build_job(contender, lessons, self.lesson_sizes, folders)
            run = self._run(contender, job, folders, cut_s)
            store_spool(folders.scratch, log)
            return run

    @contextmanager
    def _open_folders(self) -> Iterator[_RunFolders]:
        # A server may still write what a stopped client has sent: what that leaves is removed with the cell.
        received = tempfile.TemporaryDirectory(dir=self.folder / RECEIVED, ignore_cleanup_errors=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name, received as received_name:
            scratch = Path(name) / "scratch"
            scratch.mkdir()
            yield _RunFolders(Path(received_name), scratch)

    def _build_job(self, contender: Contender, files: Path, sizes: Sequence[int], folders: _RunFolders) -> Job:
        url = self.gridftp_url if contender.peer.over_gridftp else self.web_url
        assert url is not None, "a peer over GridFTP is asked for only where there is a server"
        is_upload = self.cell.direction is Direction.UP
        remote = folders.received if is_upload else files
        below = "" if remote == self.files_folder else f"{remote.name}/"
        return Job(
            url=url + below,
            sizes_bytes={f"{number:05d}.bin": size for number, size in enumerate(sizes)},
            folder=files if is_upload else folders.received,
            scratch=folders.scratch,
            far_end=self.cell.path_name,
            ca_file=self.ca_file,
        )

    def _run(
        self, contender: Contender, job: Job, folders: _RunFolders, cut_s: float, enough: Judge | None = None
    ) -> MeasuredRun:
        return run_measured(
            self.bed,
            self.bed.clients[0],
            [*contender.peer.command(job, contender.setting), *contender.options],
            folders.received,
            cut_s=cut_s,
            environment={**clean_environment(job.scratch), **(contender.variables or {})},
            log=job.scratch.with_name("log"),
            enough=enough,
        )

    @property
    def files_folder(self) -> Path:
        return self.folder / FILES

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
) -> Iterator[Arena]:
    """Set up a cell: its files, the path, a web server and, where there are peers for it, a GridFTP server.

    Parameters
    ----------
    at_least_bytes : how much there is to move.
    folder : for the files sent and received; what this writes there is removed.
    knowledge : where the logs of lessons are stored.
    """
    sizes = draw_sizes(cell.kind, lists, at_least_bytes, seed)
    with tempfile.TemporaryDirectory(dir=folder, prefix="cell-") as name:
        work = Path(name)
        work.chmod(0o755)  # a service in there may run as another account
        write_files(work / FILES, sizes, seed)
        (work / RECEIVED).mkdir()
        with Testbed(cell.path, seed=seed) as bed, ExitStack() as servers:
            certificate = make_certificate(bed.folder, bed.server.address) if cell.over_tls else None
            root = work / (RECEIVED if cell.direction is Direction.UP else FILES)
            run_web_server = run_webdav if cell.direction is Direction.UP else origins.run_nginx
            has_gridftp = any(peer.over_gridftp for peer in cell.peers)
            yield Arena(
                cell=cell,
                bed=bed,
                web_url=servers.enter_context(run_web_server(bed, root, certificate=certificate)),
                gridftp_url=servers.enter_context(origins.run_gridftp(bed, root)) if has_gridftp else None,
                ca_file=None if certificate is None else certificate.file,
                sizes=sizes,
                lesson_sizes=draw_lesson_sizes(cell, lists, seed),
                folder=work,
                knowledge=knowledge,
                prioritised=prioritised and bed.link.is_real_time,
            )

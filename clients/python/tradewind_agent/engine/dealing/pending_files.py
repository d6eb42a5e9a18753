"""Files that wait for a connection, as jobs: transfers are made a few at a time, so that memory stays flat."""

from array import array
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.jobs import DownloadJobs, Job, UploadJob, find_repeated, require_distinct

_UNKNOWN = -1


class JobTable:
    """The jobs of a run, and the size of each.

    Raises
    ------
    InvalidValue : two jobs with the same destination.
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self.jobs: Sequence[Job] = jobs if isinstance(jobs, Sequence) else list(jobs)
        sizes: Iterable[int | None] = (job.size_bytes for job in self.jobs)
        places: Iterable[str] = (str(job.destination) for job in self.jobs)
        if isinstance(self.jobs, DownloadJobs):
            sizes, places = self.jobs.iterate_field("size_bytes"), self.jobs.iterate_field("destination")
        self._sizes = array("q", (_UNKNOWN if size is None else size for size in sizes))
        if find_repeated(places):
            deque(require_distinct(self.jobs), maxlen=0)
        is_listed = isinstance(self.jobs, DownloadJobs)
        self.has_uploads = not is_listed and any(isinstance(job, UploadJob) for job in self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def get_size(self, position: int) -> int | None:
        """Return the size of a file as listed, bytes; ``None`` where it is unknown."""
        size = self._sizes[position]
        return None if size == _UNKNOWN else size

    def get_origin(self, position: int) -> Origin:
        """Return the server that the first request of a file goes to."""
        if isinstance(self.jobs, DownloadJobs):
            return self.jobs.get_origin(position)
        job = self.jobs[position]
        return job.destination.origin if isinstance(job, UploadJob) else job.source.origin

    def are_all_below(self, url: Url) -> bool:
        """Return whether all files are to be sent to the folder that ``url`` is in, or below it."""
        destinations = (job.destination for job in self.jobs if isinstance(job, UploadJob))
        return all(each.origin == url.origin and each.path.startswith(url.folder) for each in destinations)

    def sort(self, positions: Iterable[int]) -> Sequence[int]:
        """Return positions of jobs, the largest files last, and of one size the first."""
        return sorted(sorted(positions, reverse=True), key=self._sizes.__getitem__)


class PendingFiles:
    """The files of one chunk that wait.

    Attributes
    ----------
    total_bytes : of all of them, as far as their sizes are known.
    positions : of their jobs, the next one last.
    """

    def __init__(self) -> None:
        self._table = JobTable()
        self.positions = array("Q")
        self._origins = Counter[Origin]()
        self.total_bytes = 0

    def __len__(self) -> int:
        return len(self.positions)

    def fill(self, table: JobTable, positions: Iterable[int]) -> None:
        """Take jobs of a table in place of all others, the last one first."""
        self._table, self.positions = table, array("Q", positions)
        self._origins = Counter(map(table.get_origin, self.positions))
        self.total_bytes = sum(table.get_size(position) or 0 for position in self.positions)

    def take(self) -> Job:
        """Return the next job; there must be one."""
        position = self.positions.pop()
        self.total_bytes -= self._table.get_size(position) or 0
        origin = self._table.get_origin(position)
        self._origins[origin] -= 1
        if not self._origins[origin]:
            del self._origins[origin]
        return self._table.jobs[position]

    def list_origins(self) -> set[Origin]:
        """Return the origins that files wait for."""
        return set(self._origins)

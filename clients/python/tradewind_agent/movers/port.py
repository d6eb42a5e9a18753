"""The port of movers: a tool that can be recognised, queried, started, watched and sometimes retuned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Direction
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.wrap.restarts import Restarting

_STORES: Mapping[str, str] = {"http": "http", "https": "http", "s3": "s3", "webdav": "webdav"}
"""Kinds of stores by protocol, or by rclone's name of its backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferEnds:
    """Where a command line moves data from and to.

    ``source``, ``destination`` : host names; ``None`` is this host.
    ``port`` : of the remote end, where the command line or its protocol says.
    """

    source: str | None
    destination: str | None
    protocol: str
    port: int | None = None

    @property
    def store(self) -> str | None:
        """Return the kind of store that the remote end is; ``None`` where the protocol does not say."""
        return _STORES.get(self.protocol)

    @property
    def remote(self) -> str | None:
        """Return the host that is not this one; of two remote ends the source."""
        return self.source or self.destination

    @property
    def direction(self) -> Direction:
        if self.source is not None and self.destination is not None:
            return Direction.THIRD_PARTY
        return Direction.UPLOAD if self.destination is not None else Direction.DOWNLOAD


@dataclass(frozen=True, slots=True)
class Workload:
    """Sizes of the files to move, bytes, one each; judged from a sample of them where not ``is_exact``."""

    sizes_bytes: tuple[int, ...]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """``bytes_moved`` so far; ``files_left`` not finished yet, ``None`` where the tool does not say."""

    bytes_moved: int
    files_left: int | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result that a tool's own output states."""

    bytes_moved: int
    files_done: int
    files_failed: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run.

    ``parameters`` : the recommendation for all files together, with what the user set in its place.
    ``fixed`` : those that the user set; retuning does not change them.
    ``expected_bps`` : predicted rate, where there is one.
    ``rate_bps`` : of the network, kept by the tool's own option where it has one.
    ``round_s`` : how long one run of the tool should take where the work is split so that settings can change between
        runs; ``None`` for one run whatever happens.
    ``restarting`` : what a run weighs an interruption by; ``None`` where it is never interrupted.
    """

    parameters: Parameters
    fixed: Parameters = UNKNOWN_PARAMETERS
    expected_bps: float | None = None
    rate_bps: float | None = None
    round_s: float | None = None
    restarting: Restarting | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One start of a tool: its words, and the file that takes its standard error where the run reads that.

    ``own_port`` : where the tool takes orders from this program, which are none of its transfers.
    ``variables`` : of its environment, besides those of this process.
    ``settings`` : what it is given by a file, not by its words, by name.
    ``output``, ``errors`` : get what it writes as it comes, and return what the user is to see; they get an empty
        chunk at the end.
    """

    words: tuple[str, ...]
    errors_to: Path | None = None
    own_port: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    output: Callable[[bytes], bytes] | None = None
    errors: Callable[[bytes], bytes] | None = None


class ToolRun(Protocol):
    """A command line under way, as one or several starts of its tool.

    ``poll`` and ``note_finished`` are called by one thread, ``measure_progress`` and ``retune`` by any.
    """

    @property
    def current_parameters(self) -> Parameters:
        """Return the settings under which it runs, unknown where the tool decides."""

    def prepare_next_command(self) -> Command | None:
        """Return what to start now; ``None`` when all is done."""

    def note_started(self, pid: int, /) -> None:
        """Take notice that the command runs as process ``pid``."""

    @property
    def is_over(self) -> bool:
        """Return whether all is moved, or has failed, though the tool has not ended yet."""

    def poll(self) -> None:
        """Read the tool's output; called several times a second while it runs, and after its end."""

    def note_finished(self, code: int, /) -> int:
        """Return the last command is over: the exit code that counts, 0 of one that the run itself has interrupted."""

    def measure_progress(self) -> ToolProgress:
        """Return how far it has come."""

    def retune(self, chunks: Sequence[ChunkPlan], /) -> bool:
        """Go on with other settings; false where nothing changes or the tool cannot."""

    def build_result(self) -> ToolResult | None:
        """Return the result; ``None`` where the tool does not say."""


class ToolTask(Protocol):
    """The task of one command line."""

    @property
    def line(self) -> CommandLine: ...

    @property
    def ends(self) -> TransferEnds: ...

    @property
    def by_hand(self) -> Parameters:
        """Return the parameters that the user's own flags set: they win."""

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of each option that the user has set, by the command line or the tool's configuration."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the local folders and files that it reads and writes."""

    @property
    def can_change_live(self) -> bool:
        """Return whether anything can change while it runs; ``live`` says how."""

    @property
    def live(self) -> str:
        """Return what can change while it runs, in a phrase."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of what is not done for this command line."""

    def measure_workload(self) -> Workload | None:
        """Return the sizes of what is to be moved, as far as they are cheaply known."""

    def find_inexpressible(self, parameters: Parameters, /) -> tuple[str, ...]:
        """Return a phrase for each part of ``parameters`` that the tool cannot express."""

    def run(self, tuning: RunSettings, scratch: Path, /) -> ToolRun:
        """Return a run that keeps its files in ``scratch``."""


class Mover(Protocol):
    """A transfer tool that the agent can wrap.

    ``name`` : as logs and the service know it; ``programs`` : names of its program, the packaged one first.
    ``package`` : Debian's package, empty where it has none; ``oldest`` : version from which its options are there.
    ``is_tuned`` : whether it is set by recommendations, or only measured.
    """

    @property
    def name(self) -> str: ...

    @property
    def programs(self) -> tuple[str, ...]: ...

    @property
    def package(self) -> str: ...

    @property
    def oldest(self) -> tuple[int, ...]: ...

    @property
    def is_tuned(self) -> bool: ...

    @property
    def version_words(self) -> tuple[str, ...]:
        """Return the arguments under which the program prints its version; none where it prints none."""

    def parse_task(self, line: CommandLine) -> ToolTask:
        """Return the task of a command line.

        Raises
        ------
        InvalidValue : nothing that moves data, or not in a way that can be followed.
        """


def set_by_user(pairs: Iterable[tuple[str, int | None]]) -> Parameters:
    """Return the parameters from what options say, unknown where they say nothing or less than 1."""
    known = {name: value for name, value in pairs if value is not None and value >= 1}
    return Parameters(**known) if known else UNKNOWN_PARAMETERS  # type: ignore[arg-type]  # keys are field names

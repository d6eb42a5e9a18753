"""scp, sftp and rsync: measured, not tuned. They run unchanged; their results are compared with other tools'."""

import glob
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, parse
from tradewind_agent.movers.local_end import LocalEnd
from tradewind_agent.movers.port import Command, RunSettings, ToolProgress, ToolResult, TransferEnds, Workload
from tradewind_agent.movers.rate_option import make_rate_option
from tradewind_agent.movers.rsync_log import RsyncLog, has_own_log
from tradewind_agent.movers.url_sizes import measure_paths

_SSH_PORT, _RSYNC_PORT = 22, 873

# Options with a value in the next word (scp(1), sftp(1), rsync(1)); rsync's long ones may be written either way.
_SCP = Grammar(valued=frozenset("cDFiJloPSX"))
_SFTP = Grammar(valued=frozenset("BbcDFiJlPRSsXo"))
_RSYNC_VALUES = """
    rsh rsync-path exclude include exclude-from include-from files-from filter bwlimit port partial-dir
    temp-dir compare-dest copy-dest link-dest log-file log-file-format out-format max-size min-size timeout
    contimeout backup-dir suffix chmod chown password-file block-size modify-window compress-level sockopts
    address
"""
_IS_IN_OWN_LOG = "rsync writes a log of your own, so that its result is not read; nothing is logged"
_RSYNC = Grammar(
    valued=frozenset(_RSYNC_VALUES.split()),
    names={"e": "rsh", "f": "filter", "T": "temp-dir", "B": "block-size"},
)

_REMOTE = re.compile(r"(?:[^/:]*@)?(?:\[([^\]/]+)\]|([^/:\[]+))(::?)")
"""``user@host:path``; an address of IPv6 in brackets; two colons before a module of rsync."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A tool that is run unchanged and metered."""

    name: str
    package: str
    grammar: Grammar
    port: int
    oldest: tuple[int, ...] = (0,)
    version_words: tuple[str, ...] = ()
    is_tuned: bool = False

    @property
    def programs(self) -> tuple[str, ...]:
        return (self.name,)

    def parse_task(self, line: CommandLine) -> "BaselineTask":
        """Return the sources and a destination; otherwise as ``Mover.parse_task``."""
        words = parse(line.arguments, self.grammar)
        if not words.places:
            raise InvalidValue(self.name, "is wrapped with a source and a destination")
        return BaselineTask(self.name, line, words, self.port)


class BaselineTask:
    """One command line of a tool that is only measured."""

    by_hand = UNKNOWN_PARAMETERS
    can_change_live = False
    live = "nothing"

    def __init__(self, tool: str, line: CommandLine, words: ParsedWords, port: int) -> None:
        self.tool, self.line, self.own_options = tool, line, words.options
        places = _list_sftp_places(words) if tool == "sftp" else words.places
        *sources, destination = places if len(places) > 1 else (*places, ".")
        self.sources = [Path(each) for each in sources if _parse_host(each) is None]
        self.destination = Path(destination) if _parse_host(destination) is None else None
        source = _parse_host(sources[0])
        self.ends = TransferEnds(
            source=source,
            destination=_parse_host(destination),
            protocol=_find_protocol(places),
            port=words.parse_count("P") or words.parse_count("port") or port,
        )

    @property
    def is_rsync_to_elsewhere(self) -> bool:
        """Return whether this is an rsync with another host: what it moves, its log alone says."""
        return self.tool == "rsync" and (self.ends.source, self.ends.destination) != (None, None)

    @property
    def notes(self) -> tuple[str, ...]:
        return (_IS_IN_OWN_LOG,) if self.is_rsync_to_elsewhere and has_own_log(self.own_options) else ()

    @property
    def folders(self) -> tuple[Path, ...]:
        return (*self.sources, *([self.destination] if self.destination is not None else []))

    def measure_workload(self) -> Workload | None:
        return measure_paths(self.sources)

    def find_inexpressible(self, _parameters: Parameters, /) -> tuple[str, ...]:
        return ()

    def run(self, tuning: RunSettings, scratch: Path, /) -> "BaselineRun":
        return BaselineRun(self, tuning.rate_bps, scratch)


class BaselineRun:
    """One run; its bytes are those of the files it has written here, or has read here and sent without complaint.

    Those of an rsync with another host are what its log says.
    """

    is_over = False

    current_parameters = UNKNOWN_PARAMETERS

    def __init__(self, task: BaselineTask, rate_bps: float | None, scratch: Path) -> None:
        self._task = task
        self._rate = make_rate_option(task.tool, rate_bps, task.own_options)
        self._local = LocalEnd(task.destination) if task.destination is not None else None
        has_log = task.is_rsync_to_elsewhere and not has_own_log(task.own_options)
        self._log = RsyncLog(scratch / "rsync.log") if has_log else None
        self._has_started = False
        self._code: int | None = None

    def prepare_next_command(self) -> Command | None:
        if self._has_started:
            return None
        self._has_started = True
        line = self._task.line
        added = () if self._log is None else self._log.options
        return Command((line.program, *added, *self._rate, *line.arguments))

    def note_started(self, _pid: int, /) -> None:
        """Ignore the start of the process: nothing here needs its id."""

    def poll(self) -> None:
        if self._log is not None:
            self._log.read()

    def note_finished(self, code: int, /) -> int:
        self._code = code
        return code

    def measure_progress(self) -> ToolProgress:
        if self._log is not None:
            return ToolProgress(self._log.build_result(0).bytes_moved, None)
        return ToolProgress(sum(self._local.list_written_bytes()) if self._local else 0, None)

    def retune(self, _chunks: Sequence[ChunkPlan], /) -> bool:
        return False

    def build_result(self) -> ToolResult | None:
        failed = int(bool(self._code))
        if self._task.is_rsync_to_elsewhere:
            return None if self._log is None else self._log.build_result(failed)
        if self._local is not None:
            written = self._local.list_written_bytes()
            return ToolResult(sum(written), len(written), failed)
        sent = self._task.measure_workload()
        if sent is None or failed:
            return None
        return ToolResult(sum(sent.sizes_bytes), len(sent.sizes_bytes), 0)


def list_baselines() -> tuple[Baseline, ...]:
    return (
        Baseline("scp", "openssh-client", _SCP, _SSH_PORT),
        Baseline("sftp", "openssh-client", _SFTP, _SSH_PORT),
        Baseline("rsync", "rsync", _RSYNC, _RSYNC_PORT, oldest=(3, 0), version_words=("--version",)),
    )


def _list_sftp_places(words: ParsedWords) -> tuple[str, ...]:
    """Return the sources and a destination: sftp's first place is its server, and what a batch puts there is sent."""
    server, *rest = words.places
    if _parse_host(server) is None:
        server = f"{server}:"
    batch = words.find_last("b")
    sent = [] if batch is None or rest else _list_batch_uploads(Path(batch))
    return (*sent, server) if sent else (server, *rest)


def _list_batch_uploads(batch: Path) -> list[str]:
    """Return the local files that a batch file of sftp uploads (sftp(1), put)."""
    try:
        lines = [shlex.split(line, comments=True) for line in batch.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return []
    puts = (next((word for word in words[1:] if not word.startswith("-")), "") for words in lines if _is_put(words))
    return [name for pattern in puts if pattern for name in sorted(glob.glob(pattern))]  # noqa: PTH207 -- as sftp does


def _is_put(words: Sequence[str]) -> bool:
    return bool(words) and words[0].lstrip("-@") == "put"


def _parse_host(place: str) -> str | None:
    """Return the host of ``user@host:path`` or an address.

    ``None`` for a local path, whose colon follows a slash if any.
    """
    if "://" in place:
        return parse_address(place).host
    remote = _REMOTE.match(place)
    return (remote[1] or remote[2]) if remote else None


def _find_protocol(places: Sequence[str]) -> str:
    schemes = [parse_address(place).scheme for place in places if "://" in place]
    if schemes:
        return schemes[0]
    if any((remote := _REMOTE.match(place)) and remote[3] == "::" for place in places):
        return "rsync"
    return "ssh" if any(_parse_host(place) for place in places) else "file"

"""globus-url-copy: files at once, streams and pipelining by flags; what failed by its dump file (``-df``).

Where it goes on after errors (``-c``) that file stays empty, and its last words tell how many there were.

It tells no bytes that a program could rely on: they are those of the local files it reads or has written.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.command_line import CommandLine, Grammar, Parsed, parse
from tradewind_agent.movers.flag_words import added_words, left_out
from tradewind_agent.movers.local_end import LocalEnd
from tradewind_agent.movers.port import Command, Ends, Progress, Result, Tuning, Workload, set_by_user
from tradewind_agent.movers.tail import Tail
from tradewind_agent.movers.url_sizes import ends_of_urls, local_path, workload_of_paths

_ALIASES: Mapping[str, str] = {
    "concurrency": "cc", "parallel": "p", "pipeline": "pp", "block-size": "bs", "tcp-buffer-size": "tcp-bs",
    "dumpfile": "df", "dump-only": "do", "subject": "s", "source-subject": "ss", "dest-subject": "ds",
    "partial-offset": "off", "partial-length": "len", "striped-block-size": "sbs", "module-name": "mn",
    "module-parameters": "mp", "src-pipe": "SP", "dst-pipe": "DP", "alias-file": "af", "stall-timeout": "st",
}  # fmt: skip
_VALUES = """
    f t rst-retries rst-interval rst-timeout st df do s ss ds tcp-bs bs p off len list sbs mn mp smn smp dmn
    dmp aa authz-assert saa src-authz-assert daa dst-authz-assert cc SP DP pipe dcstack data-channel-stack
    fsstack file-system-stack src-dcstack src-fsstack dst-dcstack dst-fsstack source-data-channel-stack
    source-file-system-stack dest-data-channel-stack dest-file-system-stack cred src-cred sc dst-cred dc
    data-cred af sync-level checksum-alg
"""
"""Options with a value, as ``globus-url-copy -help`` lists them; its form differs too much to be read."""

_ERRORS = re.compile(r"There w\w+ .*?([0-9]+) transfers?\b")
_GRAMMAR = Grammar(valued=frozenset(_VALUES.split()), names=_ALIASES, single_dash=True)


class GlobusMover:
    name, programs, package = "globus-url-copy", ("globus-url-copy",), "globus-gass-copy-progs"
    oldest, tuned, version_words = (8, 0), True, ("-version",)

    def task(self, line: CommandLine) -> "GlobusTask":
        """A source and a destination, or a file of such pairs; otherwise as ``Mover.task``."""
        given = parse(line.arguments, _GRAMMAR)
        listed = given.last("f")
        pairs = [(given.places[0], given.places[1])] if len(given.places) == 2 else _pairs(listed) if listed else []
        if not pairs:
            raise InvalidValue(
                "globus-url-copy", "is wrapped with a source and a destination, or -f and a file of them"
            )
        return GlobusTask(line, given, pairs)


class GlobusTask:
    """One command line of globus-url-copy."""

    changes_live = False
    live = "nothing"
    notes: tuple[str, ...] = ()

    def __init__(self, line: CommandLine, given: Parsed, pairs: Sequence[tuple[str, str]]) -> None:
        self.line, self.given, self.pairs = line, given, pairs
        self.ends: Ends = ends_of_urls(*pairs[0])
        self.by_hand = set_by_user(
            (
                ("concurrency", given.count("cc")),
                ("parallelism", given.count("p")),
                ("io_block_bytes", given.count("bs")),
            )
        )

    @property
    def own_options(self) -> Collection[str]:
        return self.given.options.keys()

    @property
    def folders(self) -> tuple[Path, ...]:
        places = (local_path(place) for pair in self.pairs for place in pair)
        return tuple({path for path in places if path is not None})

    def workload(self) -> Workload | None:
        sources = [local_path(source) for source, _ in self.pairs]
        return workload_of_paths([path for path in sources if path is not None])

    def left_out(self, parameters: Parameters) -> tuple[str, ...]:
        return left_out("globus-url-copy", parameters)

    def run(self, tuning: Tuning, scratch: Path) -> "GlobusRun":
        return GlobusRun(self, tuning.parameters, scratch)


class GlobusRun:
    """One globus-url-copy."""

    over = False

    def __init__(self, task: GlobusTask, parameters: Parameters, scratch: Path) -> None:
        self._task, self._parameters = task, parameters
        self._untransferred = scratch / "untransferred"
        self._errors = scratch / "errors"
        self._said = Tail(self._errors)
        self._begun = False
        self._code: int | None = None
        written = (local_path(destination) for _, destination in task.pairs)
        self._local = [LocalEnd(path) for path in {path for path in written if path is not None}]

    @property
    def in_force(self) -> Parameters:
        known = self._parameters
        return Parameters(
            concurrency=known.concurrency, parallelism=known.parallelism, io_block_bytes=known.io_block_bytes
        )

    def next_command(self) -> Command | None:
        if self._begun:
            return None
        self._begun = True
        task = self._task
        words = list(added_words("globus-url-copy", self._parameters, task.by_hand, task.given, _GRAMMAR))
        if not {"df", "do"} & task.given.options.keys():
            words += ["-df", str(self._untransferred)]
        return Command((task.line.program, *words, *task.line.arguments), errors_to=self._errors)

    def started(self, _pid: int, /) -> None:
        """Its process is of no use here."""

    def tick(self) -> None:
        if spoken := self._said.read():
            os.write(2, spoken)

    def ended(self, code: int, /) -> None:
        self.tick()
        self._code = code

    def progress(self) -> Progress:
        return Progress(sum(self._written()), None)

    def retune(self, _chunks: Sequence[ChunkPlan], /) -> bool:
        return False

    def result(self) -> Result | None:
        failed = max(_count_lines(self._untransferred), _errors_told(self._errors))
        if self._local:
            written = self._written()
            return Result(sum(written), max(len(written) - failed, 0), failed)
        sent = self._task.workload()
        if sent is None or self._code != 0:
            return None
        return Result(sum(sent.sizes_bytes), len(sent.sizes_bytes), failed)

    def _written(self) -> list[int]:
        return [size for end in self._local for size in end.written()]


def _pairs(listed: str) -> list[tuple[str, str]]:
    try:
        lines = Path(listed).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise InvalidValue("globus-url-copy", f"cannot read its list {listed}: {failure}") from None
    words = [line.replace('"', "").split() for line in lines if line.strip() and not line.startswith("#")]
    return [(each[0], each[1]) for each in words if len(each) >= 2]


def _count_lines(path: Path) -> int:
    try:
        return len([line for line in path.read_text(errors="replace").splitlines() if line.strip()])
    except OSError:
        return 0


def _errors_told(path: Path) -> int:
    try:
        told = _ERRORS.findall(path.read_text(errors="replace"))
    except OSError:
        return 0
    return int(told[-1]) if told else 0

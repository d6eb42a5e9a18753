"""globus-url-copy: files at once, streams and pipelining by flags; what failed by its dump file (``-df``).

Where it can list its files beforehand (``-do``), successive runs move one part of the list after another, as it has no
way to change while it runs; one that is interrupted writes to its dump file what it has not transferred.

Where it goes on after errors (``-c``) that file stays empty, and its last words tell how many there were.

It reports no bytes that a program could rely on; the local files that it reads or has written show them.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, parse, remove_options
from tradewind_agent.movers.flag_words import find_inexpressible, make_flags
from tradewind_agent.movers.globus.pairs import PairList, list_pairs, read_pairs
from tradewind_agent.movers.local_end import CLOCK_STEP_NS, LocalEnd, count_bytes_written
from tradewind_agent.movers.port import (
    Command,
    RunSettings,
    ToolProgress,
    ToolResult,
    TransferEnds,
    Workload,
    set_by_user,
)
from tradewind_agent.movers.step_down import is_own_failure
from tradewind_agent.movers.successive_runs import SuccessiveRuns
from tradewind_agent.movers.tail import Tail
from tradewind_agent.movers.url_sizes import find_ends, measure_paths, parse_local_path

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
    oldest, is_tuned, version_words = (8, 0), True, ("-version",)

    def parse_task(self, line: CommandLine) -> "GlobusTask":
        """Return a source and a destination, or a file of such pairs; otherwise as ``Mover.parse_task``."""
        words = parse(line.arguments, _GRAMMAR)
        listed = words.find_last("f")
        places = words.places
        pairs = [(places[0], places[1])] if len(places) == 2 else _read_url_pairs(Path(listed)) if listed else []
        if not pairs:
            raise InvalidValue(
                "globus-url-copy", "is wrapped with a source and a destination, or -f and a file of them"
            )
        return GlobusTask(line, words, pairs)


class GlobusTask:
    """One command line of globus-url-copy."""

    notes: tuple[str, ...] = ()

    def __init__(self, line: CommandLine, words: ParsedWords, pairs: Sequence[tuple[str, str]]) -> None:
        self.line, self.words, self.pairs = line, words, pairs
        self.ends: TransferEnds = find_ends(*pairs[0])
        self._listing: PairList | None = None
        self.by_hand = set_by_user(
            (
                ("concurrency", words.parse_count("cc")),
                ("parallelism", words.parse_count("p")),
                ("io_block_bytes", words.parse_count("bs")),
            )
        )

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        return self.words.options

    @property
    def listing(self) -> PairList:
        """Return its files; the tool lists them once."""
        if self._listing is None:
            self._listing = list_pairs(self.line, self.words)
        return self._listing

    @property
    def can_change_live(self) -> bool:
        return not self._hindrance

    @property
    def live(self) -> str:
        if self.can_change_live:
            return "between successive runs over parts of the list, one cut short where that pays"
        return f"nothing: {self._hindrance}"

    @property
    def _hindrance(self) -> str:
        """Return why its settings stay as they are, in a phrase."""
        if {"concurrency", "parallelism"} <= self.by_hand.list_known().keys():
            return "files at once and streams are set by your own flags"
        if parse_local_path(self.pairs[0][1]) is None:
            return "how far it is with what it sends cannot be seen here"
        if self._goes_on_after_errors:
            return "-c leaves no list of what is not transferred"
        return self.listing.refusal

    @property
    def _goes_on_after_errors(self) -> bool:
        return bool({"c", "continue-on-error"} & self.words.options.keys())

    @property
    def folders(self) -> tuple[Path, ...]:
        places = (parse_local_path(place) for pair in self.pairs for place in pair)
        return tuple({path for path in places if path is not None})

    def measure_workload(self) -> Workload | None:
        if self.listing.pairs:
            return Workload(tuple(pair.size_bytes or 0 for pair in self.listing.pairs), is_exact=True)
        sources = [parse_local_path(source) for source, _ in self.pairs]
        return measure_paths([path for path in sources if path is not None])

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("globus-url-copy", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> "GlobusRun":
        return GlobusRun(self, tuning, scratch)


class GlobusRun(SuccessiveRuns):
    """globus-url-copy as the user wrote it, or over one part of its list after another."""

    def __init__(self, task: GlobusTask, tuning: RunSettings, scratch: Path) -> None:
        pairs = task.listing.pairs if task.can_change_live and tuning.round_s is not None else ()
        super().__init__([pair.size_bytes or 0 for pair in pairs], tuning)
        self._task, self._scratch, self._pairs = task, scratch, pairs
        self._untransferred, self._errors = scratch / "untransferred", scratch / "errors"
        self._stderr: Tail | None = None
        self._failed = 0
        self._part_started_ns = 0
        self._code: int | None = None
        written = (parse_local_path(destination) for _, destination in task.pairs)
        self._local = [LocalEnd(path) for path in {path for path in written if path is not None}]

    @property
    def current_parameters(self) -> Parameters:
        return self._express(self._running)

    def prepare_next_command(self) -> Command | None:
        if self._code or not self._is_run_due:  # it stops at the first error
            return None
        task, part = self._task, self._take_part()
        self._untransferred = self._scratch / f"untransferred{self._start_count}"
        self._errors = self._scratch / f"errors{self._start_count}"
        words = list(self._added)
        if not {"df", "do"} & task.words.options.keys():
            words += ["-df", str(self._untransferred)]
        self._stderr = Tail(self._errors)
        self._part_started_ns = time.time_ns() - CLOCK_STEP_NS
        return Command((task.line.program, *words, *self._make_arguments(part)), errors_to=self._errors)

    @property
    def _added(self) -> tuple[str, ...]:
        """Return our flags for this run; none once the user's own command line is due."""
        task = self._task
        if self.step_down.is_plain:
            return ()
        return make_flags("globus-url-copy", self._running, task.by_hand, task.words, _GRAMMAR)

    def _make_arguments(self, part: Sequence[int]) -> Sequence[str]:
        """Return the user's own words, or those that hold for a part of the list."""
        if not part:
            return self._task.line.arguments
        listed = self._scratch / f"list{self._start_count}"
        listed.write_text("".join(self._pairs[at].format_line() for at in part), encoding="utf-8")
        folders = ("-cd",) if {"r", "recurse"} & self._task.words.options.keys() else ()
        return (
            *remove_options(self._task.line.arguments, _GRAMMAR, ("f", "r", "recurse")),
            *folders,
            "-f",
            str(listed),
        )

    def poll(self) -> None:
        if self._stderr is not None and (spoken := self._stderr.read()) and not self._interrupting:
            os.write(2, spoken)
        self._watch()

    def note_finished(self, code: int, /) -> int:
        self.poll()
        self._code = self._finish_run(code)
        if is_own_failure(self._code) and self._added and self._retry_missing(self._list_unfinished()):
            self._code = 0
            return 0
        if self._code or code == 0:
            self._failed += max(_count_lines(self._untransferred), _count_reported_errors(self._errors))
        return self._code

    def measure_progress(self) -> ToolProgress:
        with self._changing:
            return ToolProgress(sum(self._list_written_bytes()) + self._refetched_bytes, None)

    def build_result(self) -> ToolResult | None:
        failed = self._failed + (len(self._left) if self._code else 0)
        if self._local:
            written = self._list_written_bytes()
            return ToolResult(sum(written), max(len(written) - failed, 0), failed)
        sent = self._task.measure_workload()
        if sent is None or self._code != 0:
            return None
        return ToolResult(sum(sent.sizes_bytes), len(sent.sizes_bytes), failed)

    def _count_moved_bytes(self) -> int:
        return sum(self._list_written_bytes())

    def _list_unfinished(self) -> Sequence[int]:
        """Return positions by the local sizes, and by the dump of a finished run: an empty file says nothing."""
        dumped = read_pairs(self._untransferred) if self._pid is None and self._untransferred.exists() else ()
        left = {pair.destination for pair in dumped}
        return [
            at
            for at in self._part
            if self._pairs[at].destination in left or self._count_written_bytes(at) < (self._pairs[at].size_bytes or 0)
        ]

    def _compute_lost_bytes(self) -> int:
        return sum(self._count_written_bytes(at) for at in self._list_unfinished())

    def _express(self, parameters: Parameters) -> Parameters:
        return Parameters(
            concurrency=parameters.concurrency,
            parallelism=parameters.parallelism,
            io_block_bytes=parameters.io_block_bytes,
        )

    def _count_written_bytes(self, at: int) -> int:
        """Return the bytes that this run has written of a file."""
        path = parse_local_path(self._pairs[at].destination)
        return 0 if path is None else count_bytes_written(path, since_ns=self._part_started_ns)

    def _list_written_bytes(self) -> list[int]:
        return [size for end in self._local for size in end.list_written_bytes()]


def _count_lines(path: Path) -> int:
    try:
        return len([line for line in path.read_text(errors="replace").splitlines() if line.strip()])
    except OSError:
        return 0


def _count_reported_errors(path: Path) -> int:
    try:
        counts = _ERRORS.findall(path.read_text(errors="replace"))
    except OSError:
        return 0
    return int(counts[-1]) if counts else 0


def _read_url_pairs(listed: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.destination) for pair in read_pairs(listed)]

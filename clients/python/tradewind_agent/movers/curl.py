"""curl: files at once by flags; its own reports (``-w``) go to a file, with what else it says on standard error."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.asking_tool import ask_tool
from tradewind_agent.movers.command_line import CommandLine, Grammar, Parsed, grammar_of_help, parse
from tradewind_agent.movers.flag_words import added_words, left_out, whole_setting
from tradewind_agent.movers.port import Command, Ends, Progress, Result, Tuning, Workload, set_by_user
from tradewind_agent.movers.rate_option import rate_words
from tradewind_agent.movers.rounds import rounds_worth, split_by_bytes
from tradewind_agent.movers.tail import Tail
from tradewind_agent.movers.url_globs import expanded
from tradewind_agent.movers.url_sizes import ends_of_urls, workload_of_paths, workload_of_urls

_MARK = b"\x1e"
"""Record separator: what follows it up to the line's end is a report, not something for the user."""

_QUIET = ("--no-progress-meter",)
"""curl's meter of parallel transfers takes no notice of ``--silent`` (seen with 7.88)."""

_REPORT = "%{stderr}" + _MARK.decode() + "%{json}\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """An address, the file it becomes, and its size."""

    address: str
    file: Path
    size_bytes: int


class CurlMover:
    name, programs, package, oldest, tuned = "curl", ("curl",), "curl", (7, 75), True
    version_words = ("--version",)

    def task(self, line: CommandLine) -> "CurlTask":
        """Addresses with options; otherwise as ``Mover.task``."""
        grammar = grammar_of_help(ask_tool((line.program, "--help", "all")))
        given = parse(line.arguments, grammar)
        addresses = (*given.places, *given.options.get("url", ()))
        if not addresses and "config" not in given.options:
            raise InvalidValue("curl", "is wrapped with an address")
        return CurlTask(line, given, grammar, addresses)

    def task_of_pairs(self, line: CommandLine, pairs: tuple[Pair, ...]) -> "CurlTask":
        """``pairs`` under the options of ``line``."""
        grammar = grammar_of_help(ask_tool((line.program, "--help", "all")))
        return CurlTask(line, parse(line.arguments, grammar), grammar, (), pairs=pairs)


class CurlTask:
    """One command line of curl.

    ``pairs`` : what to fetch, where that is known apart from the command line; only then can the work be split.
    """

    def __init__(
        self,
        line: CommandLine,
        given: Parsed,
        grammar: Grammar,
        addresses: tuple[str, ...],
        *,
        pairs: tuple[Pair, ...] = (),
    ) -> None:
        self.line, self.given, self.grammar, self.pairs = line, given, grammar, pairs
        globs = "globoff" not in given.options
        self.addresses = tuple(each for address in addresses for each in (expanded(address) if globs else [address]))
        self.uploads = "upload-file" in given.options
        self.by_hand = set_by_user((("concurrency", _own_concurrency(given)),))

    @property
    def ends(self) -> Ends:
        address = self.addresses[0] if self.addresses else self.pairs[0].address if self.pairs else None
        if address is not None and "://" not in address:
            address = f"http://{address}"  # what curl guesses
        return ends_of_urls(None, address) if self.uploads else ends_of_urls(address, None)

    @property
    def own_options(self) -> Collection[str]:
        return self.given.options.keys()

    @property
    def folders(self) -> tuple[Path, ...]:
        if self.uploads:
            return tuple(Path(place) for place in self.given.options["upload-file"])
        below = Path(self.given.last("output-dir") or ".")
        named = self.given.options.get("output", ())
        return tuple({pair.file.parent for pair in self.pairs} or {(below / each).parent for each in named} or {below})

    @property
    def changes_live(self) -> bool:
        return bool(self.pairs)

    @property
    def live(self) -> str:
        return "between successive runs over parts of the list" if self.pairs else "nothing"

    @property
    def notes(self) -> tuple[str, ...]:
        if self._to_output:
            return ("curl writes to standard output, where several files at once would mix: run one after another",)
        return ()

    @property
    def _to_output(self) -> bool:
        """Whether several bodies go to standard output."""
        named = sum(len(self.given.options.get(option, ())) for option in ("output", "remote-name", "upload-file"))
        own_lists = {"remote-name-all", "config"} & self.given.options.keys()
        several = len(self.addresses) > 1
        return several and not own_lists and named < len((*self.given.places, *self.given.options.get("url", ())))

    def workload(self) -> Workload | None:
        if self.uploads:
            return workload_of_paths([Path(place) for place in self.given.options["upload-file"]])
        addresses = [each if "://" in each else f"http://{each}" for each in self.addresses]
        return workload_of_urls(addresses, self.line.environment) if addresses else None

    def left_out(self, parameters: Parameters) -> tuple[str, ...]:
        return left_out("curl", parameters)

    def run(self, tuning: Tuning, scratch: Path) -> "CurlRun":
        return CurlRun(self, tuning, scratch)

    def added(self, parameters: Parameters) -> tuple[str, ...]:
        """Flags for ``parameters``; none for what would mix on standard output."""
        if self._to_output:
            return ()
        words = added_words("curl", parameters, self.by_hand, self.given, self.grammar)
        return (*words, *_QUIET) if words and "silent" in self.given.options else words


class CurlRun:
    """curl as the user wrote it, or over one part of a list after another."""

    over = False

    def __init__(self, task: CurlTask, tuning: Tuning, scratch: Path) -> None:
        sizes_bytes = [pair.size_bytes for pair in task.pairs]
        self._task, self._parameters, self._scratch = task, tuning.parameters, scratch
        self._fixed, self._rate_bps = tuning.fixed, tuning.rate_bps
        self._running = tuning.parameters
        rounds = rounds_worth(sizes_bytes, tuning.expected_bps, tuning.round_s, tuning.parameters.concurrency or 1)
        self._parts = split_by_bytes(sizes_bytes, rounds) if task.pairs else ()
        self._begun = 0
        self._pending = b""
        self._said: Tail | None = None
        self._reports: list[Mapping[str, object]] = []

    @property
    def in_force(self) -> Parameters:
        if self._task.added(self._running):
            return Parameters(concurrency=self._running.concurrency)
        return Parameters(concurrency=self._task.by_hand.concurrency or 1)

    def next_command(self) -> Command | None:
        if self._begun >= max(len(self._parts), 1):
            return None
        task, said = self._task, self._scratch / f"said{self._begun}"
        words = list(_with_reports(task.line.arguments, task.given))
        words += [*task.added(self._parameters)]
        self._running = self._parameters
        words += rate_words("curl", self._rate_bps, task.own_options, at_once=self.in_force.concurrency or 1)
        if self._parts:
            words += ["--config", str(self._list(self._parts[self._begun]))]
        self._said = Tail(said)
        self._begun += 1
        return Command((task.line.program, *words), errors_to=said)

    def started(self, _pid: int, /) -> None:
        """Its process is of no use here."""

    def tick(self) -> None:
        if self._said is None:
            return
        self._pending += self._said.read()
        while True:
            spoken, mark, after = self._pending.partition(_MARK)
            report, end, rest = after.partition(b"\n")
            if spoken:
                os.write(2, spoken)
            if not end:
                self._pending = mark + report
                return
            self._note(report)
            self._pending = rest

    def ended(self, _code: int, /) -> None:
        self.tick()

    def progress(self) -> Progress:
        files = len(self._task.pairs) or len(self._task.addresses)
        return Progress(self._totals().bytes_moved, max(files - len(self._reports), 0) if files else None)

    def retune(self, chunks: Sequence[ChunkPlan], /) -> bool:
        wanted = whole_setting(chunks, self._fixed)
        if self._begun >= len(self._parts) or wanted.concurrency == self._parameters.concurrency:
            return False
        self._parameters = wanted
        return True

    def result(self) -> Result | None:
        return self._totals() if self._reports else None

    def _totals(self) -> Result:
        reports = list(self._reports)
        failed = sum(1 for report in reports if report.get("exitcode"))
        moved = sum(_size(report, "size_download") + _size(report, "size_upload") for report in reports)
        return Result(moved, len(reports) - failed, failed)

    def _note(self, report: bytes) -> None:
        try:
            row = json.loads(report)
        except ValueError:
            return
        if isinstance(row, dict):
            self._reports.append(row)

    def _list(self, part: range) -> Path:
        path = self._scratch / f"list{self._begun}"
        rows = (self._task.pairs[at] for at in part)
        path.write_text(
            "".join(f"url = {_quoted(each.address)}\noutput = {_quoted(str(each.file))}\n" for each in rows),
            encoding="utf-8",
        )
        return path


def _own_concurrency(given: Parsed) -> int | None:
    """What the user's flags say of files at once; curl's own default is 50 (manual, --parallel-max)."""
    if "parallel" in given.options:
        return given.count("parallel-max") or 50
    return None


def _with_reports(arguments: tuple[str, ...], given: Parsed) -> tuple[str, ...]:
    """``arguments`` with a report behind what the user has curl write; ``--next`` begins anew with no options."""
    own = given.last("write-out") or ""
    if own.startswith("@"):
        try:
            own = Path(own[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            own = ""
    report = ("--write-out", own + _REPORT)
    words: list[str] = []
    for word in arguments:
        words += [*report, word] if word in ("--next", "-:") else [word]
    return (*words, *report)


def _size(report: Mapping[str, object], key: str) -> int:
    value = report.get(key)
    return int(value) if isinstance(value, int | float) else 0


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

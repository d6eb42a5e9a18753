"""rclone: files at once and streams a file by flags; successive runs over parts of the list where settings change."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.units import parse_seconds
from tradewind_agent.history.importers.json_messages import find_text
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, parse, parse_help
from tradewind_agent.movers.flag_words import choose_single_setting, find_inexpressible, make_flags
from tradewind_agent.movers.port import (
    Command,
    RunSettings,
    ToolProgress,
    ToolResult,
    TransferEnds,
    Workload,
    set_by_user,
)
from tradewind_agent.movers.rate_option import make_rate_option
from tradewind_agent.movers.rclone.log import RcloneLog
from tradewind_agent.movers.rclone.remotes import find_host
from tradewind_agent.movers.rounds import count_rounds, split_by_bytes
from tradewind_agent.movers.step_down import StepDown
from tradewind_agent.movers.tool_query import parse_json_list, query_tool

_MOVES = ("copy", "sync", "move", "copyto", "moveto")
_VARIABLE = "RCLONE_"
_FALSE = ("0", "f", "F", "false", "False", "FALSE")
"""How rclone reads a switch that is off (Go, strconv.ParseBool)."""

_LIST_S = 20.0
"""A listing that takes longer costs more than a recommendation by its sizes gains."""

_FILTERS = ("include", "exclude", "filter", "files-from", "max-", "min-", "max-depth", "hash-filter")
_OF_COPIES = ("create-empty-src-dirs", "delete-empty-src-dirs", "progress", "dry-run", "interactive", "verbose")
_OWN_LOGS = ("log-file", "use-json-log", "stats", "stats-log-level", "log-level")
_DEFAULT_TRANSFERS = 4
_REPEATABLE = (1, 2, 5, 6)
"""Exit codes of errors that another run may not meet; the others say what is not there, or that a limit was reached."""

_STATS_EVERY_S = 60.0
"""How often rclone prints statistics unless ``--stats`` says otherwise."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    path: str
    size_bytes: int


class RcloneMover:
    name, programs, package, oldest, is_tuned = "rclone", ("rclone",), "rclone", (1, 53), True
    version_words = ("version",)

    def parse_task(self, line: CommandLine) -> "RcloneTask":
        """Return a ``copy``, ``sync``, ``move``, ``copyto`` or ``moveto``; otherwise as ``Mover.parse_task``."""
        return self._parse_task(line, None)

    def build_task_of_files(self, line: CommandLine, files: tuple[ListedFile, ...]) -> "RcloneTask":
        """Return a copy of these files below the source, and of no others.

        Raises
        ------
        InvalidValue : variables of rclone's that filter, which a list of files would override.
        """
        task = self._parse_task(line, files)
        if task.filters:
            own = ", ".join(f"{_VARIABLE}{name}".upper().replace("-", "_") for name in task.filters)
            raise InvalidValue("rclone", f"is given a list of files, which your own {own} would not hold for; unset it")
        return task

    def _parse_task(self, line: CommandLine, files: tuple[ListedFile, ...] | None) -> "RcloneTask":
        text = query_tool((line.program, "help", "flags")) + query_tool((line.program, "copy", "--help"))
        grammar = parse_help(text, switch_types=("count",))
        words = parse(line.arguments, grammar)
        if len(words.places) != 3 or words.places[0] not in _MOVES:
            raise InvalidValue("rclone", f"is wrapped with one of {', '.join(_MOVES)}, a source and a destination")
        return RcloneTask(line, words, grammar, files)


class RcloneTask:
    """One command line of rclone; of all files of the source, or of ``files`` alone."""

    def __init__(
        self, line: CommandLine, words: ParsedWords, grammar: Grammar, files: tuple[ListedFile, ...] | None = None
    ) -> None:
        self.line, self.words, self.grammar = line, words, grammar
        # A variable is the user's word as much as a flag is.
        self.effective_options = ParsedWords({**_parse_variables(line.environment), **words.options}, words.places)
        environment = line.environment
        source, protocol, port = find_host(words.places[1], words, environment)
        destination, its_protocol, its_port = find_host(words.places[2], words, environment)
        self.ends = (
            TransferEnds(source=source, destination=destination, protocol=protocol, port=port)
            if source is not None
            else TransferEnds(source=None, destination=destination, protocol=its_protocol, port=its_port)
        )
        self.by_hand = _parse_user_parameters(self.effective_options)
        self.filters = sorted(option for option in self.effective_options.options if option.startswith(_FILTERS))
        self._files = files
        self._of_list = files is not None

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        return self.effective_options.options

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(Path(place) for place in self.words.places[1:] if ":" not in place.partition("/")[0])

    @property
    def can_change_live(self) -> bool:
        return self._can_be_split

    @property
    def live(self) -> str:
        return "between successive runs over parts of the list" if self.can_change_live else "nothing"

    @property
    def notes(self) -> tuple[str, ...]:
        return ("rclone logs to syslog, where its result is not read",) if self.is_on("syslog") else ()

    def is_on(self, switch: str) -> bool:
        return switch in self.effective_options.options and self.effective_options.find_last(switch) not in _FALSE

    @property
    def _can_be_split(self) -> bool:
        """Return a sync deletes what is not in its list, and filters of the user's own are not mixed with ours.

        A list has a name a line.
        """
        is_plain = (
            self.words.places[0] == "copy" and not self.filters and self.effective_options.parse_count("retries") != 0
        )
        return is_plain and not any("\n" in file.path or "\r" in file.path for file in self._files or ())

    def measure_workload(self) -> Workload | None:
        listed = self._list_files()
        return Workload(tuple(max(file.size_bytes, 0) for file in listed), is_exact=True) if listed else None

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("rclone", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> "RcloneRun":
        listed = self._files or ()
        sizes = [file.size_bytes for file in listed]
        rounds = count_rounds(sizes, tuning.expected_bps, tuning.round_s, tuning.parameters.concurrency or 1)
        if (rounds == 1 or not self._can_be_split) and not self._of_list:
            return RcloneRun(self, tuning, (), len(listed) or None, scratch)
        parts = tuple(tuple(listed[at].path for at in part) for part in split_by_bytes(sizes, rounds))
        return RcloneRun(self, tuning, parts, len(listed), scratch)

    def _list_files(self) -> tuple[ListedFile, ...] | None:
        """Return the files of the source as rclone sees them; ``None`` where it cannot list them in time."""
        if self._files is None:
            options = {name: values for name, values in self.words.options.items() if _is_listing_option(name)}
            words = [f"--{name}={value}" if value else f"--{name}" for name in options for value in options[name]]
            listing = (self.line.program, "lsjson", "-R", "--files-only", "--no-modtime", "--no-mimetype", *words)
            rows = parse_json_list(query_tool((*listing, "--", self.words.places[1]), patience_s=_LIST_S))
            self._files = None if rows is None else tuple(_parse_file(row) for row in rows)
        return self._files


class RcloneRun:
    """A run of rclone over the entire source, or over one part of its list after another."""

    is_over = False

    def __init__(
        self,
        task: RcloneTask,
        tuning: RunSettings,
        parts: tuple[tuple[str, ...], ...],
        files: int | None,
        scratch: Path,
    ) -> None:
        self._task, self._parameters, self._parts, self._files = task, tuning.parameters, parts, files
        self._fixed, self._rate_bps, self._scratch = tuning.fixed, tuning.rate_bps, scratch
        self._running = self._parameters
        self._start_count = 0
        self._before = ToolResult(0, 0, 0)
        self._log: RcloneLog | None = None
        self._has_statistics = True
        self.step_down = StepDown(tuning.fixed, _DEFAULT_TRANSFERS)
        self._runs = max(len(parts), 1)

    @property
    def current_parameters(self) -> Parameters:
        if self.step_down.is_plain:
            return self._task.by_hand
        return Parameters(concurrency=self._running.concurrency, parallelism=self._running.parallelism)

    @property
    def _added(self) -> tuple[str, ...]:
        """Return our flags for the next run; none once the user's own command line is due."""
        task = self._task
        if self.step_down.is_plain:
            return ()
        return make_flags("rclone", self._parameters, task.by_hand, task.effective_options, task.grammar)

    def prepare_next_command(self) -> Command | None:
        if self._start_count >= self._runs:
            return None
        task, log = self._task, self._scratch / f"log{self._start_count}"
        self._parameters = self.step_down.cut_parameters(self._parameters)
        ours = list(self._added)
        ours += make_rate_option("rclone", self._rate_bps, task.own_options)
        if self._parts:
            listed = self._scratch / f"files{self._start_count}"
            listed.write_text("".join(f"{path}\n" for path in self._parts[self._start_count]), encoding="utf-8")
            ours += ["--files-from-raw", str(listed)]
        if not task.is_on("syslog"):
            # Statistics at the level of errors, so that they come however quiet the user wants rclone to be.
            ours += ["--use-json-log", "--log-file", str(log), "--stats", "1s", "--stats-log-level", "ERROR"]
        self._log = RcloneLog(
            log,
            Echo(task.effective_options.find_last("log-file")),
            as_json=task.is_on("use-json-log"),
            stats_every_s=_parse_stats_interval_s(task.effective_options),
        )
        self._start_count += 1
        self._running = self._parameters
        return Command(task.line.insert_options(ours))

    def note_started(self, _pid: int, /) -> None:
        """Ignore the start of the process: nothing here needs its id."""

    def poll(self) -> None:
        if self._log is not None:
            self._log.read()

    def note_finished(self, code: int, /) -> int:
        self.poll()
        if self._log is not None:
            self._log.close()
            has_moved_on = self._log.has_statistics or self._task.is_on("syslog")
            self._has_statistics = self._has_statistics and self._log.has_statistics
            failed_before = self._before.files_failed
            self._before, self._log = self._build_totals(), None
            # Without statistics it has not come to the files: its options or its configuration are wrong.
            if code in _REPEATABLE and has_moved_on and self._added and self.step_down.lower(self._running):
                # It skips what is there already.
                self._before = replace(self._before, files_failed=failed_before)
                self._parts += self._parts[self._start_count - 1 : self._start_count]
                self._runs += 1
                return 0
        return code

    def measure_progress(self) -> ToolProgress:
        totals = self._build_totals()
        left = None if self._files is None else max(self._files - totals.files_done - totals.files_failed, 0)
        return ToolProgress(totals.bytes_moved, left)

    def retune(self, chunks: Sequence[ChunkPlan], /) -> bool:
        new_parameters = choose_single_setting(chunks, self._fixed)
        if self._start_count >= len(self._parts) or new_parameters == self._parameters:
            return False
        self._parameters = new_parameters
        return True

    def build_result(self) -> ToolResult | None:
        return self._build_totals() if self._has_statistics else None

    def _build_totals(self) -> ToolResult:
        now = self._log.totals if self._log is not None else ToolResult(0, 0, 0)
        if self._task.is_on("dry-run"):  # its statistics have what would be moved
            return ToolResult(0, 0, self._before.files_failed + now.files_failed)
        return ToolResult(
            self._before.bytes_moved + now.bytes_moved,
            self._before.files_done + now.files_done,
            self._before.files_failed + now.files_failed,
        )


def _parse_variables(environment: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Return the options that the user's variables set."""
    own = ((name.removeprefix(_VARIABLE), value) for name, value in environment.items() if name.startswith(_VARIABLE))
    return {name.lower().replace("_", "-"): (value,) for name, value in own}


def _parse_user_parameters(effective_options: ParsedWords) -> Parameters:
    """Return the parameters that the user sets; no streams (0) is rclone's way to say one."""
    streams = effective_options.parse_count("multi-thread-streams")
    return set_by_user(
        (
            ("concurrency", effective_options.parse_count("transfers")),
            ("parallelism", None if streams is None else max(streams, 1)),
        )
    )


def _is_listing_option(option: str) -> bool:
    return option not in (*_OF_COPIES, *_OWN_LOGS)


def _parse_file(row: Mapping[str, object]) -> ListedFile:
    size = find_text(row, "Size")
    return ListedFile(find_text(row, "Path"), int(size) if size.isdecimal() else 0)


def _parse_stats_interval_s(effective_options: ParsedWords) -> float | None:
    """Return how often the user would see statistics: they are messages of level INFO, unless an option raises them."""
    is_verbose = effective_options.find_last("verbose") not in (None, "0")
    if not (is_verbose or {"v", "stats-log-level"} & effective_options.options.keys()):
        return None
    try:
        return parse_seconds(effective_options.find_last("stats") or "") or None
    except InvalidUnit:
        return _STATS_EVERY_S


class Echo:
    """Rclone's messages to where the user wants them: standard error, or a file that is added to.

    A transfer is not given up for its messages: where the file cannot be written, they go to standard error from then
    on, and what that does not take is lost.
    """

    def __init__(self, log_file: str | None) -> None:
        self._log_file = log_file

    def __call__(self, text: bytes) -> None:
        if self._log_file is not None:
            try:
                with Path(self._log_file).open("ab") as log:
                    log.write(text)
            except OSError as failure:
                why = f"tradewind: {self._log_file} cannot be written ({failure.strerror}); its messages follow here\n"
                self._log_file, text = None, why.encode() + text
            else:
                return
        with suppress(OSError):
            os.write(2, text)

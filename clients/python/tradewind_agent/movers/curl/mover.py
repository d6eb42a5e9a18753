"""curl: files at once by flags; its own reports (``-w``) go to a file, with its other output on standard error.

A list of files is moved by successive runs, as curl has no way to change while it runs.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, collect_words, parse_help
from tradewind_agent.movers.curl.configuration import MARK, add_reports, read_curl_words
from tradewind_agent.movers.curl.file_list import UNREPEATABLE_OPTIONS, CurlFile, FileList, parse_file_list, quote_value
from tradewind_agent.movers.curl.reports import (
    Report,
    describe_other_answers,
    has_failed,
    has_other_answer,
    may_succeed_alone,
    read_number,
)
from tradewind_agent.movers.curl.url_globs import expand_globs
from tradewind_agent.movers.flag_words import find_inexpressible, make_flags
from tradewind_agent.movers.local_end import CLOCK_STEP_NS, count_bytes_written
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
from tradewind_agent.movers.step_down import is_own_failure
from tradewind_agent.movers.successive_runs import SuccessiveRuns
from tradewind_agent.movers.tail import Tail
from tradewind_agent.movers.tool_query import query_tool
from tradewind_agent.movers.url_sizes import find_ends, measure_paths, measure_urls

_QUIET = ("--no-progress-meter",)
"""curl's meter of parallel transfers takes no notice of ``--silent`` (seen with 7.88)."""


class CurlMover:
    name, programs, package, oldest, is_tuned = "curl", ("curl",), "curl", (7, 75), True
    version_words = ("--version",)

    def parse_task(self, line: CommandLine) -> "CurlTask":
        """Return the addresses with options; otherwise as ``Mover.parse_task``."""
        grammar = parse_help(query_tool((line.program, "--help", "all")))
        words = collect_words(read_curl_words(line, grammar))
        addresses = (*words.places, *words.options.get("url", ()))
        if not addresses and "config" not in words.options:
            raise InvalidValue("curl", "is wrapped with an address")
        return CurlTask(line, words, grammar, addresses, parse_file_list(line.arguments, words, grammar))

    def build_task_of_pairs(self, line: CommandLine, pairs: tuple[CurlFile, ...]) -> "CurlTask":
        """Return ``pairs`` under the options of ``line``."""
        grammar = parse_help(query_tool((line.program, "--help", "all")))
        return CurlTask(
            line, collect_words(read_curl_words(line, grammar)), grammar, (), FileList(pairs, line.arguments)
        )


class CurlTask:
    """One command line of curl; ``words`` holds what its configuration files set, too.

    ``listed`` : its files, where it is a list of them; only then can the work be split.
    """

    def __init__(
        self, line: CommandLine, words: ParsedWords, grammar: Grammar, addresses: tuple[str, ...], listed: FileList
    ) -> None:
        self.line, self.words, self.grammar, self.listed = line, words, grammar, listed
        globs = "globoff" not in words.options
        self.addresses = tuple(
            each for address in addresses for each in (expand_globs(address) if globs else [address])
        )
        self.uploads = "upload-file" in words.options
        self.by_hand = set_by_user((("concurrency", _parse_user_concurrency(words)),))

    @property
    def pairs(self) -> tuple[CurlFile, ...]:
        return self.listed.pairs

    @property
    def resumes(self) -> bool:
        """Return whether the user wants what is there already of a file to be kept."""
        return "continue-at" in self.words.options

    @property
    def ends(self) -> TransferEnds:
        address = self.addresses[0] if self.addresses else self.pairs[0].address if self.pairs else None
        if address is not None and "://" not in address:
            address = f"http://{address}"  # what curl guesses
        return find_ends(None, address) if self.uploads else find_ends(address, None)

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        return self.words.options

    @property
    def folders(self) -> tuple[Path, ...]:
        if self.uploads:
            return tuple(Path(place) for place in self.words.options["upload-file"])
        below = Path(self.words.find_last("output-dir") or ".")
        named = self.words.options.get("output", ())
        return tuple({pair.file.parent for pair in self.pairs} or {(below / each).parent for each in named} or {below})

    @property
    def can_change_live(self) -> bool:
        return bool(self.pairs) and "concurrency" not in self.by_hand.list_known()

    @property
    def live(self) -> str:
        if self.can_change_live:
            return "between successive runs over parts of the list, one cut short where that pays"
        return f"nothing: {self.listed.refusal or 'files at once are set by your own flag or configuration'}"

    @property
    def notes(self) -> tuple[str, ...]:
        if self._to_output:
            return ("curl writes to standard output, where several files at once would mix: run one after another",)
        return ()

    @property
    def writes_once(self) -> bool:
        """Return whether a second run would do something twice: send data, or write to standard output."""
        options = self.words.options.keys()
        named = {"output", "remote-name", "remote-name-all", "upload-file", "config"} & options
        return bool(UNREPEATABLE_OPTIONS & options) or not named

    @property
    def _to_output(self) -> bool:
        """Return whether several bodies go to standard output."""
        named = sum(len(self.words.options.get(option, ())) for option in ("output", "remote-name", "upload-file"))
        own_lists = {"remote-name-all", "config"} & self.words.options.keys()
        several = len(self.addresses) > 1
        return several and not own_lists and named < len((*self.words.places, *self.words.options.get("url", ())))

    def measure_workload(self) -> Workload | None:
        if self.uploads:
            return measure_paths([Path(place) for place in self.words.options["upload-file"]])
        addresses = [each if "://" in each else f"http://{each}" for each in self.addresses]
        found = measure_urls(addresses, self.line.environment) if addresses else None
        if found is not None and len(found.sizes_bytes) == len(self.pairs):
            sized = (replace(pair, size_bytes=size) for pair, size in zip(self.pairs, found.sizes_bytes, strict=True))
            self.listed = replace(self.listed, pairs=tuple(sized))
        return found

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("curl", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> "CurlRun":
        return CurlRun(self, tuning, scratch)

    def make_added_flags(self, parameters: Parameters) -> tuple[str, ...]:
        """Return the flags for ``parameters``; none for what would mix on standard output."""
        if self._to_output:
            return ()
        words = make_flags("curl", parameters, self.by_hand, self.words, self.grammar)
        return (*words, *_QUIET) if words and "silent" in self.words.options else words


class CurlRun(SuccessiveRuns):
    """curl as the user wrote it, or over one part of a list after another."""

    def __init__(self, task: CurlTask, tuning: RunSettings, scratch: Path) -> None:
        sizes = [pair.size_bytes for pair in task.pairs]
        splits = (task.can_change_live and tuning.round_s is not None and any(sizes)) or not task.addresses
        super().__init__(sizes if splits else (), tuning)
        self._task, self._scratch = task, scratch
        self._pending = b""
        self._stderr: Tail | None = None
        self._reports: list[Report] = []
        self._reported: dict[int, Report] = {}
        self._failure = 0
        self._part_started_ns = 0
        self._resumed_bytes = 0
        resumed = enumerate(task.pairs) if task.resumes and splits else ()
        self._before = {at: count_bytes_written(pair.file, since_ns=0) for at, pair in resumed}

    @property
    def current_parameters(self) -> Parameters:
        if self._added:
            return Parameters(concurrency=self._running.concurrency)
        return Parameters(concurrency=self._task.by_hand.concurrency or 1)

    def prepare_next_command(self) -> Command | None:
        if not self._is_run_due:
            return None
        task, stderr = self._task, self._scratch / f"stderr{self._start_count}"
        if self._start_count and "fail-early" in task.words.options and any(map(has_failed, self._reports)):
            return None
        part = self._take_part()
        ours = [*self._added]
        rate = make_rate_option(
            "curl", self._tuning.rate_bps, task.own_options, at_once=self.current_parameters.concurrency or 1
        )
        if part:
            ours += ["--config", str(self._write_list(part))]
        self._stderr, self._pending, self._reported = Tail(stderr), b"", {}
        self._failure = 0
        self._part_started_ns = time.time_ns() - CLOCK_STEP_NS
        line = replace(task.line, arguments=task.listed.words) if part else task.line
        return Command(add_reports(line, task.grammar, rate).insert_options(ours), errors_to=stderr)

    def poll(self) -> None:
        self._read()
        self._watch()

    def note_finished(self, code: int, /) -> int:
        self._read()
        if self._pending and MARK not in self._pending:
            os.write(2, self._pending)
        interrupted = {at: self._count_written_bytes(at) for at in self._list_unfinished()}
        counted = self._finish_run(code)
        if counted == code:
            return self._judge_code(code)
        if self._task.resumes:
            self._resumed_bytes += sum(interrupted.values())
            self._before = {at: bytes_ + interrupted.get(at, 0) for at, bytes_ in self._before.items()}
        return self._failure

    @property
    def _added(self) -> tuple[str, ...]:
        """Return our flags for this run; none once the user's own command line is due."""
        return () if self.step_down.is_plain else self._task.make_added_flags(self._running)

    def _judge_code(self, code: int) -> int:
        """Return the code of a run that ended by itself; 0 where all that it has left out is moved again."""
        failed = {number: row for number, row in self._reported.items() if may_succeed_alone(row)}
        has_tried = bool(self._reported)  # it reports each file; options that it does not take end it before
        may_repeat = bool(self._added) and has_tried and not self._task.writes_once
        if not may_repeat or not (failed or is_own_failure(code)) or (code and not is_own_failure(code)):
            return code
        pairs = self._task.pairs
        part = self._part or tuple(range(len(pairs)))
        missing = [at for number, at in enumerate(part) if number in failed or number not in self._reported]
        if (pairs and not missing) or not self._retry_missing(missing):
            return code
        if pairs:
            self._sizes = self._sizes or tuple(pair.size_bytes for pair in pairs)
        dropped = failed if pairs else self._reported
        with self._changing:
            self._reports = [row for row in self._reports if not any(row is each for each in dropped.values())]
        left = [row for number, row in self._reported.items() if number not in failed and row.get("exitcode")]
        return read_number(left[0], "exitcode") if pairs and left else 0

    def measure_progress(self) -> ToolProgress:
        files = len(self._task.pairs) or len(self._task.addresses)
        with self._changing:
            moved = self._count_moved_bytes() + self._refetched_bytes
        return ToolProgress(moved, max(files - len(self._reports), 0) if files else None)

    def build_result(self) -> ToolResult | None:
        return self._build_totals() if self._reports else None

    @property
    def outcome_notes(self) -> tuple[str, ...]:
        """Return what curl does not report as a failure, though it is one."""
        answers = [report for report in self._reports if self._is_other_answer(report)]
        return (describe_other_answers(answers, uploads=self._task.uploads),) if answers else ()

    def _build_totals(self) -> ToolResult:
        reports = list(self._reports)
        failed = sum(1 for report in reports if has_failed(report) or self._is_other_answer(report))
        of_files = [report for report in reports if not self._is_other_answer(report)]
        moved = sum(read_number(report, "size_download") + read_number(report, "size_upload") for report in of_files)
        return ToolResult(moved + self._resumed_bytes, len(reports) - failed, failed)

    def _is_other_answer(self, report: Report) -> bool:
        return has_other_answer(report, resumes=self._task.resumes)

    def _count_moved_bytes(self) -> int:
        return self._build_totals().bytes_moved + sum(self._count_written_bytes(at) for at in self._list_under_way())

    def _list_unfinished(self) -> Sequence[int]:
        return [at for number, at in enumerate(self._part) if number not in self._reported]

    def _list_under_way(self) -> Sequence[int]:
        """Return those it is at: it begins files in their order."""
        return self._list_unfinished()[: self._running.concurrency or 1]

    def _compute_lost_bytes(self) -> int:
        return 0 if self._task.resumes else sum(self._count_written_bytes(at) for at in self._list_under_way())

    def _express(self, parameters: Parameters) -> Parameters:
        return Parameters(concurrency=parameters.concurrency or 1)

    def _count_written_bytes(self, at: int) -> int:
        """Return the bytes that this run has written of a file."""
        now = count_bytes_written(self._task.pairs[at].file, since_ns=self._part_started_ns)
        return max(now - self._before.get(at, 0), 0)

    def _read(self) -> None:
        if self._stderr is None:
            return
        self._pending += self._stderr.read()
        while True:
            spoken, mark, after = self._pending.partition(MARK)
            report, end, rest = after.partition(b"\n")
            if spoken:
                os.write(2, spoken)
            if not end:
                self._pending = mark + after
                break
            self._note_report(report)
            self._pending = rest

    def _note_report(self, report: bytes) -> None:
        try:
            row = json.loads(report)
        except ValueError:
            return
        if isinstance(row, dict):
            with self._changing:
                self._reports.append(row)
                self._reported[read_number(row, "urlnum")] = row
                self._failure = read_number(row, "exitcode") or self._failure

    def _write_list(self, part: Sequence[int]) -> Path:
        path = self._scratch / f"list{self._start_count}"
        rows = (self._task.pairs[at] for at in part)
        path.write_text(
            "".join(f"url = {quote_value(each.address)}\n{each.name_line}\n" for each in rows), encoding="utf-8"
        )
        return path


def _parse_user_concurrency(words: ParsedWords) -> int | None:
    """Return the simultaneous files that the user sets.

    Curl's own default is 50 (manual, --parallel-max), and 1 unless parallel.
    """
    if "parallel" in words.options:
        return words.parse_count("parallel-max") or 50
    return 1 if "parallel-max" in words.options else None

"""aria2c: flags at the start, changes while it runs by JSON-RPC.

The secret of the RPC goes by a configuration file that only the user may read: a command line is for all to see.
"""

import os
import secrets
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from tradewind.errors import InvalidValue
from tradewind.flags import ARIA2_MAX_CONNECTIONS_PER_SERVER
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.aria2.command import list_addresses, list_folders, parse_options, read_configuration
from tradewind_agent.movers.aria2.present_files import PresentFiles
from tradewind_agent.movers.aria2.rpc import Aria2Rpc
from tradewind_agent.movers.command_line import CommandLine, Grammar, ParsedWords, parse, parse_help, remove_options
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
from tradewind_agent.movers.step_down import StepDown, is_own_failure
from tradewind_agent.movers.tool_query import query_tool
from tradewind_agent.movers.url_sizes import find_ends, measure_urls

_DEFAULT_FILES = 5
_DEFAULT_SPLIT, _DEFAULT_PER_SERVER = 5, 1
_WORTH_RESTARTING_BYTES = 8 << 20
"""Least remaining bytes for a change of streams, for which aria2 restarts and resumes the download."""

_STREAMS = ("split", "max-connection-per-server")


class Aria2Mover:
    name, programs, package, oldest, is_tuned = "aria2", ("aria2c", "aria2"), "aria2", (1, 19), True
    version_words = ("--version",)

    def parse_task(self, line: CommandLine) -> "Aria2Task":
        """Parse downloads by addresses or an input file; otherwise as ``Mover.parse_task``."""
        grammar = parse_help(query_tool((line.program, "--help=#all")))
        words = parse(line.arguments, grammar)
        addresses = list_addresses(words)
        if not addresses:
            raise InvalidValue("aria2c", "is wrapped with addresses, or an input file of them")
        return Aria2Task(line, words, grammar, addresses)


class Aria2Task:
    """One command line of aria2c."""

    def __init__(self, line: CommandLine, words: ParsedWords, grammar: Grammar, addresses: tuple[str, ...]) -> None:
        self.line, self.words, self.grammar, self.addresses = line, words, grammar, addresses
        self.configuration = read_configuration(words, line.environment)
        # A configuration file is the user's word as much as a flag is.
        self.effective_options = ParsedWords({**parse_options(self.configuration), **words.options}, words.places)
        self.by_hand = _parse_user_parameters(self.effective_options)
        self.by_rpc = not {"enable-rpc", "daemon", "no-conf"} & self.effective_options.options.keys()

    @property
    def ends(self) -> TransferEnds:
        return find_ends(self.addresses[0], None)

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        return self.effective_options.options

    @property
    def folders(self) -> tuple[Path, ...]:
        return (Path(self.effective_options.find_last("dir") or "."),)

    def is_on(self, switch: str) -> bool:
        return self.effective_options.find_last(switch) in ("", "true")

    @property
    def can_change_live(self) -> bool:
        return self.by_rpc

    @property
    def live(self) -> str:
        return "files at once and streams a file, by JSON-RPC" if self.by_rpc else "nothing"

    @property
    def notes(self) -> tuple[str, ...]:
        if self.by_rpc:
            return ()
        return ("aria2c runs with an RPC of your own, or without configuration: its result is not read",)

    def measure_workload(self) -> Workload | None:
        return measure_urls(self.addresses, self.line.environment)

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("aria2", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> "Aria2Run":
        return Aria2Run(self, tuning, scratch)


_PRESENT = "present"
"""Status of a download whose file was there and stays as it is."""


class _FinishedDownload(NamedTuple):
    """A finished download: aria2's word for its status, and what was moved of it in this run."""

    status: str
    moved_bytes: int


class Aria2Run:
    """One aria2c, followed and retuned by RPC; it is shut down by us, as with RPC it would wait for more for ever."""

    def __init__(self, task: Aria2Task, tuning: RunSettings, scratch: Path) -> None:
        self._task, self._parameters, self._scratch = task, _limit_parallelism(tuning.parameters), scratch
        self._fixed, self._rate_bps = tuning.fixed, tuning.rate_bps
        self._rpc: Aria2Rpc | None = None
        self._present: PresentFiles | None = None
        self._earlier_bytes: dict[str, int | None] = {}
        self._finished_downloads: dict[str, _FinishedDownload] = {}
        self._moving_bytes = 0
        self._left: int | None = len(task.addresses)
        self._answered = self.is_over = False
        self._start_count = 0
        self.step_down = StepDown(tuning.fixed, _DEFAULT_FILES)
        self._missing: Path | None = None
        self._is_due = True
        self._pid: int | None = None
        self._retuning = Lock()

    @property
    def current_parameters(self) -> Parameters:
        if self.step_down.is_plain:
            return self._task.by_hand
        return Parameters(concurrency=self._parameters.concurrency, parallelism=self._parameters.parallelism)

    @property
    def _added(self) -> tuple[str, ...]:
        """Return our flags; none once the user's own command line is due."""
        task = self._task
        if self.step_down.is_plain:
            return ()
        return make_flags("aria2", self._parameters, task.by_hand, task.effective_options, task.grammar)

    @property
    def _session(self) -> Path:
        """Return where aria2 notes what it has not finished."""
        return self._scratch / f"session{self._start_count}"

    def prepare_next_command(self) -> Command | None:
        if not self._is_due:
            return None
        self._is_due, self.is_over = False, False
        self._start_count += 1
        task = self._task
        if self._present is None:
            folders = list_folders(task.effective_options)
            self._present = PresentFiles(folders, goes_on=task.is_on("continue"))
        line = task.line
        words = [*self._added]
        if self._missing is not None:
            line = replace(line, arguments=remove_options(line.arguments, task.grammar, ("input-file",)))
            words.append(f"--input-file={self._missing}")
        words += make_rate_option("aria2", self._rate_bps, task.own_options)
        if task.by_rpc:
            port, secret = _find_free_port(), secrets.token_urlsafe(24)
            self._rpc = Aria2Rpc(port, secret)
            if "save-session" not in task.effective_options.options:
                words.append(f"--save-session={self._session}")
            ours = ["enable-rpc=true", "rpc-listen-all=false", f"rpc-listen-port={port}", f"rpc-secret={secret}"]
            if (
                "stop-with-process" not in task.effective_options.options
            ):  # no other process would end it if the agent were killed
                ours.append(f"stop-with-process={os.getpid()}")
            path = self._scratch / "aria2.conf"
            path.touch(mode=0o600)
            path.write_text("\n".join([*task.configuration, *ours, ""]), encoding="utf-8")
            return Command(line.insert_options([*words, f"--conf-path={path}"]), own_port=port)
        return Command(line.insert_options(words))

    def note_started(self, pid: int, /) -> None:
        self._pid = pid

    def poll(self) -> None:
        if self._rpc is None:
            return
        with suppress(LookupError, TypeError, ValueError):  # an invalid answer is ignored
            self._look(self._rpc)

    def _look(self, rpc: Aria2Rpc) -> None:
        state = rpc.call("getGlobalStat")
        if state is None:
            return
        stopped = rpc.list_stopped(self._finished_downloads)
        is_over = {row["gid"]: self._make_finished(row) for row in stopped}
        moving = sum(self._count_moved_bytes(row) for row in rpc.list_active())
        left = int(state["numActive"]) + int(state["numWaiting"])
        self._finished_downloads.update(is_over)
        self._answered, self._moving_bytes, self._left = True, moving, left
        if left == 0:
            self._rpc, self.is_over = None, True
            if self._pid is not None:
                with suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(self._pid, signal.SIGINT)  # keeps aria2c's own exit code; a shutdown by RPC takes 3 s

    def _make_finished(self, row: Mapping[str, Any]) -> _FinishedDownload:
        moved_bytes = self._count_moved_bytes(row)
        return _FinishedDownload(_PRESENT if self._earlier_bytes[row["gid"]] is None else row["status"], moved_bytes)

    def _count_moved_bytes(self, row: Mapping[str, Any]) -> int:
        """Return what this run has moved of a download; a dry run moves nothing of what it calls complete."""
        gid, completed_bytes = row["gid"], int(row["completedLength"])
        if gid not in self._earlier_bytes:
            present = None if self._task.is_on("dry-run") else self._present
            self._earlier_bytes[gid] = None if present is None else present.find_earlier_bytes(row)
        earlier_bytes = self._earlier_bytes[gid]
        return 0 if earlier_bytes is None else max(completed_bytes - earlier_bytes, 0)

    def note_finished(self, code: int, /) -> int:
        self._rpc = None
        may_repeat = is_own_failure(code) and bool(self._added) and self._has_session()
        if not may_repeat or not self.step_down.lower(self._parameters):
            return code
        self._missing, self._is_due = self._session, True
        self._parameters = _limit_parallelism(self.step_down.cut_parameters(self._parameters))
        self._finished_downloads = {
            gid: each for gid, each in self._finished_downloads.items() if each.status != "error"
        }
        self._moving_bytes = 0
        return 0

    def _has_session(self) -> bool:
        try:
            return self._session.stat().st_size > 0
        except OSError:
            return False

    def measure_progress(self) -> ToolProgress:
        done = sum(each.moved_bytes for each in list(self._finished_downloads.values()))
        return ToolProgress(done + self._moving_bytes, self._left)

    def retune(self, chunks: Sequence[ChunkPlan], /) -> bool:
        with self._retuning:
            rpc, before = self._rpc, self._parameters
            if rpc is None:
                return False
            new_parameters = _limit_parallelism(
                self.step_down.cut_parameters(choose_single_setting(chunks, self._fixed))
            )
            if new_parameters.concurrency != before.concurrency and self._change_files(
                rpc, new_parameters.concurrency or 1
            ):
                self._parameters = replace(self._parameters, concurrency=new_parameters.concurrency)
            if new_parameters.parallelism != before.parallelism and self._change_streams(
                rpc, new_parameters.parallelism or 1
            ):
                self._parameters = replace(self._parameters, parallelism=new_parameters.parallelism)
            return self._parameters != before

    def build_result(self) -> ToolResult | None:
        if not self._answered:
            return None
        states = [each.status for each in self._finished_downloads.values()]
        return ToolResult(
            bytes_moved=self.measure_progress().bytes_moved,
            files_done=states.count("complete"),
            files_failed=states.count("error"),
        )

    def _change_files(self, rpc: Aria2Rpc, files: int) -> bool:
        return bool(rpc.call("changeGlobalOption", {"max-concurrent-downloads": str(files)}) == "OK")

    def _change_streams(self, rpc: Aria2Rpc, streams: int) -> bool:
        options = dict.fromkeys(_STREAMS, str(streams))
        worth = [
            row
            for row in rpc.list_active()
            if int(row["totalLength"]) - int(row["completedLength"]) > _WORTH_RESTARTING_BYTES
        ]
        return "OK" in rpc.call_each("changeOption", [(row["gid"], options) for row in (*worth, *rpc.list_waiting())])


def _parse_user_parameters(words: ParsedWords) -> Parameters:
    streams = [words.parse_count(name) for name in _STREAMS]
    if any(value is not None for value in streams):
        parallelism = min(streams[0] or _DEFAULT_SPLIT, streams[1] or _DEFAULT_PER_SERVER)
    else:
        parallelism = None
    return set_by_user((("concurrency", words.parse_count("max-concurrent-downloads")), ("parallelism", parallelism)))


def _limit_parallelism(parameters: Parameters) -> Parameters:
    """Return ``parameters`` within what aria2 permits."""
    return replace(parameters, parallelism=min(parameters.parallelism or 1, ARIA2_MAX_CONNECTIONS_PER_SERVER))


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

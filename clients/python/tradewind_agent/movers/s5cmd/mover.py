"""s5cmd: files at once, and parts at once and their size for each file, by flags."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tradewind.flags import build_flags_for_tool
from tradewind.parameters import Parameters
from tradewind.units import MIB
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.flag_words import find_inexpressible
from tradewind_agent.movers.object_stores.output import OutputReader
from tradewind_agent.movers.object_stores.places import is_object_place
from tradewind_agent.movers.object_stores.run import StoreToolRun
from tradewind_agent.movers.port import Command, RunSettings, TransferEnds, Workload, set_by_user
from tradewind_agent.movers.s5cmd.command import COMMANDS, S5cmdWords, parse_words
from tradewind_agent.movers.s5cmd.output import S5cmdOutput
from tradewind_agent.movers.tool_query import query_tool

_FILES, _STREAMS, _PART = "numworkers", "concurrency", "part-size"
_FEWEST_FILES = 1
"""By itself it moves 256 files at once, more than is recommended: where that is refused, fewer go first."""


class S5cmdMover:
    name, programs, package, oldest, is_tuned = "s5cmd", ("s5cmd",), "", (2, 0), True
    version_words = ("version",)

    def parse_task(self, line: CommandLine) -> "S5cmdTask":
        """Return a ``cp``, ``sync`` or ``mv``; otherwise as ``Mover.parse_task``."""
        command = next((word for word in line.arguments if word in COMMANDS), COMMANDS[0])
        helps = (query_tool((line.program, "--help")), query_tool((line.program, command, "--help")))
        return S5cmdTask(line, parse_words(line, *helps))


class S5cmdTask:
    """One command line of s5cmd."""

    can_change_live = False
    live = "nothing: s5cmd reads its flags once"

    def __init__(self, line: CommandLine, words: S5cmdWords) -> None:
        self.line, self.words = line, words
        self._reach = words.open_reach(line.environment)
        part_mib = words.own.parse_count(_PART)
        self.by_hand = set_by_user(
            (
                ("concurrency", words.general.parse_count(_FILES)),
                ("parallelism", words.own.parse_count(_STREAMS)),
                ("part_bytes", None if part_mib is None else part_mib * MIB),
            )
        )

    @cached_property
    def ends(self) -> TransferEnds:
        return self._reach.find_ends(*self.words.places)

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        return {**self.words.general.options, **self.words.own.options}

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(Path(place) for place in self.words.places if not is_object_place(place))

    @property
    def notes(self) -> tuple[str, ...]:
        hidden = self.words.silence
        return () if hidden is None else (f"s5cmd does not print what it moves with {hidden}; nothing is logged",)

    @cached_property
    def _sizes(self) -> Mapping[str, int] | None:
        return self.words.list_sizes(self._reach)

    def count_files(self) -> int | None:
        return len(self._sizes) if self._sizes is not None and self.words.is_exact else None

    def find_largest_bytes(self) -> int | None:
        return None if self.count_files() is None else max((self._sizes or {}).values(), default=None)

    def measure_workload(self) -> Workload | None:
        if not self._sizes:
            return None
        return Workload(tuple(self._sizes.values()), is_exact=self.words.is_exact)

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("s5cmd", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> StoreToolRun:
        return StoreToolRun(self, tuning, scratch, default_streams=_FEWEST_FILES)

    def open_reader(self) -> S5cmdOutput:
        general = self.words.general.options
        return S5cmdOutput(
            self._sizes or {},
            is_read=self.words.silence is None,
            as_json="json" in general,
            counts="dry-run" not in general,
        )

    def sets(self, parameters: Parameters) -> bool:
        return any(self._make_flags(parameters))

    def make_command(
        self, parameters: Parameters | None, _rate_bps: float | None, _scratch: Path, reader: OutputReader
    ) -> Command:
        general, own = ((), ()) if parameters is None else self._make_flags(parameters)
        if self.words.silence is None and "json" not in self.words.general.options:
            general = (*general, "--json")
        words = self.words.insert_options(self.line, general, own)
        return Command(words, output=reader.read_output, errors=reader.read_errors)

    def _make_flags(self, parameters: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags before and behind the command's name, without those that the user has set."""
        flags = build_flags_for_tool("s5cmd", parameters).flags
        words = {flag.words[0].lstrip("-"): flag.words[:2] for flag in flags}
        ours = {name: pair for name, pair in words.items() if name not in self.own_options}
        general = ours.pop(_FILES, ())
        return general, tuple(word for pair in ours.values() for word in pair)

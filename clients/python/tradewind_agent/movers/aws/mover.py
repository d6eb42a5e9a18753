"""aws: ``s3 cp``, ``sync`` and ``mv``, set by the ``s3`` part of its configuration, which it reads once.

The user's file stays as it is: the tool gets a copy of it with further values, by ``AWS_CONFIG_FILE``.
"""

import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tradewind.flags import list_aws_settings
from tradewind.parameters import Parameters
from tradewind.units import KIB
from tradewind_agent.movers.aws.command import AwsWords, parse_words
from tradewind_agent.movers.aws.configuration import read_configuration, write_private
from tradewind_agent.movers.aws.output import AwsOutput
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.flag_words import find_inexpressible
from tradewind_agent.movers.object_stores.output import OutputReader
from tradewind_agent.movers.object_stores.places import is_object_place
from tradewind_agent.movers.object_stores.run import StoreToolRun
from tradewind_agent.movers.port import Command, RunSettings, TransferEnds, Workload, set_by_user
from tradewind_agent.movers.rate_option import make_rate_option

_REQUESTS, _PART = "max_concurrent_requests", "multipart_chunksize"
_BANDWIDTH, _CLIENT = "max_bandwidth", "preferred_transfer_client"
_AMOUNT = re.compile(r"(\d+)\s*(?:([kmgt])i?b)?", re.IGNORECASE)
_DEFAULT_REQUESTS = 10
"""Of aws by itself (``aws help s3-config``)."""


class AwsMover:
    name, programs, package, oldest, is_tuned = "aws", ("aws",), "awscli", (1, 16), True
    version_words = ("--version",)

    def parse_task(self, line: CommandLine) -> "AwsTask":
        """Return an ``s3 cp``, ``sync`` or ``mv``; otherwise as ``Mover.parse_task``."""
        return AwsTask(line, parse_words(line))


class AwsTask:
    """One command line of aws."""

    can_change_live = False
    live = "nothing: aws reads its configuration once"

    def __init__(self, line: CommandLine, words: AwsWords) -> None:
        self.line, self.words = line, words
        self._reach = words.open_reach(line.environment)
        self._configuration = read_configuration(line.environment, words.options.find_last("profile"))
        self._own_values = self._configuration.read_own_values()

    @cached_property
    def ends(self) -> TransferEnds:
        return self._reach.find_ends(self.words.source, self.words.destination)

    @cached_property
    def by_hand(self) -> Parameters:
        """Return the user's own requests at once, as files and the streams left for each, and size of parts."""
        requests = _parse_amount(self._own_values.get(_REQUESTS, ""))
        part_bytes = _parse_amount(self._own_values.get(_PART, ""))
        if requests is None:
            return set_by_user((("part_bytes", part_bytes),))
        files = min(requests, self.count_files() or requests)
        return Parameters(concurrency=files, parallelism=requests // files, part_bytes=part_bytes)

    @property
    def own_options(self) -> Mapping[str, tuple[str, ...]]:
        values = {name: (value,) for name, value in self._own_values.items()}
        if not self._is_open:
            values.setdefault(_BANDWIDTH, ("",))  # no limit can be given
        return {**values, **self.words.options.options}

    @property
    def folders(self) -> tuple[Path, ...]:
        places = (self.words.source, self.words.destination)
        return tuple(Path(place) for place in places if not is_object_place(place))

    @property
    def notes(self) -> tuple[str, ...]:
        hidden = () if self.words.reports else ("aws is not to print what it moves, so that nothing is logged",)
        if self._own_values.get(_CLIENT) == "crt":
            return (*hidden, "its client crt sets the number of requests by itself")
        if not self._is_open:
            return (*hidden, "its configuration takes no further values; it runs as you wrote it")
        return hidden

    @cached_property
    def _is_open(self) -> bool:
        return self._configuration.add_values({}) is not None

    @cached_property
    def _sizes(self) -> Mapping[str, int] | None:
        return self.words.list_sizes(self._reach)

    def count_files(self) -> int | None:
        return None if self._sizes is None or self.words.verb == "sync" else len(self._sizes)

    def find_largest_bytes(self) -> int | None:
        return None if self.count_files() is None else max((self._sizes or {}).values(), default=None)

    def measure_workload(self) -> Workload | None:
        """Return the sizes of the source; of a sync not exact, as it leaves out what is there already."""
        if not self._sizes:
            return None
        return Workload(tuple(self._sizes.values()), is_exact=self.words.verb != "sync")

    def find_inexpressible(self, parameters: Parameters) -> tuple[str, ...]:
        return find_inexpressible("aws", parameters)

    def run(self, tuning: RunSettings, scratch: Path) -> StoreToolRun:
        return StoreToolRun(self, tuning, scratch, default_streams=_DEFAULT_REQUESTS)

    def open_reader(self) -> AwsOutput:
        sizes = self._sizes or {}  # listed before anything moves: a move leaves nothing to look at
        local = {_normalize(path): size for path, size in sizes.items() if not is_object_place(path)}

        def find_size(source: str, destination: str) -> int | None:
            if is_object_place(source) and not is_object_place(destination):
                return _find_file_bytes(destination)
            if is_object_place(source):
                return sizes.get(source)
            return local.get(_normalize(source), _find_file_bytes(source)) if is_object_place(destination) else None

        return AwsOutput(find_size, reports=self.words.reports)

    def sets(self, parameters: Parameters) -> bool:
        return bool(self._choose_values(parameters, None))

    def make_command(
        self, parameters: Parameters | None, rate_bps: float | None, scratch: Path, reader: OutputReader
    ) -> Command:
        values = self._choose_values(parameters, rate_bps)
        text = self._configuration.add_values(values) if values else None
        words = self.line.insert_options(())
        if text is None:
            return Command(words, output=reader.read_output, errors=reader.read_errors)
        path = scratch / f"configuration{len(os.listdir(scratch))}"  # noqa: PTH208
        write_private(path, text)
        return Command(
            words,
            variables={"AWS_CONFIG_FILE": str(path)},
            settings={f"s3.{name}": value for name, value in values.items()},
            output=reader.read_output,
            errors=reader.read_errors,
        )

    def _choose_values(self, parameters: Parameters | None, rate_bps: float | None) -> Mapping[str, str]:
        """Return what is added to the configuration: nothing that the user has set."""
        if not self._is_open:
            return {}
        ours = {} if parameters is None else dict(list_aws_settings(parameters))
        if rate := make_rate_option("aws", rate_bps, self._own_values):
            ours[_BANDWIDTH] = rate[0]
        return {name: value for name, value in ours.items() if name not in self._own_values}


def _parse_amount(text: str) -> int | None:
    """Return a number of aws's configuration, whose units are powers of 1024; ``None`` for 0 and nonsense."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    return int(found[1]) * KIB ** (" kmgt".index(found[2].lower()) if found[2] else 0) or None


def _normalize(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 -- text, and links stay


def _find_file_bytes(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return None

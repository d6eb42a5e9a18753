"""Copies between servers in XRootD's monitoring: the ``tpc`` records of its g-stream, a JSON object a copy.

A server writes ``{"TPC": …, "Xeq": {"Beg": …, "End": …, "RC": …}, "Src": …, "Dst": …, "Size": …}``; collectors of WLCG
spell the names out. The size is what was moved, also by a copy that failed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, parse_count, parse_setting
from tradewind_agent.history.importers.json_messages import find_object, find_text
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, find_url_part, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportReport

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "tpc_protocol": "tpc", "begin_transfer": "beg", "end_transfer": "end", "return_code": "rc",
        "used_streams": "strm", "flow_direction": "type", "source": "src", "destination": "dst",
    }
)  # fmt: skip
"""Names of collectors, and the server's own in lower case."""

_NEEDED = frozenset({"tpc", "xeq", "src", "dst"})
_OWN_FRACTION = re.compile(r"(.*:\d\d)\.(\d{3,6})(Z?)")
_WITHOUT_SCHEME = re.compile(r"\[?([\w.-]+|[0-9A-Fa-f:.]+)\]?(?::\d{1,5})?//.*")
_CUT = "is cut to 32 bits, as XRootD 5.5 does; its server's sizes are not read, for any of 2 GiB or more is wrong"


def is_copy(message: Mapping[str, object]) -> bool:
    """Return whether a message is a copy between servers."""
    return ("Xeq" in message or "xeq" in message) and _rename(message).keys() >= _NEEDED


def _rename(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object by the server's names in lower case."""
    return {_NAMES.get(name.lower(), name.lower()): value for name, value in message.items()}


@dataclass(slots=True)
class CopyReader:
    """Reads the copies of one log.

    ``cutting`` : servers that wrote a size below zero: they cut sizes to 32 bits.
    """

    cutting: set[str] = field(default_factory=set)

    def note_beginning(self, sample: str) -> None:
        """Look for sizes below zero in the beginning of a log, whose positive ones may be cut, too."""
        for line in sample.split("\n") if '":-' in sample or '": -' in sample else ():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict) and is_copy(message):
                copy = _rename(message)
                self._note_cut(copy, _rename(find_object(copy, "xeq")))

    def read(
        self, message: Mapping[str, object], context: ImportContext, report: ImportReport
    ) -> LoggedTransfer | None:
        """Return the transfer of a copy; ``None`` for one that moved nothing, which is counted.

        Raises
        ------
        InvalidValue : it is damaged, or an end is not in it.
        """
        copy = _rename(message)
        run = _rename(find_object(copy, "xeq"))
        if self._note_cut(copy, run):
            raise InvalidValue("outcome.bytes_moved", _CUT)
        moved = parse_count("outcome.bytes_moved", find_text(copy, "size"))
        code = find_text(run, "rc").strip()
        if not code.lstrip("-").isdecimal():
            raise InvalidValue("outcome.status", f"is no code: {code[:40]!r}" if code else "is missing")
        succeeded = int(code) == 0
        started_at, ended_at = _parse_time("started_at", run, "beg"), _parse_time("ended_at", run, "end")
        if succeeded and moved == 0:
            report.skip("empty files")
            return None
        scheme = find_text(copy, "tpc").lower()
        return LoggedTransfer(
            started_at=started_at,
            ended_at=ended_at,
            source=name_end("source", _find_host(find_text(copy, "src")), context),
            destination=name_end("destination", _find_host(find_text(copy, "dst")), context),
            mover="xrootd",
            protocol=check_name("protocol", scheme) if scheme else "unknown",
            direction=Direction.THIRD_PARTY,
            status=Status.SUCCEEDED if succeeded else Status.FAILED,
            moved_bytes=moved,
            total_bytes=moved,
            parameters=_read_parameters(run),
            identity=repr(message),
        )

    def _note_cut(self, copy: Mapping[str, object], run: Mapping[str, object]) -> bool:
        """Return whether the server that wrote a record cuts sizes, as this one or another of its shows."""
        at_work = _find_host(find_text(copy, "src" if find_text(run, "type").lower() == "push" else "dst"))
        if find_text(copy, "size").startswith("-"):
            self.cutting.add(at_work)
        return at_work in self.cutting


def _read_parameters(run: Mapping[str, object]) -> Parameters:
    streams = find_text(run, "strm")
    return Parameters(parallelism=None if streams == "0" else parse_setting("parameters.parallelism", streams))


def _parse_time(name: str, run: Mapping[str, object], key: str) -> datetime:
    """Return a time; the server itself writes the fraction as microseconds without their leading zeros."""
    text = find_text(run, key)
    own = _OWN_FRACTION.fullmatch(text)
    return parse_moment(name, text if own is None else f"{own[1]}.{own[2]:0>6}{own[3]}")


def _find_host(address: str) -> str:
    """Return the host of an address, "" of a path; XRootD's own copies leave out the scheme."""
    if "://" in address:
        return find_url_part(address, "hostname")
    found = _WITHOUT_SCHEME.fullmatch(address)
    return "" if found is None else found[1]

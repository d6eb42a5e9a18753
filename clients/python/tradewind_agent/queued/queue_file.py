"""A queue of copies as a file: a line a job, each one JSON object.

    {"name": "photos", "sources": ["http://host/photos/"], "destination": "photos", "deadline": "2h"}

``not_before`` and ``deadline`` are durations from now or moments of RFC 3339 with a zone. ``skip``, ``include`` and
``exclude`` replace the options of the command. ``rate`` is what the job reaches alone, where nobody knows it better.
The name is the destination unless it is given. What a service would not take is refused where it is read, with or
without one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.mobile.batching import MAX_JOBS
from tradewind.mobile.queue import MAX_WAIT_S
from tradewind.path import BOUNDS
from tradewind.units import format_seconds, parse_bps, parse_seconds
from tradewind.wire.base import MAX_NAME_LENGTH
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.remote.path_selection import PathSelection
from tradewind_agent.engine.skipping import SkipRule

_KNOWN = (
    "name",
    "sources",
    "destination",
    "manifest",
    "skip",
    "include",
    "exclude",
    "not_before",
    "deadline",
    "rate",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRequest:
    """One copy of the queue; times are seconds from when the file was read.

    ``skip``, ``selection`` : of this job; ``None`` where the options of the command hold.
    """

    name: str
    sources: tuple[str, ...]
    destination: str
    manifest: str | None
    ready_s: float
    deadline_s: float | None
    throughput_bps: float | None
    skip: SkipRule | None = None
    selection: PathSelection | None = None

    def apply_to(self, options: CopyOptions) -> CopyOptions:
        """Return the options of the command with those of this job in their place."""
        engine = options.engine if self.skip is None else replace(options.engine, skip=self.skip)
        selection = options.listing.selection if self.selection is None else self.selection
        return replace(options, engine=engine, listing=replace(options.listing, selection=selection))


def read_queue(path: Path, now: datetime) -> list[CopyRequest]:
    """Read the jobs of a queue file; skip empty lines.

    Raises
    ------
    InvalidValue : of a line, with its number; or it is no text, has no job or too many, or two of one name.
    """
    requests: list[CopyRequest] = []
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InvalidValue(str(path), "is no text in UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                requests.append(_request(_parse_object(line), now))
            except InvalidValue as wrong:
                raise InvalidValue(f"{path}, line {number}", f"{wrong.field}: {wrong.reason}") from None
    if not requests:
        raise InvalidValue(str(path), "holds no job; write one JSON object a line")
    if len(requests) > MAX_JOBS:
        raise InvalidValue(str(path), f"holds {len(requests)} jobs; at most {MAX_JOBS} are planned together")
    names = [request.name for request in requests]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidValue(str(path), f'two jobs are named {twice!r}; give each a "name" of its own')
    return requests


def _parse_object(line: str) -> Mapping[str, Any]:
    try:
        content = json.loads(line)
    except ValueError as wrong:
        raise InvalidValue("job", f"is not JSON: {wrong}") from None
    except RecursionError:
        raise InvalidValue("job", "is nested too deeply") from None
    if not isinstance(content, dict):
        raise InvalidValue("job", "must be a JSON object")
    if unknown := set(content) - set(_KNOWN):
        raise InvalidValue(min(unknown), f"is no field of a job; there are {', '.join(_KNOWN)}")
    return content


def _request(content: Mapping[str, Any], now: datetime) -> CopyRequest:
    sources = _find_texts(content, "sources", "addresses or paths")
    if sources is None and "manifest" not in content:
        raise InvalidValue("sources", "must be a list of addresses or paths")
    destination = _find_text(content, "destination")
    if destination is None:
        raise InvalidValue("destination", "is missing")
    deadline_s = _parse_moment_s(content, "deadline", now)
    return CopyRequest(
        name=_check_name(_find_text(content, "name") or destination),
        sources=sources or (),
        destination=destination,
        manifest=_find_text(content, "manifest"),
        ready_s=max(_parse_moment_s(content, "not_before", now) or 0.0, 0.0),
        deadline_s=None if deadline_s is None else max(deadline_s, 0.0),
        throughput_bps=_compute_rate_bps(content),
        skip=_find_skip_rule(content),
        selection=_find_selection(content),
    )


def _find_texts(content: Mapping[str, Any], field: str, kind: str) -> tuple[str, ...] | None:
    texts = content.get(field)
    if texts is None and field not in content:
        return None
    if not isinstance(texts, Sequence) or isinstance(texts, str) or not all(isinstance(each, str) for each in texts):
        raise InvalidValue(field, f"must be a list of {kind}")
    for each in texts:
        _require_a_name(field, each)
    return tuple(texts)


def _find_skip_rule(content: Mapping[str, Any]) -> SkipRule | None:
    text = _find_text(content, "skip")
    rules = {rule.value: rule for rule in SkipRule}
    if text is not None and text not in rules:
        raise InvalidValue("skip", f"is one of {', '.join(rules)}; got {text!r}")
    return None if text is None else rules[text]


def _find_selection(content: Mapping[str, Any]) -> PathSelection | None:
    includes, excludes = (_find_texts(content, field, "globs") for field in ("include", "exclude"))
    return None if includes is None and excludes is None else PathSelection.parse(includes or (), excludes or ())


def _check_name(text: str) -> str:
    if len(text) > MAX_NAME_LENGTH:
        raise InvalidValue(
            "name", f'has {len(text)} characters, {MAX_NAME_LENGTH} are the most; give the job a "name" that is shorter'
        )
    if any(character < " " for character in text):
        raise InvalidValue("name", f'{text!r} has control characters; give the job a "name" without')
    return text


def _compute_rate_bps(content: Mapping[str, Any]) -> float | None:
    text = _find_text(content, "rate")
    if text is None:
        return None
    rate_bps, (lowest, highest) = parse_bps(text), BOUNDS["bandwidth_bps"]
    if not lowest <= rate_bps <= highest:
        raise InvalidValue("rate", f"must be within {lowest:g} and {highest:g} bit/s, got {rate_bps:g}")
    return rate_bps


def _find_text(content: Mapping[str, Any], field: str) -> str | None:
    value = content.get(field)
    if value is not None and not (isinstance(value, str) and value):
        raise InvalidValue(field, "must be a text that is not empty")
    if value is not None:
        _require_a_name(field, value)
    return value


def _require_a_name(field: str, text: str) -> None:
    """See that a file may be called so."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidValue(field, "has half a character, which no text in UTF-8 has")
    if "\0" in text:
        raise InvalidValue(field, "has a NUL, which no name has")


def _parse_moment_s(content: Mapping[str, Any], field: str, now: datetime) -> float | None:
    """Parse a moment as seconds from ``now``; below 0 for one that has passed."""
    at_s = _parse_any_moment_s(content, field, now)
    if at_s is not None and at_s > MAX_WAIT_S:
        longest, text = format_seconds(MAX_WAIT_S), content[field]
        raise InvalidValue(field, f"{text!r} is too far off: nothing is planned for later than {longest} from now")
    return at_s


def _parse_any_moment_s(content: Mapping[str, Any], field: str, now: datetime) -> float | None:
    text = _find_text(content, field)
    if text is None:
        return None
    try:
        return parse_seconds(text)
    except InvalidUnit:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(field, f"{text!r} is neither a duration, such as 2h, nor a moment of RFC 3339") from None
    if at.tzinfo is None:
        raise InvalidValue(field, f"{text!r} has no zone; write it like 2026-11-22T18:00:00+01:00")
    return (at - now).total_seconds()

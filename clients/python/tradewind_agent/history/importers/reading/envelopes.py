"""Take lines out of what collectors of logs, terminals, exports and message brokers put around them.

Each step is a pattern of one line, so that a part of a growing log is read as the entire log is; stamps are found among
the first lines. A line that fits no pattern stays as it is.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple

from tradewind_agent.history.importers.reading.flattened import (
    FLAT_ROOTS,
    explain_open_line,
    is_flattened,
    may_be_logfmt,
    nest_names,
    parse_logfmt,
    take_single_values,
)
from tradewind_agent.history.importers.reading.lines import MAX_LINE_CHARS, Line
from tradewind_agent.history.importers.reading.objects import join_objects
from tradewind_agent.history.importers.reading.quoted import CONTROLS, is_object, open_quotes, parse_printed
from tradewind_agent.history.importers.reading.stamps import LINES_LOOKED_AT, Stamp, find_stamp

_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]_P^][^\x07\x1b]*(?:\x07|\x1b\\)")
_MONTH_TIME = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
_ISO_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_FULL_TIME = r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \w+"
_SECONDS = r"\[? *\d+\.\d{6}\]?"
_TIMES = rf"(?:{_MONTH_TIME}|{_ISO_TIME}|{_FULL_TIME}|{_SECONDS})"
_GREPPED = r"(?i:DATE=)|\{\s*\"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} "
"""How lines of transfers begin that are often searched for: of GridFTP, of JSON, and of FTP servers."""

_WORD = r"[^\s:\[\]{}\x22]+"
_OF_STEP = re.compile(
    r"(?P<origin>[^\t]{1,200}\t[^\t]{1,200})\t\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z (?P<rest>.*)$"
)
"""Lines of GitHub's runners as `gh run view --log` prints them, behind the names of job and step."""

_PREFIXES: Sequence[re.Pattern[str]] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_ISO_TIME} (?:stdout|stderr) (?P<part>[FP])(?: (?P<rest>.*))?$",  # CRI
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?:\d{9}|\d{7})Z (?P<rest>.*)$",  # docker logs --timestamps, GitHub's runners
        rf"\[{_ISO_TIME}\] (?P<rest>.*)$",  # Jenkins
        rf"{_ISO_TIME} (?P<origin>\{{(?:\w+=\x22[^\x22]*\x22,? ?)+\}}) (?P<rest>.*)$",  # logcli
        rf"{_ISO_TIME} \d\d[OE][ +](?P<rest>.*)$",  # GitLab's runners
        rf"{_MONTH_TIME} (?P<rest>\d{{4}}/\d\d/\d\d .*|[ \t]*(?:[A-Z][a-z]+(?: \w+)*:|\*)(?:[ \t].*)?|)$",  # ts
        rf"(?:<\d{{1,3}}>)?{_TIMES} {_WORD} (?P<origin>{_WORD}(?:\[\d+\])?): ?(?P<rest>.*)$",  # journal, RFC 3164
        r"<\d{1,3}>1 \S+ \S+ (?P<origin>\S+ \S+) \S+ (?:-|(?:\[[^\]]*\])+) ?\ufeff?(?P<rest>.*)$",  # RFC 5424
        r"<\d{1,3}>(?P<rest>.*)$",  # levels as systemd reads them
        r"\[(?P<origin>pod/[^\]\s]+)\] (?P<rest>.*)$",  # kubectl logs --prefix
        _OF_STEP.pattern,
        r">+ (?P<rest>.*)$",  # quoted in a mail
        r"(?: {4})?MESSAGE=(?P<rest>.*)$",  # journalctl -o export and -o verbose
        rf"(?:[\w./+-]{{1,200}}:)?(?:\d{{1,9}}:)?(?P<rest>(?:{_GREPPED}).*)$",  # grep of several files, and with -n
    )
)
_COMPOSE = re.compile(r"(?P<origin>[\w.-]+) +\| ?(?P<rest>.*)$")
_REPLICA = re.compile(r".*[-_]\d+")
_BEFORE_JSON = re.compile(
    r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?!\d))?[^{}\",;]{0,200}?(?P<rest>\{\s*\"[^\n]*\})\s*$"
)
"""Any text, also the time that Python's logging writes with a comma."""

_LINE_BREAK, _TAB = "#012", "#011"
"""What rsyslog writes for control characters, by default, so that each message is one line."""

_BROKEN = re.compile(rf"{_LINE_BREAK}[A-Z][a-z]+(?: \w+)*:")
"""Where a further line of a message begins; names of files have ``#012``, too."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f]")
_BEGINNING = re.compile(
    r"[<>\"']|\[pod/|\[ *\d+\.|\[\d{4}-|[A-Z][a-z]{2} [ \d]|\d{4}-\d\d-\d\dT\S+ |\d+\.\d{6} "
    rf"|(?: {{4}})?MESSAGE=|(?:[\w./+-]{{1,200}}:)(?:\d+:)?(?:{_GREPPED})"
)

_MOST_LAYERS = 6
_LINES_OF_SERVICES = 20
_SPLIT_BYTES = 16 * 1024
"""Docker cuts longer lines into messages of so many bytes."""

_TEXT_MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "log": frozenset(
            {"stream", "time", "container_id", "container_name", "kubernetes"}
        ),  # docker, fluentd, FireLens
        "MESSAGE": frozenset({"__REALTIME_TIMESTAMP", "__CURSOR", "_PID", "PRIORITY", "SYSLOG_IDENTIFIER"}),  # journal
        "message": frozenset(
            {"@timestamp", "ingestionTime", "eventId", "logStreamName", "ddsource", "source_type", "kubernetes"}
        ),  # beats, CloudWatch, Datadog, Vector
        "short_message": frozenset({"version", "host"}),  # GELF
        "textPayload": frozenset({"insertId", "logName", "resource"}),  # Cloud Logging
        "line": frozenset({"labels", "timestamp"}),  # Loki
        "value": frozenset({"topic", "partition", "offset"}),  # Kafka
        "payload": frozenset({"topic", "partition", "offset", "destination", "routing_key"}),
        "body": frozenset({"headers", "destination", "properties"}),  # STOMP, AMQP
        "_source": frozenset({"_index", "_id"}),
        "data": frozenset({"metadata"}),  # WLCG's monitoring, escaped once more
        "_raw": frozenset({"_time", "sourcetype", "host", "source"}),  # Splunk
    }
)
"""Members that hold a line, each with others; one of those stands next to it."""

_OBJECT_MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "_source": frozenset({"_index", "_id"}),  # Elasticsearch, OpenSearch
        "fields": frozenset({"_index", "_id"}),
        "data": frozenset({"metadata"}),  # WLCG's monitoring
        "jsonPayload": frozenset({"insertId", "logName", "resource"}),
        "result": frozenset({"preview", "lastrow"}),
    }
)
_OF_FTS = "tr_id"
"""A member of FTS's own messages, whose level ``data`` is left to their reader: ids of records are of the line."""

_LIST_MEMBERS = (
    "hits", "DATA", "events", "Records", "InputPluginResultList", "OutputPluginResultList", "CheckpointPluginResultList"
)  # fmt: skip
_LISTS_OF: Mapping[str, str] = MappingProxyType({"files": "job_id"})
"""Members that hold objects in a list, where another member stands next to them: jobs of FTS."""

_ORIGIN_MEMBERS = ("_PID", "container_name", "container_id", "CONTAINER_NAME")
_NAMES = {*_TEXT_MEMBERS, *_OBJECT_MEMBERS, *_LIST_MEMBERS, *_LISTS_OF, "metadata"} - {"data"}
"""With what is next to ``data``, which many other messages have, too."""

_MEMBER = re.compile(
    rf'"(?=[{"".join(sorted({name[0] for name in (*_NAMES, *FLAT_ROOTS)}))}])'
    rf'(?:(?:{"|".join(sorted(_NAMES))})"|{"|".join(map(re.escape, FLAT_ROOTS))})'
)
"""A name of a collector's member, or one that a level was made of; a search for it is done for each line of JSON."""


class _Content(NamedTuple):
    """What one layer holds: a line of text, who wrote it, whether more of the same line follows, and whether its end is
    one that shows.
    """

    text: str
    origin: str = ""
    is_partial: bool = False
    has_end: bool = True


def unwrap_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines that are in the envelopes of ``lines``, under the numbers of those; pieces are put together."""
    source = iter(lines)
    first = list(islice(source, LINES_LOOKED_AT))
    opened = _unwrap_each(first, source)
    yield from join_objects(opened) if any(map(_begins_object, first)) else opened


def _begins_object(line: Line) -> bool:
    """Return whether an object may begin in the envelope of a line and go on in the envelopes of others."""
    return line.text.rstrip().endswith("{") or '"{\\n"' in line.text


def _unwrap_each(first: Sequence[Line], source: Iterator[Line]) -> Iterator[Line]:
    has_services = _names_services(first[:_LINES_OF_SERVICES])
    texts = [_COLOURS.sub("", line.text) for line in first]
    stamp = None if has_services else find_stamp(texts, _is_opened)
    pieces: dict[str, tuple[int, str]] = {}
    for each in chain(first, source):
        line = each if stamp is None else _drop_stamp(each, stamp)
        if line.fault is not None or not (has_services or _may_be_wrapped(line.text)):
            yield line
            continue
        is_open = line.is_open and not line.text.startswith("{")  # an object that can be opened is complete
        for content in _open_envelopes(line.text, has_services=has_services):
            number, before = pieces.pop(content.origin, (line.number, ""))
            text = before + content.text
            if content.is_partial and len(text) <= MAX_LINE_CHARS:
                pieces[content.origin] = number, text
            elif line.is_open and not content.has_end:
                yield Line(number, text, explain_open_line(), origin=content.origin)
            else:
                yield Line(number, text, origin=content.origin, is_open=is_open)
    for origin, (number, text) in pieces.items():
        yield Line(number, text, origin=origin)


def _drop_stamp(line: Line, stamp: Stamp) -> Line:
    plain = _COLOURS.sub("", line.text)
    text = stamp.drop(plain)
    fault = line.fault or (stamp.explain_other(plain) if text == plain else None)
    return line._replace(text=text, fault=fault)


def _is_opened(text: str) -> bool:
    """Return whether what stands before an ``x`` at the end of a line is taken off as envelopes."""
    return [content.text for content in _open_envelopes(text, has_services=False)] == ["x"]


def _may_be_wrapped(text: str) -> bool:
    """Return whether a line may have an envelope, but that of docker compose; most lines are not looked at further."""
    if text.startswith("{"):
        if _MEMBER.search(text) is not None or text.startswith("{'"):
            return True
    elif (
        ("\t" in text and _OF_STEP.match(text) is not None)
        or _BEGINNING.match(text) is not None
        or ('"' in text and "{" in text)
        or may_be_logfmt(text)
    ):
        return True
    return not text.isprintable() and _CONTROL.search(text) is not None


def _names_services(first: Sequence[Line]) -> bool:
    """Return whether lines begin with services' names, as docker compose writes them, and not with a first column."""
    texts = [_COLOURS.sub("", line.text) for line in first if line.text.strip()]
    found = [_COMPOSE.match(text) for text in texts if not text.startswith("Attaching to ")]
    if not found or not all(found):
        return False
    names = {match["origin"] for match in found if match}
    return all(_REPLICA.fullmatch(name) for name in names) or (len(names) == 1 and len(found) > 1)


def _open_envelopes(text: str, *, has_services: bool) -> list[_Content]:
    contents = [_Content(_COLOURS.sub("", text).strip(CONTROLS))]
    for layer in range(_MOST_LAYERS):
        opened = [
            inner._replace(
                origin=inner.origin or content.origin,
                is_partial=inner.is_partial or content.is_partial,
                has_end=inner.has_end and content.has_end,
            )
            for content in contents
            for inner in _open_layer(content.text, has_services=has_services and layer == 0)
        ]
        if opened == contents:
            break
        contents = opened
    return contents


def _open_layer(text: str, *, has_services: bool) -> list[_Content]:
    """Return what is in the outermost envelope of a text; the text itself if there is none."""
    if has_services and (service := _COMPOSE.match(text)) is not None:
        return [_Content(_COLOURS.sub("", service["rest"]), service["origin"])]
    if text.startswith("{"):
        return _open_object(text) or [_Content(parse_printed(text))]
    if (inner := open_quotes(text)) is not None:
        return [_Content(inner)]
    for prefix in _PREFIXES:
        if (found := prefix.match(text)) is not None:
            groups = found.groupdict()
            rest, origin = groups["rest"] or "", groups.get("origin") or ""
            if origin and _BROKEN.search(rest) is not None:
                return [_Content(line.replace(_TAB, "\t"), origin) for line in rest.split(_LINE_BREAK)]
            return [_Content(rest, origin, groups.get("part") == "P")]
    return [_open_end(text)]


def _open_end(text: str) -> _Content:
    """Return the object that a line of logfmt is, or that stands at the end of a text; else the text."""
    if may_be_logfmt(text) and (pairs := parse_logfmt(text)) is not None:
        return _Content(json.dumps(pairs, ensure_ascii=False), has_end=False)
    head = _BEFORE_JSON.match(text)
    return _Content(head["rest"] if head is not None and is_object(head["rest"]) else text)


def _open_object(text: str) -> list[_Content]:
    """Return the lines in a JSON object that a collector wrote; none for any other object."""
    if _MEMBER.search(text) is None:
        return []
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return _open_members(message) if isinstance(message, dict) else []


def _open_members(message: Mapping[str, object]) -> list[_Content]:
    origin = next((str(message[name]) for name in _ORIGIN_MEMBERS if isinstance(message.get(name), str | int)), "")
    for name, others in _TEXT_MEMBERS.items():
        if name in message and others & message.keys() and _holds_line(name, message):
            return _split_text(_to_text(message[name]), origin)
    for name, others in _OBJECT_MEMBERS.items():
        inner = message.get(name)
        if isinstance(inner, dict) and others & message.keys() and not (name == "data" and _OF_FTS in inner):
            held = take_single_values(inner) if name == "fields" else inner
            return [_Content(json.dumps(held, ensure_ascii=False), origin)]
    if is_flattened(message):
        return [_Content(json.dumps(nest_names(message), ensure_ascii=False), origin)]
    return [_Content(json.dumps(each, ensure_ascii=False)) for each in _find_records(message)]


def _holds_line(name: str, message: Mapping[str, object]) -> bool:
    """Return whether a member holds a line, where other programs have one of that name for something else."""
    if name == "payload":
        return "event_type" not in message  # an event of rucio
    if name == "data":
        return isinstance(message[name], str)
    return name != "_source" or isinstance(message[name], str)


def _to_text(value: object) -> str:
    """Return a line as text; the journal writes one with colours as a list of its bytes."""
    if isinstance(value, list) and all(isinstance(each, int) and 0 <= each < 256 for each in value):
        return bytes(value).decode(errors="replace")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _split_text(text: str, origin: str) -> list[_Content]:
    clean = [_COLOURS.sub("", line).strip(CONTROLS) for line in text.removesuffix("\n").split("\n")]
    is_partial = not text.endswith("\n") and len(text.encode(errors="replace")) >= _SPLIT_BYTES
    return [_Content(line, origin, is_partial and place == len(clean) - 1) for place, line in enumerate(clean)]


def _find_records(message: Mapping[str, object]) -> list[object]:
    """Return the objects of an export that holds them in a list, such as ``hits.hits`` or ``DATA``."""
    for name in (*_LIST_MEMBERS, *(name for name, other in _LISTS_OF.items() if other in message)):
        value = message.get(name)
        if isinstance(value, dict):
            value = value.get(name)
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            return value
    return []

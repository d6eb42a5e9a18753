"""JSON objects that stand over several lines among the lines of a log, as ``jq`` prints them: each as one line."""

import json
from collections import deque
from collections.abc import Iterable, Iterator

from tradewind_agent.history.importers.reading.lines import MAX_LINE_CHARS, Line

_MOST_LINES = 10_000
"""Lines of one object; a brace that is not closed by then is no beginning of one."""


def join_objects(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines; those of an indented object are one, under the number of its first. Others stay as they are."""
    source, waiting = iter(lines), deque[Line]()
    while (line := waiting.popleft() if waiting else next(source, None)) is not None:
        if line.text[:1] == "{" and line.text.rstrip() == "{" and line.fault is None:
            yield _join(line, source, waiting)
        else:
            yield line


def _join(first: Line, source: Iterator[Line], waiting: deque[Line]) -> Line:
    """Return the object that begins with ``first``; the lines behind it wait, all of them if it is no object."""
    pieces, length, is_open = [first.text], 0, first.is_open
    for count in range(1, _MOST_LINES):
        if count > len(waiting):
            if (line := next(source, None)) is None:
                break
            waiting.append(line)
        line = waiting[count - 1]
        pieces.append(line.text)
        length, is_open = length + len(line.text), line.is_open
        # The next object begins: without this, each brace of a file of them would be looked for to its end.
        if line.fault is not None or length > MAX_LINE_CHARS or line.text[:1] == "{":
            break
        if line.text[:1] == "}":
            text = _parse_object("\n".join(pieces))
            if text is None:
                break
            for _ in range(count):
                waiting.popleft()
            return first._replace(text=text, is_open=is_open)
    return first


def _parse_object(text: str) -> str | None:
    """Return an object in one line, ``None`` for what is none."""
    try:
        found = json.loads(text.rstrip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return json.dumps(found, ensure_ascii=False)

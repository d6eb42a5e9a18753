"""The Prometheus text exposition format, as far as samples of chosen metrics need it."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float


def parse_samples(text: str, names: Collection[str]) -> Iterator[Sample]:
    """Yield the samples of these metrics; lines that are none are passed over, as other metrics are."""
    starts = tuple(names)
    for line in text.splitlines():
        if not line.startswith(starts) or (found := _SAMPLE.match(line)) is None or found[1] not in names:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        yield Sample(found[1], dict(_parse_labels(found[2] or "")), value)


def _parse_labels(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _LABEL.findall(text):
        yield name, re.sub(r"\\[\\\"n]", lambda escape: _ESCAPES[escape[0]], value)

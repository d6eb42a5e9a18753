"""Questions to a tool that it answers at once: its version, its options, a listing."""

import json
import subprocess
from collections.abc import Mapping, Sequence

_PATIENCE_S = 20.0


def query_tool(words: Sequence[str], *, patience_s: float = _PATIENCE_S) -> str:
    """Return what ``words`` print, both streams for a tool that does not care which.

    Empty when it fails or takes too long.
    """
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=patience_s, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout or done.stderr


def parse_json_list(text: str) -> list[Mapping[str, object]] | None:
    """Return the objects of a JSON list; ``None`` if it is something else."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return rows

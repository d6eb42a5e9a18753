"""Make packed transfers from where the client of a path is: a program.

Each line on standard input is one transfer, JSON: ``{"file", "url", "setting"}``; ``setting`` is ``raw`` or a codec
with its level, ``upload`` is the direction. The answer is a line: how long it took, and what went over the path.
"""

import json
import sys
from pathlib import Path

from benchmarks.compression.unlogged_copy import copy_packed
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.engine.options import EngineOptions

OPTIONS = EngineOptions(durable=False)


def transfer(file: Path, url: str, setting: str, *, upload: bool) -> dict[str, float]:
    """Send or fetch one file; return seconds and bytes."""
    sources, destination = ([str(file)], url) if upload else ([url], str(file))
    listing = list_files(sources, destination, options=OPTIONS)
    report = copy_packed(listing, PackingMode.parse(setting), OPTIONS)
    if not report.succeeded:
        raise SystemExit(f"{setting} of {file.name}: {report.failures}")
    return {"seconds": report.duration_s, "plain_bytes": report.plain_bytes, "packed_bytes": report.packed_bytes}


def main() -> int:
    for line in sys.stdin:
        request = json.loads(line)
        result = transfer(Path(request["file"]), request["url"], request["setting"], upload=request["upload"])
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Record transfers for ``benchmarks/records``: ``python -m benchmarks.demo.record``.

The demo's origin, emulated path and agent, each setting of a grid several times; one file of log rows for each class of
files. About eight minutes. What is in the repository was recorded so.
"""

import argparse
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.demo import stack
from benchmarks.demo.files import PAGES, PHOTOS, FileClass, write_folder
from benchmarks.report import ROOT
from tradewind.parameters import Parameters
from tradewind.wire.records import WireRecord
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.copying import copy_files
from tradewind_agent.metering import HostMeter

PATH = ("--rate", "80Mbps", "--rtt", "60ms", "--loss", "0.05%")
GRIDS: dict[FileClass, tuple[int, list[tuple[int, int, int]]]] = {
    PAGES: (30, [(cc, 1, pp) for cc in (1, 2, 4, 8, 16) for pp in (1, 4, 16)]),
    PHOTOS: (4, [(cc, p, 1) for cc in (1, 2, 4, 8) for p in (1, 2, 4)]),
}
"""Files a transfer, and the settings (cc, p, pp)."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--to", type=Path, default=ROOT / "benchmarks" / "records")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        work = Path(folder)
        for kind, (count, _) in GRIDS.items():
            write_folder(work / "served" / kind.name, {kind: count}, draw)
        origin = running.enter_context(stack.origin(work / "served", work))
        path = running.enter_context(stack.emulated_path(origin, (*PATH, "--seed", str(options.seed)), work))
        for kind, (_, settings) in GRIDS.items():
            order = settings * options.repeats
            draw.shuffle(order)
            with (options.to / f"emulated-{kind.name}.ndjson").open("wb") as log:
                for number, (cc, p, pp) in enumerate(order):
                    setting = Parameters(concurrency=cc, parallelism=p, pipelining=pp)
                    log.write(_moved(kind, path.port, setting, work / "received" / f"{kind.name}-{number}"))
                    sys.stdout.write(f"{kind.name} {number + 1}/{len(order)}\n")
    return 0


def _moved(kind: FileClass, port: int, parameters: Parameters, destination: Path) -> bytes:
    """The log row of one transfer."""
    report = copy_files(
        [f"http://127.0.0.1:{port}/{kind.name}/"],
        str(destination),
        options=CopyOptions(by_hand=parameters, source="origin", destination="agent", bandwidth_bps=80e6, rtt_s=0.06),
        meter=HostMeter.of_this_host(),
    )
    (record,) = report.records
    return WireRecord.of(record).to_line()


if __name__ == "__main__":
    sys.exit(main())

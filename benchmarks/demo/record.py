"""Record transfers for ``benchmarks/records``: ``python -m benchmarks.demo.record``.

The program uses the demo's origin, emulated paths and agent, each setting of a grid several times; it writes one file
of log rows for each class of files and path. It takes about twelve minutes. The records in the repository were made by
it.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.demo import changing_path, stack
from benchmarks.demo.files import PAGES, PHOTOS, THUMBNAILS, FileClass, write_folder
from benchmarks.demo.stack import PathOptions
from benchmarks.support.report import ROOT
from tradewind.parameters import Parameters
from tradewind.units import parse_bps, parse_seconds
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.session.metering import HostMeter

FAST_PATH = PathOptions(rate="80Mbps", rtt="60ms", loss="0.05%")


@dataclass(frozen=True)
class DemoRecording:
    """Transfers to record: files of one class over one path, at each setting (cc, p, pp)."""

    path: PathOptions
    source: str
    files: FileClass
    count: int
    settings: Sequence[tuple[int, int, int]]
    repeats: int


RECORDS = ROOT / "benchmarks" / "records"
PAGE_SETTINGS = [(cc, 1, pp) for cc in (1, 2, 4, 8, 16) for pp in (1, 4, 16)]
PHOTO_SETTINGS = [(cc, p, 1) for cc in (1, 2, 4, 8) for p in (1, 2, 4)]
THUMBNAIL_SETTINGS = [(cc, 1, pp) for cc in (1, 2, 4) for pp in (1, 4)]
RECORDINGS = {
    RECORDS / "emulated-pages.ndjson": DemoRecording(FAST_PATH, "origin", PAGES, 30, PAGE_SETTINGS, repeats=10),
    RECORDS / "emulated-photos.ndjson": DemoRecording(FAST_PATH, "origin", PHOTOS, 4, PHOTO_SETTINGS, repeats=10),
    changing_path.RECORDED: DemoRecording(
        changing_path.PATH, changing_path.SOURCE, THUMBNAILS, 24, THUMBNAIL_SETTINGS, repeats=4
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [path.stem for path in RECORDINGS]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        work = Path(folder)
        (work / "served").mkdir()
        origin = running.enter_context(stack.run_origin(work / "served", work))
        for path, recording in RECORDINGS.items():
            if not options.names or path.stem in options.names:
                write_folder(work / "served" / path.stem, {recording.files: recording.count}, draw)
                path.parent.mkdir(exist_ok=True)
                _record_log(path, recording, work, origin, draw, seed=options.seed)
    return 0


def _record_log(to: Path, recording: DemoRecording, work: Path, origin: int, draw: random.Random, *, seed: int) -> None:
    """Write one file of log rows, of transfers in an order drawn at random."""
    order = list(recording.settings) * recording.repeats
    draw.shuffle(order)
    with (
        stack.run_emulated_path(origin, recording.path.build_arguments(seed), work) as path,
        to.open("wb") as log,
    ):
        for number, (cc, p, pp) in enumerate(order):
            setting = Parameters(concurrency=cc, parallelism=p, pipelining=pp)
            address = f"http://127.0.0.1:{path.port}/{to.stem}/"
            log.write(_build_log_row(recording, address, setting, work / "received" / f"{to.stem}-{number}"))
            sys.stdout.write(f"{to.stem} {number + 1}/{len(order)}\n")


def _build_log_row(recording: DemoRecording, address: str, parameters: Parameters, destination: Path) -> bytes:
    """Return the log row of one transfer."""
    report = copy_files(
        [address],
        str(destination),
        options=CopyOptions(
            by_hand=parameters,
            source=recording.source,
            destination="agent",
            bandwidth_bps=parse_bps(recording.path.rate),
            rtt_s=parse_seconds(recording.path.rtt),
            tune=False,
        ),
        meter=HostMeter.of_this_host(),
    )
    (record,) = report.records
    return WireRecord.from_domain(record).to_line()


if __name__ == "__main__":
    sys.exit(main())

"""Run the part of the recording that belongs on the receiver's host: ``python -m benchmarks.sample.moving NAME URL
OUTPUT``.

``NAME`` is a recording, whose transfers are appended to ``OUTPUT`` as log rows, or the number of a tuned transfer,
whose entire completion is appended.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.sample.recordings import (
    RECORDINGS,
    SOURCE,
    TUNED_TRANSFERS,
    SampleRecording,
    Setting,
    Site,
    TunedTransfer,
)
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.sla.kinds import Sla
from tradewind.wire.heartbeats import Completion
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.options import MAX_THROUGHPUT, CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.sla_text import parse_sla
from tradewind_agent.tuning.wire_ticks import to_spooled

SEED = 17
TICK_S = 2.0


def main(arguments: Sequence[str]) -> int:
    name, address, output = arguments
    with Path(output).open("ab") as log, tempfile.TemporaryDirectory() as folder:
        if name in RECORDINGS:
            _record(RECORDINGS[name], name, address, Path(folder), log.write)
        else:
            log.write(_complete_tuned(TUNED_TRANSFERS[int(name)], address, Path(folder)))
    return 0


def _record(
    recording: SampleRecording, name: str, address: str, folder: Path, write: Callable[[bytes], object]
) -> None:
    order = list(recording.settings) * recording.repeats
    random.Random(SEED).shuffle(order)  # slow times of the machine then affect no setting alone
    for number, setting in enumerate(order):
        received = folder / str(number)
        row = _build_log_row_of_tool if recording.mover != "tradewind" else _build_log_row_of_copy
        write(row(recording, address, setting, received))
        shutil.rmtree(received, ignore_errors=True)
        sys.stdout.write(f"{name} {number + 1}/{len(order)} {setting}\n")
        sys.stdout.flush()


def _build_log_row_of_copy(recording: SampleRecording, address: str, setting: Setting, received: Path) -> bytes:
    cc, p, pp = setting
    by_hand = Parameters(concurrency=cc, parallelism=p, pipelining=pp)
    (record,) = _copy(recording.site, address, received, MAX_THROUGHPUT, by_hand=by_hand).records
    return WireRecord.from_domain(record).to_line()


def _copy(
    site: Site, address: str, received: Path, sla: Sla, *, by_hand: Parameters = UNKNOWN_PARAMETERS
) -> CopyReport:
    options = CopyOptions(
        by_hand=by_hand,
        sla=sla,
        source=SOURCE,
        destination=site.name,
        bandwidth_bps=site.path.rate_bps,
        rtt_s=site.path.rtt_s,
        tune=by_hand is UNKNOWN_PARAMETERS,
        tick_s=TICK_S,
    )
    return copy_files([address], str(received), options=options, meter=HostMeter.of_this_host())


def _build_log_row_of_tool(recording: SampleRecording, address: str, setting: Setting, received: Path) -> bytes:
    cc, p, _ = setting
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", "--mover", recording.mover, address]
    command += [str(received), "--concurrency", str(cc), "--parallelism", str(p), "--no-tune", "--json", "--quiet"]
    command += ["--source", SOURCE, "--destination", recording.site.name, "--rtt", f"{recording.site.path.rtt_s}s"]
    command += ["--bandwidth", f"{recording.site.path.rate_bps / 1e6:g}Mbps"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    (record,) = json.loads(output)["records"]
    return WireRecord.model_validate(record).to_line()


def _complete_tuned(transfer: TunedTransfer, address: str, folder: Path) -> bytes:
    report = _copy(transfer.site, address, folder / "received", parse_sla(transfer.sla))
    completion = Completion(
        records=tuple(WireRecord.from_domain(record) for record in report.records),
        heartbeats=tuple(map(to_spooled, report.timeline)),
        status=report.status,
    )
    sys.stdout.write(f"{report.format_line()}\n")
    return completion.model_dump_json(exclude_none=True).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

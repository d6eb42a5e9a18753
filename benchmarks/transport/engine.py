"""Measure our own engine as the client: flows of a size, and a page's files over as many connections as a browser has.

The figure is the copy's own duration, from the first request to the last byte, without the start of the program.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.support.sources import digest_values
from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.peers import clean_environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.alternation import Alternation
from benchmarks.transport.arena import set_up_bed
from benchmarks.transport.cases import CUBIC, FLD, ShortFlowsCase
from benchmarks.transport.measuring import FILLING_S
from benchmarks.transport.pages import FIRST_PORT, run_server, write_page
from benchmarks.transport.rows import Row, Rows
from tradewind.connections.advice import MAX_CONNECTIONS

Copy = Callable[[str, str, int], float]
"""Returns the seconds of one copy: congestion control of the server, folder below its root, files at once."""


def measure_engine_copies(
    case: ShortFlowsCase, sizes_bytes: Sequence[int], page_bytes: Sequence[int], *, repeats: int, seed: int, rows: Rows
) -> list[Row]:
    """Return a row for each size of a flow, and one for a page's files; medians of alternating copies."""
    copies = {f"{size} bytes": (f"{number}/", 1, size) for number, size in enumerate(sizes_bytes)}
    copies["page"] = ("page/", MAX_CONNECTIONS, sum(page_bytes))
    common = (
        case.path,
        case.buffers,
        f"{case.background} beside",
        f"{repeats} repeats",
        seed,
        digest_values(*page_bytes),
    )
    names = {name: f"engine, {case.name}, {name}" for name in copies}
    if all(rows.has_row(name, *common) for name in names.values()):
        return [rows.find_or_measure(name, *common, measure=_require_measured) for name in names.values()]
    with tempfile.TemporaryDirectory(prefix="tradewind-engine-") as scratch:
        root = Path(scratch) / "site"
        for number, size_bytes in enumerate(sizes_bytes):
            (root / str(number)).mkdir(parents=True)
            write_page(root / str(number), [size_bytes], seed)
            (root / str(number) / "page.html").unlink()
        (root / "page").mkdir(parents=True)
        write_page(root / "page", page_bytes, seed)
        with _set_up_copies(case, root, Path(scratch)) as (copy, bed):

            def measure_copy(name: str) -> Row:
                folder, files_at_once, size = copies[name]
                alternation = Alternation.on(bed, case.background, prioritised=rows.prioritised)
                seconds = _compute_median_seconds(copy, alternation, folder, files_at_once, repeats)
                return _make_row(names[name], size, seconds) | alternation.report()

            return [rows.find_or_measure(names[name], *common, measure=partial(measure_copy, name)) for name in copies]


def _require_measured() -> Row:
    raise AssertionError("it was measured before")


def _compute_median_seconds(
    copy: Copy, alternation: Alternation, source: str, files_at_once: int, repeats: int
) -> dict[str, float]:
    seconds = alternation.measure_each((CUBIC, FLD), repeats, lambda control: copy(control, source, files_at_once))
    return {control: statistics.median(name) for control, name in seconds.items()}


def _make_row(name: str, size_bytes: int, seconds: dict[str, float]) -> Row:
    return {
        "case": name,
        "bytes": size_bytes,
        "fld_s": seconds[FLD],
        "cubic_s": seconds[CUBIC],
        "engine_gain": seconds[CUBIC] / seconds[FLD],
    }


@contextmanager
def _set_up_copies(case: ShortFlowsCase, root: Path, scratch: Path) -> Iterator[tuple[Copy, Testbed]]:
    """Yield a function that copies a folder of ``root`` over the case's path, and the testbed."""
    clients = 2 if case.background else 1
    with set_up_bed(case.path, case.buffers, clients=clients) as bed, ExitStack() as standing:
        ports = {control: port for port, control in enumerate((CUBIC, FLD), start=FIRST_PORT)}
        for control, port in ports.items():
            standing.enter_context(run_server(bed, root, port, control))
        if case.background:
            standing.enter_context(run_cross_traffic(bed, bed.clients[1], CrossTraffic(flows=case.background)))
            time.sleep(FILLING_S)

        def copy(control: str, source: str, files_at_once: int) -> float:
            with tempfile.TemporaryDirectory(dir=scratch) as got:
                url = f"http://{bed.server.address}:{ports[control]}/{source}"
                command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, f"{got}/files", "--json"]
                command += ["--no-tune", "--base-power", "0s", "--source", "server", "--destination", "client"]
                command += ["--concurrency", str(files_at_once), "--parallelism", "1", "--pipelining", "1"]
                home = [f"{name}={value}" for name, value in clean_environment(Path(got)).items()]
                report = json.loads(bed.run(bed.clients[0], ["env", "-i", *home, *command]))
            return float(report["duration_s"])

        yield copy, bed

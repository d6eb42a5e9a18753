"""Our own engine as the client: flows of a size, and a page's files over as many connections as a browser has.

What is told is the copy's own duration, from the first request to the last byte, without the start of the program.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from benchmarks.support.sources import digest_of
from benchmarks.testbed.cross_traffic import CrossTraffic, cross_traffic
from benchmarks.testbed.peers import environment
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.arena import buffered_bed
from benchmarks.transport.cases import CUBIC, FLD, ShortFlowsCase
from benchmarks.transport.measuring import FILLING_S
from benchmarks.transport.pages import FIRST_PORT, served, write_page
from benchmarks.transport.rows import Row, Rows
from benchmarks.transport.turns import Turns
from tradewind.connections.advice import MOST_CONNECTIONS


class Copy(Protocol):
    """Seconds of one copy from the server that sends by ``control``."""

    def __call__(self, control: str, source: str, files_at_once: int) -> float: ...


def engine_copies(
    case: ShortFlowsCase, sizes_bytes: Sequence[int], page_bytes: Sequence[int], *, repeats: int, seed: int, rows: Rows
) -> list[Row]:
    """A row a flow's size, and one of a page's files; medians of copies by turns."""
    asked = {f"{size} bytes": (f"{number}/", 1, size) for number, size in enumerate(sizes_bytes)}
    asked["page"] = ("page/", MOST_CONNECTIONS, sum(page_bytes))
    common = (case.path, case.buffers, f"{case.background} beside", f"{repeats} repeats", seed, digest_of(*page_bytes))
    names = {name: f"engine, {case.name}, {name}" for name in asked}
    if all(rows.has(each, *common) for each in names.values()):
        return [rows.made(each, *common, by=_never) for each in names.values()]
    with tempfile.TemporaryDirectory(prefix="tradewind-engine-") as scratch:
        root = Path(scratch) / "site"
        for number, sizes in enumerate([each] for each in sizes_bytes):
            (root / str(number)).mkdir(parents=True)
            write_page(root / str(number), sizes, seed)
            (root / str(number) / "page.html").unlink()
        (root / "page").mkdir(parents=True)
        write_page(root / "page", page_bytes, seed)
        with _copies_over(case, root, Path(scratch)) as (copy, bed):

            def attempt(name: str) -> Row:
                folder, files_at_once, size = asked[name]
                turns = Turns.on(bed, case.background, ahead=rows.ahead)
                seconds = _by_turns(copy, turns, folder, files_at_once, repeats)
                return _row(names[name], size, seconds) | turns.told()

            return [rows.made(names[name], *common, by=partial(attempt, name)) for name in asked]


def _never() -> Row:
    raise AssertionError("it was measured before")


def _by_turns(copy: Copy, turns: Turns, source: str, files_at_once: int, repeats: int) -> dict[str, float]:
    seconds = turns.each((CUBIC, FLD), repeats, lambda control: copy(control, source, files_at_once))
    return {control: statistics.median(each) for control, each in seconds.items()}


def _row(name: str, size_bytes: int, seconds: dict[str, float]) -> Row:
    return {
        "case": name,
        "bytes": size_bytes,
        "fld_s": seconds[FLD],
        "cubic_s": seconds[CUBIC],
        "engine_gain": seconds[CUBIC] / seconds[FLD],
    }


@contextmanager
def _copies_over(case: ShortFlowsCase, root: Path, scratch: Path) -> Iterator[tuple[Copy, Testbed]]:
    """A function that copies a folder of ``root`` over the case's path, and the testbed."""
    clients = 2 if case.background else 1
    with buffered_bed(case.path, case.buffers, clients=clients) as bed, ExitStack() as standing:
        ports = {control: port for port, control in enumerate((CUBIC, FLD), start=FIRST_PORT)}
        for control, port in ports.items():
            standing.enter_context(served(bed, root, port, control))
        if case.background:
            standing.enter_context(cross_traffic(bed, bed.clients[1], CrossTraffic(flows=case.background)))
            time.sleep(FILLING_S)

        def copy(control: str, source: str, files_at_once: int) -> float:
            with tempfile.TemporaryDirectory(dir=scratch) as got:
                url = f"http://{bed.server.address}:{ports[control]}/{source}"
                command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, f"{got}/files", "--json"]
                command += ["--no-tune", "--base-power", "0s", "--source", "server", "--destination", "client"]
                command += ["--concurrency", str(files_at_once), "--parallelism", "1", "--pipelining", "1"]
                home = [f"{name}={value}" for name, value in environment(Path(got)).items()]
                told = json.loads(bed.run(bed.clients[0], ["env", "-i", *home, *command]))
            return float(told["duration_s"])

        yield copy, bed

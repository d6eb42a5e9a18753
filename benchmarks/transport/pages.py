"""Web pages in a real Chromium over an emulated path, from our own server, by one congestion control or the other.

A page is replayed from the sizes of a HAR's objects, or has as many and as large ones as the paper's pages: 85 % of
connections below 50 kB, 99 % below 500 kB (Fig. 3). All come from one host over HTTP/1.1, so over six connections.
"""

import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Value
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.arena import buffered_bed
from benchmarks.transport.cases import CUBIC, FLD, ShortFlowsCase
from tradewind.connections.analysis import PageAnalysis, analyse
from tradewind.connections.har import decode_har, page_loads

Row = dict[str, Value]

OBJECTS = 40
P85_BYTES, P99_BYTES = 50_000, 500_000
_Z85, _Z99 = 1.0364, 2.3263
"""Of the standard normal distribution at 0.85 and 0.99."""

LEAST_OBJECT_BYTES = 300
FIRST_PORT = 8081


def typical_sizes(seed: int, count: int = OBJECTS) -> list[int]:
    """Sizes of a page's objects, log-normal through both quantiles; bytes."""
    spread = math.log(P99_BYTES / P85_BYTES) / (_Z99 - _Z85)
    centre = math.log(P85_BYTES) - _Z85 * spread
    draw = random.Random(seed)
    return [max(round(draw.lognormvariate(centre, spread)), LEAST_OBJECT_BYTES) for _ in range(count)]


def sizes_of_har(content: bytes) -> list[int]:
    """Sizes of the objects of the first page of a HAR that have one, in its order; bytes."""
    return [each.wire_bytes for each in page_loads(decode_har(content))[0].objects if each.wire_bytes]


def write_page(folder: Path, sizes_bytes: Sequence[int], seed: int) -> None:
    """A page of scripts of these sizes, each a comment that does not compress; its load event waits for all."""
    draw = random.Random(seed)
    tags = []
    for number, size_bytes in enumerate(sizes_bytes):
        (folder / f"{number}.js").write_text(
            f"//{draw.randbytes(size_bytes // 2).hex()}"[:size_bytes], encoding="ascii"
        )
        tags.append(f'<script async src="{number}.js"></script>')
    (folder / "page.html").write_text(f"<!doctype html><title>page</title>{''.join(tags)}", encoding="ascii")


def load_pages(case: ShortFlowsCase, sizes_bytes: Sequence[int], *, repeats: int, seed: int) -> Row:
    """Loads by turns of each congestion control; medians of the figures of the paper's section 4."""
    with tempfile.TemporaryDirectory(prefix="tradewind-pages-") as scratch:
        root, records = Path(scratch) / "site", Path(scratch) / "records"
        root.mkdir()
        records.mkdir()
        write_page(root, sizes_bytes, seed)
        analysed: dict[str, list[PageAnalysis]] = {CUBIC: [], FLD: []}
        with _browser_over(case, root, tuple(analysed)) as load:
            for repeat in range(repeats):
                for control, so_far in analysed.items():
                    har = records / f"{control}-{repeat}.har"
                    load(control, har)
                    so_far.append(analyse(page_loads(decode_har(har.read_bytes()))[0], rtt_s=case.path.rtt_s))
    row: Row = {"case": f"page, {case.name}", "bytes": sum(sizes_bytes), "objects": len(sizes_bytes)}
    for control, pages in analysed.items():
        row[f"{control}_load_s"] = statistics.median(page.load_s for page in pages)
        row[f"{control}_net_s"] = statistics.median(page.net_transfer_s for page in pages)
        row[f"{control}_idle_share"] = statistics.median(page.idle_share or 0.0 for page in pages)
        row[f"{control}_concurrency"] = statistics.median(page.effective_concurrency or 0.0 for page in pages)
        durations = [each.duration_s for page in pages for each in page.connections if each.duration_s is not None]
        row[f"{control}_connection_s"] = statistics.median(durations)
    return row


@contextmanager
def _browser_over(case: ShortFlowsCase, root: Path, controls: Sequence[str]) -> Iterator[Any]:
    """A function that loads the page by a congestion control and records it."""
    with buffered_bed(case.path, case.buffers) as bed, ExitStack() as standing:
        ports = {control: port for port, control in enumerate(controls, start=FIRST_PORT)}
        for control, port in ports.items():
            standing.enter_context(_served(bed, root, port, control))
        browser = standing.enter_context(_started(bed, bed.clients[0], "benchmarks.transport.browser"))

        def load(control: str, har: Path) -> None:
            url = f"http://{bed.server.address}:{ports[control]}/page.html"
            assert browser.stdin is not None
            browser.stdin.write(json.dumps({"url": url, "har": str(har)}) + "\n")
            browser.stdin.flush()
            _line(browser)

        yield load


@contextmanager
def _served(bed: Testbed, root: Path, port: int, control: str) -> Iterator[None]:
    options = ["serve-files", str(root), "--host", bed.server.address, "--port", str(port), "--no-meter", "--json"]
    with _started(bed, bed.server, "tradewind_agent", *options, "--congestion-control", control) as server:
        if server.first["congestion_control"] != control:
            raise EmulationBroke(f"the kernel refuses {control}")
        yield


@contextmanager
def _started(bed: Testbed, host: Any, module: str, *arguments: str) -> Iterator[Any]:
    """A program that first says one JSON document, kept as ``first``."""
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None, "text": True}
    program: Any = bed.start(host, [sys.executable, "-P", "-m", module, *arguments], **streams)
    try:
        program.first = json.loads(_line(program))
        yield program
    finally:
        program.terminate()
        program.communicate()


def _line(program: Any) -> str:
    line = program.stdout.readline()
    if not line:
        raise EmulationBroke(f"{program.args!r} ended")
    return str(line)

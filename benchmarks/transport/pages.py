"""Load web pages in a real Chromium over an emulated path, by one congestion control or the other.

A page is replayed from the sizes of a HAR's objects, or has as many and as large ones as the paper's pages: 85 % of
connections below 50 kB, 99 % below 500 kB (Fig. 3). All objects come from one host: from our own server over HTTP/1.1,
hence over six connections, or from a caching proxy before it, encrypted and by HTTP/2 too.
"""

import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.report import Value
from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.alternation import Alternation
from benchmarks.transport.arena import set_up_bed
from benchmarks.transport.cases import CUBIC, FLD, PageCase
from benchmarks.transport.measuring import FILLING_S
from benchmarks.transport.proxy import NAME, run_caching_proxy, set_congestion_control
from tradewind.connections.analysis import PageAnalysis, analyse
from tradewind.connections.caching import CacheClass
from tradewind.connections.har import build_page_loads, decode_har

Row = dict[str, Value]

OBJECTS = 40
P85_BYTES, P99_BYTES = 50_000, 500_000
_Z85, _Z99 = 1.0364, 2.3263
"""Quantiles of the standard normal distribution at 0.85 and 0.99."""

LEAST_OBJECT_BYTES = 300
FIRST_PORT = 8081


def draw_typical_sizes(seed: int, count: int = OBJECTS) -> list[int]:
    """Draw the sizes of a page's objects, log-normal through both quantiles; bytes."""
    spread = math.log(P99_BYTES / P85_BYTES) / (_Z99 - _Z85)
    centre = math.log(P85_BYTES) - _Z85 * spread
    draw = random.Random(seed)
    return [max(round(draw.lognormvariate(centre, spread)), LEAST_OBJECT_BYTES) for _ in range(count)]


def read_har_sizes(content: bytes) -> list[int]:
    """Return the sizes of the objects of a HAR's first page, in order, bytes; objects without a size are left out."""
    return [each.wire_bytes for each in build_page_loads(decode_har(content))[0].objects if each.wire_bytes]


def write_page(folder: Path, sizes_bytes: Sequence[int], seed: int) -> None:
    """Write a page of scripts of these sizes, each a comment that does not compress; its load event waits for all."""
    draw = random.Random(seed)
    tags = []
    for number, size_bytes in enumerate(sizes_bytes):
        (folder / f"{number}.js").write_text(
            f"//{draw.randbytes(size_bytes // 2).hex()}"[:size_bytes], encoding="ascii"
        )
        tags.append(f'<script async src="{number}.js"></script>')
    (folder / "page.html").write_text(f"<!doctype html><title>page</title>{''.join(tags)}", encoding="ascii")


class LoadedPages(NamedTuple):
    """Loads of a page by each congestion control.

    ``alternation`` : what is reported of their order and of what disturbed the machine meanwhile.
    """

    pages: Mapping[str, Sequence[PageAnalysis]]
    alternation: Row


def load_pages(
    case: PageCase, sizes_bytes: Sequence[int], *, repeats: int, seed: int, prioritised: bool = False
) -> LoadedPages:
    """Load a page, alternating between the congestion controls; ``prioritised`` : whether this has precedence."""
    with tempfile.TemporaryDirectory(prefix="tradewind-pages-") as scratch:
        root, records, proxy = (Path(scratch) / name for name in ("site", "records", "proxy"))
        for folder in (root, records, proxy):
            folder.mkdir()
        Path(scratch).chmod(0o755)  # a proxy may run as another account
        write_page(root, sizes_bytes, seed)
        with _open_browser(case, root, proxy, (CUBIC, FLD), prioritised=prioritised) as (load, alternation):
            numbers = count()

            def record(control: str) -> Path:
                har = records / f"{next(numbers)}.har"
                load(control, har)
                return har

            hars = alternation.measure_each((CUBIC, FLD), repeats, record)
            report = alternation.report()
        rtt_s = case.flows.path.rtt_s
        pages = {control: [_analyse_har(har, rtt_s=rtt_s) for har in each] for control, each in hars.items()}
    return LoadedPages(pages, report)


def _analyse_har(har: Path, *, rtt_s: float) -> PageAnalysis:
    return analyse(build_page_loads(decode_har(har.read_bytes()))[0], rtt_s=rtt_s, proxy=NAME)


def compute_median_connection_s(*pages: PageAnalysis) -> float:
    """Return the median duration of the connections of these pages, s."""
    return statistics.median(
        each.duration_s for page in pages for each in page.connections if each.duration_s is not None
    )


def read_net_transfer_s(page: PageAnalysis) -> float:
    """Return a page's net transfer time, s; a browser reports all the times that it needs."""
    assert page.net_transfer_s is not None
    return page.net_transfer_s


def make_page_row(case: PageCase, sizes_bytes: Sequence[int], loads: LoadedPages) -> Row:
    """Return medians of the figures of the paper's section 4."""
    row: Row = {"case": case.name, "bytes": sum(sizes_bytes), "objects": len(sizes_bytes)}
    for control, pages in loads.pages.items():
        row[f"{control}_load_s"] = statistics.median(page.load_s for page in pages)
        row[f"{control}_net_s"] = statistics.median(read_net_transfer_s(page) for page in pages)
        row[f"{control}_idle_share"] = statistics.median(page.idle_share or 0.0 for page in pages)
        row[f"{control}_concurrency"] = statistics.median(page.effective_concurrency or 0.0 for page in pages)
        row[f"{control}_connection_s"] = compute_median_connection_s(*pages)
    all_pages = [page for pages in loads.pages.values() for page in pages]
    row["connections"] = statistics.median(len(page.connections) for page in all_pages)
    if case.protocol is not None:
        hits = sum(page.caches.get(CacheClass.HIT, 0) for page in all_pages)
        row["hit_share"] = hits / sum(page.objects for page in all_pages)
    return row | loads.alternation


@contextmanager
def _open_browser(
    case: PageCase, root: Path, proxy: Path, controls: Sequence[str], *, prioritised: bool
) -> Iterator[tuple[Callable[[str, Path], None], Alternation]]:
    """Yield a function that loads the page by a congestion control and records it, and their alternation."""
    flows = case.flows
    clients = 2 if flows.background else 1
    with set_up_bed(flows.path, flows.buffers, clients=clients) as bed, ExitStack() as resources:
        ports = {control: port for port, control in enumerate(controls, start=FIRST_PORT)}
        for control, port in ports.items():
            resources.enter_context(run_server(bed, root, port, control))
        if case.protocol is not None:
            origin = f"http://{bed.server.address}:{ports[CUBIC]}"
            resources.enter_context(run_caching_proxy(bed, origin, proxy))
        if flows.background:
            bulk = CrossTraffic(flows=flows.background)
            resources.enter_context(run_cross_traffic(bed, bed.clients[1], bulk))
            time.sleep(FILLING_S)
        browser = resources.enter_context(start_program(bed, bed.clients[0], "benchmarks.transport.browser"))

        def load(control: str, har: Path) -> None:
            if case.protocol is not None:
                set_congestion_control(bed, control)
            request = {"url": _format_url(case, bed, ports[control]), "har": str(har)}
            browser.stdin.write(json.dumps(request) + "\n")
            browser.stdin.flush()
            read_line(browser)

        if case.protocol is not None:
            load(CUBIC, root.parent / "first.har")  # which fills the cache
        yield load, Alternation.on(bed, flows.background, prioritised=prioritised)


def _format_url(case: PageCase, bed: Testbed, own_port: int) -> str:
    if case.protocol is None:
        return f"http://{bed.server.address}:{own_port}/page.html"
    return f"{case.protocol.scheme}://{bed.server.address}:{case.protocol.port}/page.html"


@contextmanager
def run_server(bed: Testbed, root: Path, port: int, control: str) -> Iterator[None]:
    options = ["serve-files", str(root), "--host", bed.server.address, "--port", str(port), "--no-meter", "--json"]
    with start_program(bed, bed.server, "tradewind_agent", *options, "--congestion-control", control) as server:
        if server.first["congestion_control"] != control:
            raise EmulationBroke(f"the kernel refuses {control}")
        yield


@contextmanager
def start_program(bed: Testbed, host: Any, module: str, *arguments: str) -> Iterator[Any]:
    """Start a program that first prints one JSON document, which becomes its attribute ``first``."""
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None, "text": True}
    program: Any = bed.start(host, [sys.executable, "-P", "-m", module, *arguments], **streams)
    try:
        program.first = json.loads(read_line(program))
        yield program
    finally:
        program.terminate()
        program.communicate()


def read_line(program: Any) -> str:
    line = program.stdout.readline()
    if not line:
        raise EmulationBroke(f"{program.args!r} ended")
    return str(line)

"""Run the tools that the GreenDataFlow paper compares itself with, at their defaults, and our own copy.

The path is the paper's to IBM, a fifth as fast as it says: two cores carry no gigabit a second next to the programs
that send and receive it. The files are the paper's small ones. Energy is that of the client's processor, modelled.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from benchmarks.papers.catalogue import Claims
from benchmarks.papers.paths import PEERS_PATH, draw_small_sizes, make_path
from benchmarks.papers.trial import TrialSite
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import MeasuredRun, run_measured
from benchmarks.testbed.peers import DEFAULTS, PEERS, TRADEWIND, Job, Peer, clean_environment
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row

CUT_S = 20.0
MIN_ENERGY = "tradewind, min_energy"
COMPARED = ("globus-url-copy", "rclone")
_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({MIN_ENERGY: ("--sla", "min_energy")})


def _list_peers() -> list[Peer]:
    ours = [TRADEWIND, replace(TRADEWIND, name=MIN_ENERGY)]
    return [*ours, *(peer for peer in PEERS if peer.name in COMPARED)]


@dataclass(frozen=True, slots=True)
class Tools:
    """One run of each tool."""

    @property
    def name(self) -> str:
        return "globus-url-copy and rclone beside ours"

    @property
    def source_part(self) -> str:
        return "peers"

    def describe_conditions(self, claims: Claims) -> str:
        return f"{make_path(PEERS_PATH, claims)}; {CUT_S:g} s"

    def measure(self, yard: TrialSite) -> Row:
        row: Row = {"disturbed": None}
        sizes = draw_small_sizes(yard.claims, yard.seed)
        with tempfile.TemporaryDirectory(dir=yard.folder, prefix="peers-") as work:
            Path(work).chmod(0o755)  # servers may run as another account
            served = Path(work) / "served"
            write_files(served, sizes, yard.seed)
            with Testbed(make_path(PEERS_PATH, yard.claims), seed=yard.seed) as bed:
                for peer in _list_peers():
                    with _run_origin(bed, served, peer) as url:
                        metrics, disturbance = _run_tool(
                            bed, peer, url, Path(work), served, prioritised=yard.prioritised
                        )
                    row[peer.name] = metrics
                    row["disturbed"] = row["disturbed"] or disturbance
        return row


@contextmanager
def _run_origin(bed: Testbed, served: Path, peer: Peer) -> Iterator[str]:
    with (origins.run_gridftp if peer.over_gridftp else origins.run_nginx)(bed, served) as url:
        yield url


def _run_tool(
    bed: Testbed, peer: Peer, url: str, work: Path, served: Path, *, prioritised: bool
) -> tuple[Row, str | None]:
    with tempfile.TemporaryDirectory(dir=work, prefix="run-") as name:
        got, scratch, log = Path(name) / "got", Path(name) / "scratch", Path(name) / "log"
        got.mkdir()
        scratch.mkdir()
        sizes = {each.name: each.stat().st_size for each in sorted(served.iterdir())}
        job = Job(url=url, sizes_bytes=sizes, folder=got, scratch=scratch)
        command = [*peer.command(job, DEFAULTS), *_OPTIONS.get(peer.name, ())]
        surroundings = clean_environment(scratch)
        ran = run_measured(bed, bed.clients[0], command, got, cut_s=CUT_S, environment=surroundings, log=log)
        metrics = read_metrics(peer.name, ran, log)
    return metrics, find_disturbance(
        ran.path, ran.share, rtt_s=bed.path.rtt_s, prioritised=prioritised and bed.link.is_real_time
    )


def read_metrics(name: str, ran: MeasuredRun, log: Path) -> Row:
    """Return rate and energy of a tool.

    Raises
    ------
    NothingMoved : it failed, so that it cannot be compared with others.
    """
    ran.require_moved(name, log)
    return {"bps": ran.throughput_bps, "j_per_gb": ran.compute_per_gb(ran.compute_modelled_energy_j())}

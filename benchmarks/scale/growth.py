"""Measure a full refresh of stored rows by the service's own workers, and one after new logs on a few links."""

import json
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from benchmarks.pipeline import fit_growth_exponent, run_workers
from benchmarks.scale.costs import measure_stored_bytes
from benchmarks.scale.stored_logs import Size, StoredLogs, add_new_logs, name_stored, open_stored_logs
from benchmarks.support.processes import measure_cpu_s, read_peak_rss_mb
from benchmarks.support.report import DIRTY, UNKNOWN, Value, read_commit
from benchmarks.support.stored_database import print_now
from services.application.shared.jobs import RefreshModels
from services.bootstrap import Container, build_container
from services.embedded.valkey import EmbeddedValkey
from services.processes import NICENESS

POLL_S = 0.2
REPORT_EVERY_S = 60.0
NEW_LOGS_ON = 0.02
"""Share of the links that get new logs, each as many rows as a hundredth of its own."""
NEW_ROWS = 0.01
AT_ONCE = {"TRADEWIND_REFRESH_INTERVAL_S": "0"}
"""Otherwise the second refresh would wait for five minutes since the first."""

Figures = dict[str, Value]


def measure_growth(
    size: Size, *, seed: int, patience_s: float, folder: Path, niceness: Mapping[str, int] = NICENESS
) -> tuple[Figures, Figures | None]:
    """Return the figures of a full refresh and of one after new logs; they are stored, so that an interrupted run
    continues.

    The second are absent where the first was not done in time. ``folder`` : where they and the rows are stored.
    """
    file = folder / f"{name_stored(size, seed)}.json"
    if (found := read_stored_figures(file, of=read_commit())) is not None:
        print_now(f"{size}: measured before, see {file}")
        return found["whole"], found["new_logs"]
    with (
        open_stored_logs(size, seed=seed, folder=folder) as data,
        EmbeddedValkey.temporary() as valkey,
        build_container(database_url=data.database_url, redis_url=valkey.url()) as parts,
        run_workers(data.database_url, valkey.url(), AT_ONCE, niceness=niceness) as worker,
    ):
        watch = CostWatch(worker, psutil.Process(data.server.process_id))
        full: Figures = {"case": f"{size.links} links", "rows": size.rows}
        full |= run_refresh(parts, data, watch, patience_s) | measure_stored_bytes(data)
        new_logs: Figures | None = None
        if full["done"] == 1.0:
            print_now(f"{size}: {full['seconds']:.0f} s")
            links = pick_links(data, seed)
            add_new_logs(data, links, max(round(size.rows / size.links * NEW_ROWS), 1) * len(links), seed=seed + 1)
            watch = CostWatch(worker, psutil.Process(data.server.process_id))
            new_logs = {"case": f"new logs on {len(links)} of {size.links} links", "rows": size.rows}
            new_logs |= run_refresh(parts, data, watch, patience_s)
    if full["done"] == 1.0:
        file.write_text(json.dumps({"commit": read_commit(), "whole": full, "new_logs": new_logs}), encoding="utf-8")
    return full, new_logs


def read_stored_figures(file: Path, *, of: str) -> Mapping[str, Any] | None:
    """Return figures of exactly this commit; a tree with changes may have any, and is measured again."""
    if not file.exists() or of == UNKNOWN or of.endswith(DIRTY):
        return None
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found if found["commit"] == of else None


def pick_links(data: StoredLogs, seed: int) -> Sequence[UUID]:
    return random.Random(seed).sample(list(data.link_ids), max(round(len(data.link_ids) * NEW_LOGS_ON), 1))


@dataclass
class CostWatch:
    """Measures what the workers and the database cost from now on."""

    worker: psutil.Process
    database: psutil.Process
    started: float = field(default_factory=time.perf_counter)
    peak_rss_mb: float = 0.0

    def __post_init__(self) -> None:
        self._workers_s, self._database_s = measure_cpu_s(self.worker), measure_cpu_s(self.database)

    def look(self) -> None:
        for each in self.worker.children():
            with suppress(OSError, ValueError):  # it was replaced a moment ago
                self.peak_rss_mb = max(self.peak_rss_mb, read_peak_rss_mb(each.pid))

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def measure_figures(self) -> Figures:
        self.look()
        return {
            "seconds": self.seconds,
            "workers_cpu_s": measure_cpu_s(self.worker) - self._workers_s,
            "database_cpu_s": measure_cpu_s(self.database) - self._database_s,
            "peak_rss_mb": self.peak_rss_mb,
        }


def run_refresh(parts: Container, data: StoredLogs, watch: CostWatch, patience_s: float) -> Figures:
    """Request a refresh as an upload does, and wait for its release within the patience."""
    with parts.store.unit_of_work(data.tenant_id) as uow:
        before = uow.releases.find_current()
        uow.publish(RefreshModels(data.tenant_id))
        uow.commit()
    reported_s = time.monotonic()
    while watch.seconds < patience_s:
        with parts.store.unit_of_work(data.tenant_id) as uow:
            if (release_id := uow.releases.find_current()) != before:
                assert release_id is not None
                figures = watch.measure_figures()
                release = uow.releases.get(release_id)
                return figures | {"done": 1.0, "clusters": release.clusters, **release.gate}
            if time.monotonic() - reported_s > REPORT_EVERY_S:
                reported_s = time.monotonic()
                watch.look()
                print_now(f"{read_progress(uow)} links fitted in {watch.seconds:.0f} s")
        time.sleep(POLL_S)
    with parts.store.unit_of_work(data.tenant_id) as uow:
        done, total = read_progress(uow)
    return watch.measure_figures() | {"done": done / total if total else 0.0}


def read_progress(uow: Any) -> tuple[int, int]:
    """Return the links of the release being built that are fitted, and all."""
    release_id = uow.release_work.find_building()
    return (0, 0) if release_id is None else tuple(uow.release_work.count_progress(release_id))


def summarise(full: Sequence[Mapping[str, Any]], new_logs: Sequence[Mapping[str, Any] | None]) -> Figures:
    """Return the figures. Growth is the exponent b of seconds = a · rows^b, over the sizes that were done in time.

    ``incremental_share`` : share of a full refresh that one after new logs on 2 % of the links took, for the largest
    size; also in processor time, which other programs of the machine affect less.
    """
    done = [(each, later) for each, later in zip(full, new_logs, strict=True) if later is not None]
    if not done:
        return {"rows": []}
    rows = [each["rows"] for each, _ in done]
    seconds, cpu = [each["seconds"] for each, _ in done], [_compute_cpu_s(each) for each, _ in done]
    largest, later = done[-1]
    grown: Figures = {}
    if len(done) > 1:
        exponents = fit_growth_exponent(rows, seconds), fit_growth_exponent(rows, cpu)
        grown = dict(zip(("growth_exponent", "cpu_growth_exponent"), exponents, strict=True))
    return {
        "rows": rows,
        "seconds": seconds,
        **grown,
        "rows_per_s": rows[-1] / seconds[-1],
        "cpu_us_a_row": [1e6 * each / count for each, count in zip(cpu, rows, strict=True)],
        "peak_rss_mb": max(each["peak_rss_mb"] for each in full),
        "incremental_share": later["seconds"] / largest["seconds"],
        "incremental_cpu_share": _compute_cpu_s(later) / _compute_cpu_s(largest),
    }


def _compute_cpu_s(figures: Mapping[str, Any]) -> float:
    return float(figures["workers_cpu_s"] + figures["database_cpu_s"])

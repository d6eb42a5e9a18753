"""Lines of other tools' logs a second of processor time, as `logs upload` reads them, and the memory of a long log.

The baseline reads the same file in the same run and makes values of each line without understanding them: JSON parsed
by `json.loads`, `NAME=value` split by spaces. Each measurement has a process of its own, whose processor time and
high-water mark of memory count. Memory is compared between a log and its first tenth.
"""

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.support.processes import read_peak_rss_mb
from benchmarks.support.report import Value
from tradewind.units import MIB
from tradewind_agent.importers import ImportContext, ImportedRow, import_file

SHORT = 0.1
"""Share of the lines of the shorter log that memory is compared with."""
STATISTICS_OF_RUN = 20
"""Lines of statistics that rclone writes of a run, the last with its end."""
CONTEXT = ImportContext(source="source.example.org", destination="destination.example.org")
START = datetime(2024, 1, 1, tzinfo=UTC)


def write_gridftp_lines(seed: int) -> Iterator[str]:
    """Yield lines of GridFTP's transfer log, one a transfer, without an end."""
    random, at = Random(seed), START
    while True:
        at += timedelta(seconds=random.uniform(0.01, 1))
        ended = at + timedelta(seconds=random.uniform(1, 500))
        yield (
            f"DATE={ended:%Y%m%d%H%M%S.%f} HOST=dtn.example.org PROG=globus-gridftp-server NL.EVNT=FTP_INFO "
            f"START={at:%Y%m%d%H%M%S.%f} USER=ann FILE=/data/set/file-{random.randrange(10**6)} BUFFER=16777216 "
            f"BLOCK=262144 NBYTES={random.randrange(10**6, 10**11)} VOLUME=/ STREAMS={random.choice((1, 4, 8))} "
            f"STRIPES=1 DEST=[192.0.2.{random.randrange(250)}] TYPE={random.choice(('RETR', 'STOR'))} CODE=226\n"
        )


def write_rclone_lines(seed: int) -> Iterator[str]:
    """Yield lines of rclone's JSON log: statistics of runs, one after the other, without an end."""
    random, at = Random(seed), START
    while True:
        total, duration_s = random.randrange(10**7, 10**11), random.uniform(20, 2000)
        for number in range(1, STATISTICS_OF_RUN + 1):
            share = number / STATISTICS_OF_RUN
            stats = {
                "bytes": round(total * share), "checks": 0, "deletedDirs": 0, "deletes": 0,
                "elapsedTime": duration_s * share, "errors": 0, "eta": 0, "fatalError": False, "renames": 0,
                "retryError": False, "speed": total / duration_s, "totalBytes": total, "totalChecks": 0,
                "totalTransfers": 1, "transferTime": duration_s * share, "transfers": int(share == 1),
            }  # fmt: skip
            line = {
                "time": (at + timedelta(seconds=duration_s * share)).isoformat(), "level": "notice",
                "msg": "\nTransferred:   \t1 GiB / 1 GiB, 100%, 1 MiB/s, ETA 0s\n", "stats": stats,
                "source": "accounting/stats.go:526",
            }  # fmt: skip
            yield json.dumps(line) + "\n"
        at += timedelta(seconds=duration_s + 60)


def _parse_pairs(line: str) -> object:
    return dict(pair.partition("=")[::2] for pair in line.split())


WRITERS: Mapping[str, tuple[Callable[[int], Iterator[str]], Callable[[str], object], int]] = {
    "gridftp": (write_gridftp_lines, _parse_pairs, 1),
    "rclone": (write_rclone_lines, json.loads, STATISTICS_OF_RUN),
}
"""By format: its lines, what the baseline makes of one, and lines of a transfer."""


def measure_imports(folder: Path, lines: int, seed: int) -> Iterator[dict[str, Value]]:
    """Yield the figures of each format: ours, the baseline's, and the memory of the log and of its first tenth."""
    for name, (write, _, lines_of_transfer) in WRITERS.items():
        count = lines - lines % lines_of_transfer
        long, short = folder / f"{name}.log", folder / f"{name}-short.log"
        for file, of_file in ((long, count), (short, round(count * SHORT))):
            with file.open("w", encoding="utf-8") as opened:
                opened.writelines(islice(write(seed), of_file))
        records, import_s, peak_mb = _run_apart(_import_log, long)
        assert records == count // lines_of_transfer, f"{name}: {records} records of {count} lines"
        _, baseline_s, _ = _run_apart(_parse_log, long)
        _, _, short_peak_mb = _run_apart(_import_log, short)
        yield {
            "case": f"import {name}",
            "lines": count,
            "log_mb": long.stat().st_size / MIB,
            "import_lines_per_cpu_s": count / import_s,
            "parsed_lines_per_cpu_s": count / baseline_s,
            "import_ratio": baseline_s / import_s,
            "import_peak_rss_mb": peak_mb,
            "import_memory_growth_mb": peak_mb - short_peak_mb,
        }
        long.unlink()
        short.unlink()


def _run_apart(work: Callable[[Path], int], log: Path) -> tuple[int, float, float]:
    """Return what ``work`` counts in a process of its own, its processor seconds, and the most memory, MiB."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        return processes.submit(_measure, work, log).result()


def _measure(work: Callable[[Path], int], log: Path) -> tuple[int, float, float]:
    started_s = time.process_time()
    count = work(log)
    seconds = time.process_time() - started_s
    return count, seconds, read_peak_rss_mb(os.getpid())


def _import_log(log: Path) -> int:
    return sum(isinstance(row, ImportedRow) for row in import_file(log, context=CONTEXT))


def _parse_log(log: Path) -> int:
    parse = WRITERS[log.name.removesuffix(".log")][1]
    with log.open(encoding="utf-8") as lines:
        return sum(parse(line) is not None for line in lines)

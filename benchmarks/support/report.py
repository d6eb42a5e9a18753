"""Parse every benchmark's arguments and report its results: a table to read, `var/bench/NAME.json` for programs."""

import argparse
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import ge, le
from pathlib import Path
from types import MappingProxyType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SIGNIFICANT_DIGITS = 4
DIRTY, UNKNOWN = "-dirty", "unknown"
"""Suffix of a commit with uncommitted changes; name where there is no commit."""

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]


def make_parser(purpose: str, *, seed: int = 1) -> argparse.ArgumentParser:
    """Return the parser with the options that all benchmarks share; a benchmark adds its own.

    `--quick` asks for a smaller run of the same kind. `--smoke` asks for the smallest run that still executes all of
    the benchmark's code and its baseline; it is quick too, so that no figure is judged. `--data` names folders of
    measurements, relative to the caller.
    """
    parser = argparse.ArgumentParser(description=purpose, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller, with the same parts")
    parser.add_argument("--smoke", action=_Smoke, help="smallest, in seconds: shows that it runs, measures nothing")
    parser.add_argument(
        "--data", type=parse_existing_folder, nargs="+", default=[], metavar="DIR", help="folders of measurements"
    )
    parser.add_argument("--seed", type=int, default=seed, help="seed of everything drawn at random")
    return parser


class _Smoke(argparse.Action):
    """Makes a run quick, too: a smoke run leaves out what a quick run leaves out."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, **options)

    def __call__(self, _: object, namespace: argparse.Namespace, *__: object) -> None:
        namespace.smoke = namespace.quick = True


@contextmanager
def open_scratch_folder(name: str, usual_folder: Path, *, is_removed: bool) -> Iterator[Path]:
    """Return the folder for what a benchmark keeps between runs, from which an interrupted one continues.

    A smoke or quick run has one of its own and removes it: it measures all that it reports.
    """
    if not is_removed:
        yield usual_folder
        return
    with tempfile.TemporaryDirectory(prefix=f"tradewind-{name}-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def parse_existing_folder(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return path


def write_report(
    name: str,
    *,
    quick: bool,
    results: Sequence[Mapping[str, Value]],
    summary: Mapping[str, Value],
    started_at: datetime,
    smoke: bool = False,
    folder: Path = ROOT / "var" / "bench",
) -> Path:
    """Print the results as a table with the summary below; write both as `NAME.json` and return its path.

    A smoke run writes `NAME-smoke.json`, marked `"smoke": true`, so that it never replaces what was measured.

    Parameters
    ----------
    name : the benchmark's, as in `./run bench NAME`.
    results : one mapping a case, `case` first; cases may differ in their further keys.
    summary : the figures to judge by, ours and the baseline's, under the names that the README of benchmarks fixes.
    started_at : when the run started, with its zone.
    """
    document = {
        "name": name,
        "commit": read_commit(),
        "started_at": started_at.astimezone(UTC).isoformat(),
        "machine": describe_machine(),
        "quick": quick,
        **({"smoke": True} if smoke else {}),
        "results": [dict(result) for result in results],
        "summary": dict(summary),
    }
    text = json.dumps(document, indent=2, allow_nan=False)  # NaN is a mistake, not a result
    print(format_table(results))
    print()
    print(format_table([{"summary": key, "value": value} for key, value in _flatten(summary)]))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{'-smoke' if smoke else ''}.json"
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{name}.", delete=False, encoding="utf-8") as partial:
        partial.write(text + "\n")
    Path(partial.name).replace(path)
    return path


def _flatten(summary: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """Yield each figure on its own; a figure of a nested mapping has the names of both."""
    for key, value in summary.items():
        if isinstance(value, Mapping):
            yield from ((f"{key} {name}", inner) for name, inner in _flatten(value))
        else:
            yield key, value


def judge_summary(
    summary: Mapping[str, Value],
    at_most: Mapping[str, float],
    at_least: Mapping[str, float] = MappingProxyType({}),
    *,
    is_complete: bool = True,
) -> int:
    """Print the figures that miss their bounds; return the exit code, 1 if any does.

    ``is_complete`` : the run measured everything, so that a missing figure counts as missed.
    """
    bounds = [(name, bound, "at most", le) for name, bound in at_most.items()]
    bounds += [(name, bound, "at least", ge) for name, bound in at_least.items()]
    code = 0
    for name, bound, word, is_met in bounds:
        value = summary.get(name)
        if not is_met(value, bound) if isinstance(value, int | float) else is_complete:
            print(f"MISSED  {name} {_format_cell(value)}, {_format_cell(bound)} {word}")
            code = 1
    return code


def read_commit() -> str:
    """Return the commit measured, with `-dirty` for uncommitted changes; `unknown` outside a checkout."""
    answer = subprocess.run(
        ["git", "describe", "--always", f"--dirty={DIRTY}", "--abbrev=40", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or UNKNOWN


def describe_machine() -> dict[str, Value]:
    """Return what a reader needs to compare figures: system, processor, cores this process may use, memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "processor": _read_processor_name(),
        "cores": cores,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def name_machine() -> str:
    """Return this machine and its kernel, as far as measured figures depend on them: rows count only here."""
    description = describe_machine()
    return f"{platform.release()}, {description['processor']}, {description['cores']} cores"


def _read_processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def format_table(rows: Sequence[Mapping[str, Value]]) -> str:
    """Return the rows as text columns: names to the left, numbers to the right, a dash for what a row lacks."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    body = [[_format_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in [columns, *body]) for index in range(len(columns))]
    numeric = [all(_is_number(row.get(column)) for row in rows) for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in [columns, ["-" * width for width in widths], *body]
    ]
    return "\n".join(lines)


def _is_number(value: Value) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _format_cell(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}" if abs(value) < 10**SIGNIFICANT_DIGITS else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value)

"""A writer of CSV logs in the notations of the world: numbers, times, units, delimiters and what stands around rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from types import MappingProxyType
from zoneinfo import ZoneInfo

from benchmarks.fuzz.log_writers import ZONES, Truth, WrittenLog, draw_transfers, without_changes_of_clocks
from tradewind_agent.history.importers.ports import DateOrder

_SIZES: Mapping[str, float] = MappingProxyType(
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
)
_RATES: Mapping[str, float] = MappingProxyType(
    {"Mbps": 1e6, "Mbit/s": 1e6, "Gbit/s": 1e9, "MB/s": 8e6, "MiB/s": 8 * 2.0**20}
)
_DAY_S = 86400.0
"""An end without a date is within a day of its start."""
_WORDS = {True: ("ok", "SUCCESS", "done", "succeeded"), False: ("failed", "ERROR", "error", "failure")}


@dataclass(frozen=True, slots=True)
class _Locale:
    """How numbers are written: mark of decimals, mark of thousands ("" for none), and what separates cells."""

    point: str
    thousands: str
    delimiter: str

    def write(self, value: float, digits: int) -> str:
        integer, _, fraction = f"{value:,.{digits}f}".partition(".")
        text = integer.replace(",", self.thousands) + (self.point + fraction if fraction else "")
        return f'"{text}"' if self.delimiter in text else text


def _draw_locale(random: Random) -> _Locale:
    if random.random() < 0.4:
        return _Locale(",", random.choice(["", ".", " ", "\u00a0"]), random.choice([";", "\t", "|", ","]))
    return _Locale(".", random.choice(["", "", ",", " ", "'"]), random.choice([",", ";", "\t", "|"]))


def _write_local(at: datetime, zone: str, notation: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):{notation}}.{at.microsecond // 1000:03d}"


_TIMES: Mapping[str, Callable[[datetime, str], str]] = MappingProxyType(
    {
        "iso offset": lambda at, zone: at.astimezone(ZoneInfo(zone)).isoformat(timespec="milliseconds"),
        "iso utc": lambda at, _: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "local": lambda at, zone: at.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(" ", "milliseconds"),
        "epoch s": lambda at, _: f"{at.timestamp():.3f}",
        "epoch ms": lambda at, _: f"{round(at.timestamp() * 1e3)}",
        "epoch us": lambda at, _: f"{round(at.timestamp() * 1e3) * 1000}",
        "epoch ns": lambda at, _: f"{round(at.timestamp() * 1e3) * 10**6}",
        "month": lambda at, zone: f"{at.astimezone(ZoneInfo(zone)):%d %b %Y %H:%M:%S}.{at.microsecond // 1000:03d}",
        "dmy": lambda at, zone: _write_local(at, zone, "%d/%m/%Y %H:%M:%S"),
        "mdy": lambda at, zone: _write_local(at, zone, "%m/%d/%y %H:%M:%S"),
        "clock": lambda at, zone: _write_local(at, zone, "%H:%M:%S"),
        "compact": lambda at, _: f"{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03d}Z",
    }
)
_LOCAL_TIMES = frozenset({"local", "month", "dmy", "mdy", "clock"})


def _write_span(seconds: float, notation: str, locale: _Locale) -> str:
    hours, rest = divmod(round(seconds * 1000), 3_600_000)
    minutes, ms = divmod(rest, 60_000)
    if notation == "clock":
        return f"{hours}:{minutes:02d}:{ms // 1000:02d}.{ms % 1000:03d}"
    if notation == "words":
        return f"{hours}h{minutes}m{ms / 1000:.3f}s"
    if notation == "ms":
        return locale.write(seconds * 1000, 0)
    if notation == "min":
        return locale.write(seconds / 60, 8)
    return locale.write(seconds, 3)


def write_csv(random: Random) -> WrittenLog:
    """Write random transfers as a table."""
    transfers, zone, locale = draw_transfers(random, most=12), random.choice(ZONES), _draw_locale(random)
    notation, size = random.choice(list(_TIMES)), random.choice(list(_SIZES))
    span = random.choice(["s", "s", "ms", "min", "clock", "words", "end"])
    rate = random.choice([None, None, *_RATES]) if span != "end" else None
    is_declared = random.random() < 0.85 or size != "B"
    titles = {
        "start": random.choice(["start", "start_time", "Started At"]),
        "size": random.choice(["size", "total_bytes", "bytes transferred", "num_bytes"])
        if size == "B"
        else "total size",
        "span": {"s": "duration_s", "ms": "duration (ms)", "min": "elapsed (minutes)", "end": "end"}.get(
            span, "duration"
        ),
        "status": random.choice(["status", "final_status", "transfer status"]),
        "source": "source",
        "destination": random.choice(["destination", "dst", "dest host"]),
        "note": "note",
    }
    if is_declared and titles["size"] in ("size", "total size"):
        titles["size"] += random.choice([" ({})", " [{}]", "_{}"]).format(size)
    if titles["size"].startswith("size"):
        titles["files"] = "file count"
    if notation == "clock":
        titles["date"] = random.choice(["date", "Start Date"])
        transfers = [each for each in transfers if each.duration_s < _DAY_S] or transfers[:1]
        transfers = [replace(each, duration_s=min(each.duration_s, _DAY_S - 1)) for each in transfers]
    if rate is not None:
        titles["rate"] = f"throughput ({rate})"
    order = random.sample(sorted(titles), len(titles))
    write_time = _TIMES[notation]

    def write_row(each: Truth) -> str:
        cells = {
            "start": write_time(each.started_at, zone),
            "size": locale.write(each.moved_bytes / _SIZES[size], 0 if size == "B" else 9),
            "span": write_time(each.ended_at, zone) if span == "end" else _write_span(each.duration_s, span, locale),
            "status": random.choice(_WORDS[each.succeeded]),
            "source": "alpha",
            "destination": "beta",
            "note": random.choice(["", "x", f'"with {locale.delimiter} inside"', '"two\nlines"', "5 %"]),
            "files": "1",
            "date": f"{each.started_at.astimezone(ZoneInfo(zone)):%Y-%m-%d}",
            "rate": locale.write(each.moved_bytes * 8 / each.duration_s / _RATES.get(rate or "", 1.0), 9),
        }
        return locale.delimiter.join(cells[name] for name in order)

    end = locale.delimiter if random.random() < 0.15 else ""
    lines = [locale.delimiter.join(titles[name] for name in order) + end]
    lines += [row + end for row in map(write_row, transfers)]
    records: Sequence[Truth] = [replace(each, tolerance=0.02 if each.duration_s < 1 else 2e-3) for each in transfers]
    is_local = notation in _LOCAL_TIMES
    if is_local:
        records = without_changes_of_clocks(records, zone)
    is_stated = notation in tuple(DateOrder) and random.random() < 0.9
    return WrittenLog(
        [*_write_title(random, locale), *lines],
        records,
        zone if is_local else "",
        DateOrder(notation) if is_stated else None,
    )


def _write_title(random: Random, locale: _Locale) -> Sequence[str]:
    """Return lines before the header."""
    kind = random.random()
    if kind < 0.1:
        return [f"sep={locale.delimiter}"]
    if kind < 0.2:
        return ["# exported by a tool", "#"]
    return ["Transfers of the week", ""] if kind < 0.3 else []

"""Results of the mobile paper (000) and the HTTP paper (002) as transfers of our engine at settings that stay.

Energies are modelled, of the shipped phone profiles for 000 and of the client's processor for 002.
"""

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.mobile.pricing import published_constants, split_energy
from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import By, Comparison, beyond, measured, property_of
from benchmarks.papers.form import RATIO, Form, Rows, client_j, mbps, measured_share, saved_pct
from benchmarks.papers.grounds import CHAMELEON, FAR, FRANKFURT, NEAR, SYDNEY, Run, run_of
from benchmarks.wan.runs import Row

CC, P = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
GRID = [(cc, p) for cc in (1, 4, 8, 16) for p in (1, 4, 8)]
PIPELINED = 32


def _phone_j(row: Row, radio: str = "wifi") -> float:
    """Dynamic energy of a phone per 100 MB, as the mobile paper tells it; modelled."""
    return split_energy(row, published_constants(radio)).dynamic_j


def _over_files(path: str, files: str, levels: Sequence[int] = CC) -> list[Run]:
    return [run_of(path, files, cc=cc) for cc in levels]


PHONE_SETS = ("html", "image", "video")


def _concurrency(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for name, each in fact.values.items():
        ran = [rows[run] for run in _over_files(SYDNEY, f"000/{name}")]
        yield measured(
            f"{name}: highest rate over that of one file at a time",
            each["ratio_claimed"],
            max(map(mbps, ran)) / mbps(ran[0]),
            relative=RATIO,
        )
        at_16 = rows[run_of(SYDNEY, f"000/{name}", cc=16)]
        yield measured_share(
            f"{name}: energy saved at 16, %",
            each["energy_saving_pct_cc16"],
            saved_pct(_phone_j(ran[0]), _phone_j(at_16)),
        )


def _streams(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    video = [rows[run_of(SYDNEY, "000/video", p=p)] for p in P]
    html = [rows[run_of(SYDNEY, "000/html", p=p)] for p in P]
    yield measured(
        "video: highest rate over that of one stream",
        fact.values["video_ratio"],
        max(map(mbps, video)) / mbps(video[0]),
        relative=RATIO,
    )
    yield measured_share(
        "video: energy saved at best, %",
        fact.values["video_energy_saving_pct"],
        saved_pct(_phone_j(video[0]), min(map(_phone_j, video))),
    )
    yield property_of("html: rate falls with streams", mbps(html[-1]) < mbps(html[0]), by=By.TESTBED)


def _io_runs(sizes_kb: Sequence[int]) -> list[Run]:
    return [run_of(SYDNEY, "000/video", cc=8, io_block_bytes=1024 * kb) for kb in sizes_kb]


IO_KB = (1, 4, 16, 64)
FLAT = 0.1
SPREAD = 0.02
"""Two runs of one setting differ by so much at most, in rate and in modelled energy."""


def _io(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    ran = {kb: rows[run] for kb, run in zip(IO_KB, _io_runs(IO_KB), strict=True)}
    rates = {kb: mbps(row) for kb, row in ran.items()}
    knee = max(fact.values["knee_KB"])
    yield beyond(f"rate rises from 1 to {knee} KB", rates[knee] / rates[IO_KB[0]] - 1, spread=SPREAD)
    energy = _phone_j(ran[IO_KB[-1]]) / _phone_j(ran[knee]) - 1
    yield beyond(f"energy rises from {knee} to {IO_KB[-1]} KB", energy, spread=SPREAD)
    for kb in IO_KB:
        if kb > knee:
            what = f"rate at {kb} KB over that at {knee} KB: flat"
            yield measured(what, 1.0, rates[kb] / rates[knee], absolute=FLAT)


LARGE_P = (1, 4, 16, 32)


def _large(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    ran = {p: rows[run_of(SYDNEY, "000/3gb", p=p)] for p in LARGE_P}
    each = fact.values["3GB"]
    yield measured(
        "3 GB: rate of 32 streams over that of one",
        each["ratio_claimed"],
        mbps(ran[32]) / mbps(ran[1]),
        relative=RATIO,
    )
    yield measured_share(
        "3 GB: energy saved by 16, %", each["energy_saving_pct_p16"], saved_pct(_phone_j(ran[1]), _phone_j(ran[16]))
    )


def _radios(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for name, claim in zip(PHONE_SETS, fact.values["lte_pct"], strict=True):
        ran = [rows[run] for run in _over_files(SYDNEY, f"000/{name}")]
        saved = {
            radio: saved_pct(_phone_j(ran[0], radio), min(_phone_j(row, radio) for row in ran))
            for radio in ("lte", "wifi")
        }
        yield measured_share(f"{name}: energy saved over LTE, %", claim, saved["lte"])
        yield property_of(f"{name}: no less than over WiFi", saved["lte"] >= saved["wifi"], by=By.TESTBED)


def _paths(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    best: dict[str, float] = {}
    for name, claim in fact.values["html_saving_pct"].items():
        ran = [rows[run] for run in _over_files(name, "000/html")]
        best[name] = saved_pct(_phone_j(ran[0]), min(map(_phone_j, ran)))
        yield measured_share(f"{name}, html: energy saved at best, %", claim, best[name])
    yield property_of(
        "the longer the path the more is saved", best[CHAMELEON] <= best[FRANKFURT] <= best[SYDNEY], by=By.TESTBED
    )


def _grid_runs(files: str) -> list[Run]:
    return [run_of(SYDNEY, files, cc=cc, p=p) for cc, p in GRID]


GRID_SETS = ("000/video", "000/32gb")


def _grid_j(files: str, rows: Rows) -> dict[tuple[int, int], float]:
    return {pair: _phone_j(rows[run]) for pair, run in zip(GRID, _grid_runs(files), strict=True)}


def _best_of_grid_pct(rows: Rows) -> float:
    grids = [_grid_j(files, rows) for files in GRID_SETS]
    return max(saved_pct(spent[1, 1], min(spent.values())) for spent in grids)


def _combined(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for files in GRID_SETS:
        spent = _grid_j(files, rows)
        single = min(joules for pair, joules in spent.items() if 1 in pair)
        together = min(joules for pair, joules in spent.items() if 1 not in pair)
        yield property_of(f"{files[4:]}: both together save no less than one alone", together <= single, by=By.TESTBED)
    yield measured_share("energy saved at best, %", fact.values["best_saving_pct"], _best_of_grid_pct(rows))


def _lessons(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    """What its summary has of figures 2 and 7."""
    over_files = [[_phone_j(rows[run]) for run in _over_files(SYDNEY, f"000/{name}")] for name in PHONE_SETS]
    alone_pct = max(saved_pct(spent[0], min(spent)) for spent in over_files)
    yield measured_share("files at once alone: energy saved at best, %", fact.values["single_pct"], alone_pct)
    yield measured_share("with streams: energy saved at best, %", fact.values["combined_pct"], _best_of_grid_pct(rows))


def _not_proportional(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    ran = {cc: rows[run_of(SYDNEY, "000/video", cc=cc)] for cc in CC}
    least = min(CC, key=lambda cc: _phone_j(ran[cc]))
    fastest = max(CC, key=lambda cc: mbps(ran[cc]))
    more = _phone_j(ran[fastest]) / _phone_j(ran[least]) - 1
    yield beyond("video: energy is more where the rate is highest than where it is least", more, spread=SPREAD)
    if more > SPREAD:
        yield measured("video: files at a time of the least energy", fact.values["energy_break_cc"], least)


def _http_runs(path: str) -> list[Run]:
    single = [run_of(path, f"002/{kind}", cc=cc) for kind in PHONE_SETS for cc in (1, 8, 16)]
    prioritised = [run_of(path, f"002/{kind}", pp=PIPELINED) for kind in ("html", "image")]
    return [*single, *prioritised, *(run_of(path, "002/video", p=p) for p in (4, 8))]


def _pipelining(fact: Fact, path: str, rows: Rows) -> Iterator[Comparison]:
    for name, gain_pct in fact.values["pp_gain_pct"].items():
        kind = f"002/{name.lower()}"
        gained = mbps(rows[run_of(path, kind, pp=PIPELINED)]) / mbps(rows[run_of(path, kind)])
        yield measured(
            f"{name}: rate with 32 requests ahead over that with one", 1 + gain_pct / 100, gained, relative=RATIO
        )


def _near(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    yield from _pipelining(fact, NEAR, rows)
    for name, (_, _, ratio) in fact.values["cc"].items():
        kind = f"002/{name.lower()}"
        rates = {cc: mbps(rows[run_of(NEAR, kind, cc=cc)]) for cc in (1, 8, 16)}
        yield measured(
            f"{name}: highest rate over that of one file at a time",
            ratio,
            max(rates.values()) / rates[1],
            relative=RATIO,
        )
    video = {p: mbps(rows[run_of(NEAR, "002/video", p=p)]) for p in (1, 4)}
    yield measured(
        "Video: rate of four streams over that of one",
        1 + fact.values["video_p_gain_pct_1to4"] / 100,
        video[4] / video[1],
        relative=RATIO,
    )
    cc = {n: mbps(rows[run_of(NEAR, "002/video", cc=n)]) for n in (1, 8)}
    yield measured(
        "Video: rate of eight files at a time over that of one",
        fact.values["video_cc_gain_X_1to8"],
        cc[8] / cc[1],
        relative=RATIO,
    )


def _far(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    yield from _pipelining(fact, FAR, rows)
    rates = {p: mbps(rows[run_of(FAR, "002/video", p=p)]) for p in (1, 8)}
    yield measured(
        "video: rate of eight streams over that of one",
        fact.values["p_video_X_1to8"],
        rates[8] / rates[1],
        relative=RATIO,
    )
    for name, (cc, change_pct) in fact.values["best"].items():
        spent = [client_j(rows[run_of(FAR, f"002/{name.lower()}", cc=n)]) for n in (1, cc)]
        yield measured_share(f"{name}: energy saved at {cc}, %", -change_pct, saved_pct(*spent))


COMBINED = [(cc, p, pp) for cc, p, pp in ((8, 1, 16), (16, 1, 32), (16, 2, 8), (8, 4, 1))]


def _combined_runs() -> list[Run]:
    return [
        run_of(NEAR, f"002/{kind}", cc=cc, p=p, pp=pp) for kind in PHONE_SETS for cc, p, pp in [(1, 1, 1), *COMBINED]
    ]


def _all_together(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for name, (ratio, change_pct) in fact.values.items():
        kind = f"002/{name.lower()}"
        start, *others = [rows[run_of(NEAR, kind, cc=cc, p=p, pp=pp)] for cc, p, pp in [(1, 1, 1), *COMBINED]]
        yield measured(
            f"{name}: highest rate over that of the untuned",
            ratio,
            max(map(mbps, others)) / mbps(start),
            relative=RATIO,
        )
        yield measured_share(
            f"{name}: energy saved at best, %", -change_pct, saved_pct(client_j(start), min(map(client_j, others)))
        )


_GRID_RUNS = [run for files in GRID_SETS for run in _grid_runs(files)]
_SYDNEY_FILES = [run for kind in PHONE_SETS for run in _over_files(SYDNEY, f"000/{kind}")]

FORMS: Mapping[str, Form] = {
    "000-fig2-cc": Form(_SYDNEY_FILES, _concurrency),
    "000-fig2-p": Form([run_of(SYDNEY, f"000/{kind}", p=p) for kind in ("html", "video") for p in P], _streams),
    "000-fig2-io": Form(_io_runs(IO_KB), _io),
    "000-fig3": Form([run_of(SYDNEY, "000/3gb", p=p) for p in LARGE_P], _large),
    "000-fig4": Form(_SYDNEY_FILES, _radios),
    "000-fig6": Form([run for path in (CHAMELEON, FRANKFURT, SYDNEY) for run in _over_files(path, "000/html")], _paths),
    "000-fig7": Form(_GRID_RUNS, _combined),
    "000-fig9": Form(_over_files(SYDNEY, "000/video"), _not_proportional),
    "000-lessons": Form([*_SYDNEY_FILES, *_GRID_RUNS], _lessons),
    "002-fig2": Form(_http_runs(NEAR), _near),
    "002-fig3": Form(_http_runs(FAR), _far),
    "002-fig4": Form(_combined_runs(), _all_together),
}

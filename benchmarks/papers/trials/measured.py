"""Results of the mobile paper (000) and the HTTP paper (002) as transfers of our engine with constant settings.

Energies are modelled, of the shipped phone profiles for 000 and of the client's processor for 002.
"""

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.mobile.pricing import load_published_constants, split_energy
from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, Source, compare_excess, compare_measured, compare_property
from benchmarks.papers.form import (
    RATIO,
    Form,
    Rows,
    compare_measured_share,
    compute_client_j,
    compute_mbps,
    compute_saved_pct,
)
from benchmarks.papers.paths import CHAMELEON, FAR, FRANKFURT, NEAR, SYDNEY, Run, make_run
from benchmarks.wan.runs import Row

CC, P = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
GRID = [(cc, p) for cc in (1, 4, 8, 16) for p in (1, 4, 8)]
PIPELINED = 32


def _compute_phone_j(row: Row, radio: str = "wifi") -> float:
    """Return the dynamic energy of a phone per 100 MB, as the mobile paper has it; modelled."""
    return split_energy(row, load_published_constants(radio)).dynamic_j


def _make_runs_over_files(path: str, files: str, levels: Sequence[int] = CC) -> list[Run]:
    return [make_run(path, files, cc=cc) for cc in levels]


PHONE_SETS = ("html", "image", "video")


def _judge_concurrency(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for name, each in claim.values.items():
        ran = [rows[run] for run in _make_runs_over_files(SYDNEY, f"000/{name}")]
        yield compare_measured(
            f"{name}: highest rate over that of one file at a time",
            each["ratio_claimed"],
            max(map(compute_mbps, ran)) / compute_mbps(ran[0]),
            relative=RATIO,
        )
        at_16 = rows[make_run(SYDNEY, f"000/{name}", cc=16)]
        yield compare_measured_share(
            f"{name}: energy saved at 16, %",
            each["energy_saving_pct_cc16"],
            compute_saved_pct(_compute_phone_j(ran[0]), _compute_phone_j(at_16)),
        )


def _judge_streams(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    video = [rows[make_run(SYDNEY, "000/video", p=p)] for p in P]
    html = [rows[make_run(SYDNEY, "000/html", p=p)] for p in P]
    yield compare_measured(
        "video: highest rate over that of one stream",
        claim.values["video_ratio"],
        max(map(compute_mbps, video)) / compute_mbps(video[0]),
        relative=RATIO,
    )
    yield compare_measured_share(
        "video: energy saved at best, %",
        claim.values["video_energy_saving_pct"],
        compute_saved_pct(_compute_phone_j(video[0]), min(map(_compute_phone_j, video))),
    )
    yield compare_property(
        "html: rate falls with streams", compute_mbps(html[-1]) < compute_mbps(html[0]), source=Source.TESTBED
    )


def _list_io_runs(sizes_kb: Sequence[int]) -> list[Run]:
    return [make_run(SYDNEY, "000/video", cc=8, io_block_bytes=1024 * kb) for kb in sizes_kb]


IO_KB = (1, 4, 16, 64)
FLAT = 0.1
SPREAD = 0.02
"""The most by which two runs of one setting differ, in rate and in modelled energy."""


def _judge_io(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    ran = {kb: rows[run] for kb, run in zip(IO_KB, _list_io_runs(IO_KB), strict=True)}
    rates = {kb: compute_mbps(row) for kb, row in ran.items()}
    knee = max(claim.values["knee_KB"])
    yield compare_excess(f"rate rises from 1 to {knee} KB", rates[knee] / rates[IO_KB[0]] - 1, spread=SPREAD)
    energy = _compute_phone_j(ran[IO_KB[-1]]) / _compute_phone_j(ran[knee]) - 1
    yield compare_excess(f"energy rises from {knee} to {IO_KB[-1]} KB", energy, spread=SPREAD)
    for kb in IO_KB:
        if kb > knee:
            what = f"rate at {kb} KB over that at {knee} KB: flat"
            yield compare_measured(what, 1.0, rates[kb] / rates[knee], absolute=FLAT)


LARGE_P = (1, 4, 16, 32)


def _judge_large(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    ran = {p: rows[make_run(SYDNEY, "000/3gb", p=p)] for p in LARGE_P}
    each = claim.values["3GB"]
    yield compare_measured(
        "3 GB: rate of 32 streams over that of one",
        each["ratio_claimed"],
        compute_mbps(ran[32]) / compute_mbps(ran[1]),
        relative=RATIO,
    )
    yield compare_measured_share(
        "3 GB: energy saved by 16, %",
        each["energy_saving_pct_p16"],
        compute_saved_pct(_compute_phone_j(ran[1]), _compute_phone_j(ran[16])),
    )


def _judge_radios(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for name, claimed in zip(PHONE_SETS, claim.values["lte_pct"], strict=True):
        ran = [rows[run] for run in _make_runs_over_files(SYDNEY, f"000/{name}")]
        saved = {
            radio: compute_saved_pct(_compute_phone_j(ran[0], radio), min(_compute_phone_j(row, radio) for row in ran))
            for radio in ("lte", "wifi")
        }
        yield compare_measured_share(f"{name}: energy saved over LTE, %", claimed, saved["lte"])
        yield compare_property(f"{name}: no less than over WiFi", saved["lte"] >= saved["wifi"], source=Source.TESTBED)


def _judge_paths(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    best: dict[str, float] = {}
    for name, claimed in claim.values["html_saving_pct"].items():
        ran = [rows[run] for run in _make_runs_over_files(name, "000/html")]
        best[name] = compute_saved_pct(_compute_phone_j(ran[0]), min(map(_compute_phone_j, ran)))
        yield compare_measured_share(f"{name}, html: energy saved at best, %", claimed, best[name])
    yield compare_property(
        "the longer the path the more is saved",
        best[CHAMELEON] <= best[FRANKFURT] <= best[SYDNEY],
        source=Source.TESTBED,
    )


def _list_grid_runs(files: str) -> list[Run]:
    return [make_run(SYDNEY, files, cc=cc, p=p) for cc, p in GRID]


GRID_SETS = ("000/video", "000/32gb")


def _build_grid_j(files: str, rows: Rows) -> dict[tuple[int, int], float]:
    return {pair: _compute_phone_j(rows[run]) for pair, run in zip(GRID, _list_grid_runs(files), strict=True)}


def _compute_best_of_grid_pct(rows: Rows) -> float:
    grids = [_build_grid_j(files, rows) for files in GRID_SETS]
    return max(compute_saved_pct(spent[1, 1], min(spent.values())) for spent in grids)


def _judge_combined(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for files in GRID_SETS:
        spent = _build_grid_j(files, rows)
        single = min(joules for pair, joules in spent.items() if 1 in pair)
        together = min(joules for pair, joules in spent.items() if 1 not in pair)
        yield compare_property(
            f"{files[4:]}: both together save no less than one alone", together <= single, source=Source.TESTBED
        )
    yield compare_measured_share(
        "energy saved at best, %", claim.values["best_saving_pct"], _compute_best_of_grid_pct(rows)
    )


def _judge_lessons(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    """Compare what the paper's summary takes from figures 2 and 7."""
    over_files = [
        [_compute_phone_j(rows[run]) for run in _make_runs_over_files(SYDNEY, f"000/{name}")] for name in PHONE_SETS
    ]
    alone_pct = max(compute_saved_pct(spent[0], min(spent)) for spent in over_files)
    yield compare_measured_share("files at once alone: energy saved at best, %", claim.values["single_pct"], alone_pct)
    yield compare_measured_share(
        "with streams: energy saved at best, %", claim.values["combined_pct"], _compute_best_of_grid_pct(rows)
    )


def _judge_not_proportional(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    ran = {cc: rows[make_run(SYDNEY, "000/video", cc=cc)] for cc in CC}
    least = min(CC, key=lambda cc: _compute_phone_j(ran[cc]))
    fastest = max(CC, key=lambda cc: compute_mbps(ran[cc]))
    more = _compute_phone_j(ran[fastest]) / _compute_phone_j(ran[least]) - 1
    yield compare_excess("video: energy is more where the rate is highest than where it is least", more, spread=SPREAD)
    if more > SPREAD:
        yield compare_measured("video: files at a time of the least energy", claim.values["energy_break_cc"], least)


def _list_http_runs(path: str) -> list[Run]:
    single = [make_run(path, f"002/{kind}", cc=cc) for kind in PHONE_SETS for cc in (1, 8, 16)]
    pipelined = [make_run(path, f"002/{kind}", pp=PIPELINED) for kind in ("html", "image")]
    return [*single, *pipelined, *(make_run(path, "002/video", p=p) for p in (4, 8))]


def _judge_pipelining(claim: Claim, path: str, rows: Rows) -> Iterator[Comparison]:
    for name, gain_pct in claim.values["pp_gain_pct"].items():
        kind = f"002/{name.lower()}"
        gained = compute_mbps(rows[make_run(path, kind, pp=PIPELINED)]) / compute_mbps(rows[make_run(path, kind)])
        yield compare_measured(
            f"{name}: rate with 32 requests ahead over that with one", 1 + gain_pct / 100, gained, relative=RATIO
        )


def _judge_near(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    yield from _judge_pipelining(claim, NEAR, rows)
    for name, (_, _, ratio) in claim.values["cc"].items():
        kind = f"002/{name.lower()}"
        rates = {cc: compute_mbps(rows[make_run(NEAR, kind, cc=cc)]) for cc in (1, 8, 16)}
        yield compare_measured(
            f"{name}: highest rate over that of one file at a time",
            ratio,
            max(rates.values()) / rates[1],
            relative=RATIO,
        )
    video = {p: compute_mbps(rows[make_run(NEAR, "002/video", p=p)]) for p in (1, 4)}
    yield compare_measured(
        "Video: rate of four streams over that of one",
        1 + claim.values["video_p_gain_pct_1to4"] / 100,
        video[4] / video[1],
        relative=RATIO,
    )
    cc = {n: compute_mbps(rows[make_run(NEAR, "002/video", cc=n)]) for n in (1, 8)}
    yield compare_measured(
        "Video: rate of eight files at a time over that of one",
        claim.values["video_cc_gain_X_1to8"],
        cc[8] / cc[1],
        relative=RATIO,
    )


def _judge_far(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    yield from _judge_pipelining(claim, FAR, rows)
    rates = {p: compute_mbps(rows[make_run(FAR, "002/video", p=p)]) for p in (1, 8)}
    yield compare_measured(
        "video: rate of eight streams over that of one",
        claim.values["p_video_X_1to8"],
        rates[8] / rates[1],
        relative=RATIO,
    )
    for name, (cc, change_pct) in claim.values["best"].items():
        spent = [compute_client_j(rows[make_run(FAR, f"002/{name.lower()}", cc=n)]) for n in (1, cc)]
        yield compare_measured_share(f"{name}: energy saved at {cc}, %", -change_pct, compute_saved_pct(*spent))


COMBINED = [(cc, p, pp) for cc, p, pp in ((8, 1, 16), (16, 1, 32), (16, 2, 8), (8, 4, 1))]


def _make_combined_runs() -> list[Run]:
    return [
        make_run(NEAR, f"002/{kind}", cc=cc, p=p, pp=pp) for kind in PHONE_SETS for cc, p, pp in [(1, 1, 1), *COMBINED]
    ]


def _judge_all_together(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for name, (ratio, change_pct) in claim.values.items():
        kind = f"002/{name.lower()}"
        start, *others = [rows[make_run(NEAR, kind, cc=cc, p=p, pp=pp)] for cc, p, pp in [(1, 1, 1), *COMBINED]]
        yield compare_measured(
            f"{name}: highest rate over that of the untuned",
            ratio,
            max(map(compute_mbps, others)) / compute_mbps(start),
            relative=RATIO,
        )
        yield compare_measured_share(
            f"{name}: energy saved at best, %",
            -change_pct,
            compute_saved_pct(compute_client_j(start), min(map(compute_client_j, others))),
        )


_GRID_RUNS = [run for files in GRID_SETS for run in _list_grid_runs(files)]
_SYDNEY_FILES = [run for kind in PHONE_SETS for run in _make_runs_over_files(SYDNEY, f"000/{kind}")]

FORMS: Mapping[str, Form] = {
    "000-fig2-cc": Form(_SYDNEY_FILES, _judge_concurrency),
    "000-fig2-p": Form([make_run(SYDNEY, f"000/{kind}", p=p) for kind in ("html", "video") for p in P], _judge_streams),
    "000-fig2-io": Form(_list_io_runs(IO_KB), _judge_io),
    "000-fig3": Form([make_run(SYDNEY, "000/3gb", p=p) for p in LARGE_P], _judge_large),
    "000-fig4": Form(_SYDNEY_FILES, _judge_radios),
    "000-fig6": Form(
        [run for path in (CHAMELEON, FRANKFURT, SYDNEY) for run in _make_runs_over_files(path, "000/html")],
        _judge_paths,
    ),
    "000-fig7": Form(_GRID_RUNS, _judge_combined),
    "000-fig9": Form(_make_runs_over_files(SYDNEY, "000/video"), _judge_not_proportional),
    "000-lessons": Form([*_SYDNEY_FILES, *_GRID_RUNS], _judge_lessons),
    "002-fig2": Form(_list_http_runs(NEAR), _judge_near),
    "002-fig3": Form(_list_http_runs(FAR), _judge_far),
    "002-fig4": Form(_make_combined_runs(), _judge_all_together),
}

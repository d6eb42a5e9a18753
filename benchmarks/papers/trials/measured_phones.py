"""Results of the mobile paper (000) on its older phones: each is a path as fast as the paper ever saw it receive.

The slowness of an older phone is thus given; what files at once gain below it is measured, and the energy that they
save is modelled.
"""

from collections.abc import Iterator, Mapping

from benchmarks.mobile.pricing import load_published_constants, split_energy
from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Comparison, Source, compare_measured, compare_property
from benchmarks.papers.form import RATIO, Form, Rows, compare_measured_share, compute_mbps, compute_saved_pct
from benchmarks.papers.paths import PHONES, Run, make_run
from benchmarks.wan.runs import Row

LEVELS = (1, 4, 16)
PROFILES = {"NexusS": "nexus-s", "NexusN3": "galaxy-nexus", "S4": "galaxy-s4"}
WEAK = PHONES[:2]
_RATIO_KEYS = {"NexusS": "NexusS", "NexusN3": "N3", "S4": "S4_printed_as_S5"}
"""The phones' names where ratios of images and videos are given; one is printed under another's name."""


def _runs(phone: str, kind: str) -> list[Run]:
    """Return all levels where the figures have each; else the least and the most."""
    levels = LEVELS if phone in WEAK and kind != "html" else (LEVELS[0], LEVELS[-1])
    return [make_run(phone, f"000/{kind}", cc=cc) for cc in levels]


def _find_highest(phone: str, kind: str, rows: Rows) -> float:
    rates = [compute_mbps(rows[run]) for run in _runs(phone, kind)]
    return max(rates) / rates[0]


def _compute_phone_j(row: Row, phone: str) -> float:
    return split_energy(row, load_published_constants("wifi", PROFILES[phone])).dynamic_j


def _judge_older(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for phone in PHONES:
        yield compare_measured(
            f"{phone}, html: highest rate over that of one file at a time",
            claim.values[phone][2],
            _find_highest(phone, "html", rows),
            relative=RATIO,
        )
        for kind in ("image", "video"):
            claimed = claim.values[f"{kind}_ratio"].get(_RATIO_KEYS[phone])
            if claimed is not None:
                yield compare_measured(
                    f"{phone}, {kind}: highest rate over that of one file at a time",
                    claimed,
                    _find_highest(phone, kind, rows),
                    relative=RATIO,
                )
    for kind in ("html", "image", "video"):
        gains = [_find_highest(phone, kind, rows) for phone in PHONES]
        yield compare_property(
            f"{kind}: the older the phone, the less is gained", gains == sorted(gains), source=Source.TESTBED
        )


def _judge_weak(claim: Claim, _claims: Claims, rows: Rows) -> Iterator[Comparison]:
    for kind in ("image", "video"):
        for number, phone in enumerate(WEAK):
            spent = [_compute_phone_j(rows[run], phone) for run in _runs(phone, kind)]
            saved = {cc: compute_saved_pct(spent[0], joules) for cc, joules in zip(LEVELS, spent, strict=True)}
            for cc in LEVELS[1:]:
                yield compare_measured_share(
                    f"{phone}, {kind}: energy saved at {cc}, %",
                    claim.values[f"{kind}_saving_cc{cc}"][number],
                    saved[cc],
                )
            yield compare_property(
                f"{phone}, {kind}: most of what 16 files save, four do", saved[4] > saved[16] / 2, source=Source.TESTBED
            )


FORMS: Mapping[str, Form] = {
    "000-fig5": Form(
        [run for phone in PHONES for kind in ("html", "image", "video") for run in _runs(phone, kind)], _judge_older
    ),
    "000-fig5-b": Form(
        [run for phone in WEAK for kind in ("image", "video") for run in _runs(phone, kind)], _judge_weak
    ),
}

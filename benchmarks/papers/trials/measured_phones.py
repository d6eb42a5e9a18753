"""Results of the mobile paper (000) on its older phones: each is a path as fast as the paper ever saw it receive.

What makes an older phone slow is thus given; what is measured is what files at once gain below that, and modelled what
of its energy they save.
"""

from collections.abc import Iterator, Mapping

from benchmarks.mobile.pricing import published_constants, split_energy
from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import By, Comparison, measured, property_of
from benchmarks.papers.form import RATIO, Form, Rows, mbps, measured_share, saved_pct
from benchmarks.papers.grounds import PHONES, Run, run_of
from benchmarks.wan.runs import Row

LEVELS = (1, 4, 16)
PROFILES = {"NexusS": "nexus-s", "NexusN3": "galaxy-nexus", "S4": "galaxy-s4"}
WEAK = PHONES[:2]
_RATIO_KEYS = {"NexusS": "NexusS", "NexusN3": "N3", "S4": "S4_printed_as_S5"}
"""What a phone is called where its ratios of images and videos are told; one is printed under another's name."""


def _runs(phone: str, kind: str) -> list[Run]:
    """All levels where figures tell of each; else the least and the most."""
    levels = LEVELS if phone in WEAK and kind != "html" else (LEVELS[0], LEVELS[-1])
    return [run_of(phone, f"000/{kind}", cc=cc) for cc in levels]


def _highest(phone: str, kind: str, rows: Rows) -> float:
    rates = [mbps(rows[run]) for run in _runs(phone, kind)]
    return max(rates) / rates[0]


def _phone_j(row: Row, phone: str) -> float:
    return split_energy(row, published_constants("wifi", PROFILES[phone])).dynamic_j


def _older(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for phone in PHONES:
        yield measured(
            f"{phone}, html: highest rate over that of one file at a time",
            fact.values[phone][2],
            _highest(phone, "html", rows),
            relative=RATIO,
        )
        for kind in ("image", "video"):
            claim = fact.values[f"{kind}_ratio"].get(_RATIO_KEYS[phone])
            if claim is not None:
                yield measured(
                    f"{phone}, {kind}: highest rate over that of one file at a time",
                    claim,
                    _highest(phone, kind, rows),
                    relative=RATIO,
                )
    for kind in ("html", "image", "video"):
        gains = [_highest(phone, kind, rows) for phone in PHONES]
        yield property_of(f"{kind}: the older the phone, the less is gained", gains == sorted(gains), by=By.TESTBED)


def _weak(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    for kind in ("image", "video"):
        for number, phone in enumerate(WEAK):
            spent = [_phone_j(rows[run], phone) for run in _runs(phone, kind)]
            saved = {cc: saved_pct(spent[0], joules) for cc, joules in zip(LEVELS, spent, strict=True)}
            for cc in LEVELS[1:]:
                yield measured_share(
                    f"{phone}, {kind}: energy saved at {cc}, %", fact.values[f"{kind}_saving_cc{cc}"][number], saved[cc]
                )
            yield property_of(
                f"{phone}, {kind}: most of what 16 files save, four do", saved[4] > saved[16] / 2, by=By.TESTBED
            )


FORMS: Mapping[str, Form] = {
    "000-fig5": Form(
        [run for phone in PHONES for kind in ("html", "image", "video") for run in _runs(phone, kind)], _older
    ),
    "000-fig5-b": Form([run for phone in WEAK for kind in ("image", "video") for run in _runs(phone, kind)], _weak),
}

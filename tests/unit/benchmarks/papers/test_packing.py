"""Errors of the model of packed transfers beside the signed ones that the paper prints; on made transfers."""

import pytest

from benchmarks.papers.catalogue import Claim
from benchmarks.papers.trials.measured_packing import FORMS
from benchmarks.papers.trials.packing_trials import CODECS, LARGE_BYTES, SMALL_BYTES

DOWN = {"net0.5": {"large": [1, 3], "small_start": 16}, "net5": {"large": [15, 22], "small": [33, 15]}}
UP = {
    "net0.5": {"large": [0, 1], "xz": 5, "bzip2": -40, "small_start": 10},
    "net5": {"large": [5, 10], "xz": -40, "small_start": 50},
}
SLOW_LARGE, SLOW_SMALL = (0.5, LARGE_BYTES), (0.5, SMALL_BYTES)
FAST_LARGE, FAST_SMALL = (5.0, LARGE_BYTES), (5.0, SMALL_BYTES)
AS_PRINTED = {SLOW_LARGE: 3, SLOW_SMALL: 16, FAST_LARGE: 18, FAST_SMALL: 33}


def rows_of(name, errors_pct):
    """Of each network and size of file an error for all codecs, or one for each that is named and the rest's."""
    rows = {}
    for run in FORMS[name].runs:
        files = []
        for size in (LARGE_BYTES, SMALL_BYTES):
            errors = errors_pct[run.mb_per_s, size]
            for codec in CODECS:
                error = errors.get(codec, errors["rest"]) if isinstance(errors, dict) else errors
                rates = {"measured_bps": 1.0, "printed_bps": 1 - error / 100}
                files.append({"file": f"log-{size}", "setting": f"{codec}:9", **rates})
        rows[run] = {"files": files}
    return rows


def judged(name, values, errors_pct):
    claim = Claim(id="x-1", paper="003", place="p", kind="result", statement="", values=values)
    return list(FORMS[name].judge(claim, {}, rows_of(name, errors_pct)))


def test_errors_as_the_paper_prints_them_agree():
    assert all(each.agrees for each in judged("003-err-dn", DOWN, AS_PRINTED))


def test_errors_of_the_other_sign_do_not_agree_though_they_are_as_large():
    found = judged("003-err-dn", DOWN, {ground: -error for ground, error in AS_PRINTED.items()})
    assert not any(each.agrees for each in found)


def test_every_codec_of_the_paper_is_compared():
    assert set(CODECS) == {"gzip", "lzop", "bzip2", "xz", "pigz", "pbzip2"}
    found = judged("003-err-dn", DOWN, AS_PRINTED)
    assert sum(f", {codec}:" in each.what for codec in CODECS for each in found) == 4 * len(CODECS)


def test_codec_whose_error_has_the_other_sign_is_reported():
    found = judged("003-err-dn", DOWN, AS_PRINTED | {FAST_LARGE: {"xz": -18, "rest": 18}})
    signs, of_xz = [each for each in found if not each.agrees]
    assert signs.what.startswith("5 MB/s, large files: codecs whose error has the sign")
    assert signs.ours == pytest.approx(5 / 6)
    assert (of_xz.what.partition(":")[0], of_xz.paper, of_xz.ours) == (
        "5 MB/s, large files, xz",
        15,
        pytest.approx(-18),
    )


@pytest.mark.parametrize(("ours_pct", "failing"), [(-0.4, 0), (-2.5, 1 + len(CODECS))])
def test_error_too_small_to_measure_does_not_count_by_its_sign(ours_pct, failing):
    found = judged("003-err-dn", DOWN, AS_PRINTED | {SLOW_LARGE: ours_pct})
    assert sum(not each.agrees for each in found) == failing
    assert any("sign" in each.what for each in found if each.what.startswith("0.5 MB/s, large")) is bool(failing)


@pytest.mark.parametrize(("error_pct", "agrees"), [(11.9, False), (12.1, True), (19.9, True), (20.1, False)])
def test_an_error_counts_as_the_papers_within_a_quarter_of_it(error_pct, agrees):
    assert all(each.agrees for each in judged("003-err-dn", DOWN, AS_PRINTED | {SLOW_SMALL: error_pct})) is agrees


def test_named_exception_of_the_paper_is_compared_with_its_own_error():
    as_printed = {
        SLOW_LARGE: {"xz": 5, "bzip2": -40, "rest": 0.5},
        SLOW_SMALL: 10,
        FAST_LARGE: {"xz": -40, "rest": 7},
        FAST_SMALL: 50,
    }
    assert all(comparison.agrees for comparison in judged("003-err-up", UP, as_printed))
    other_way = as_printed | {SLOW_LARGE: {"xz": 5, "bzip2": 40, "rest": 0.5}}
    failed = [
        comparison.what.partition(":")[0] for comparison in judged("003-err-up", UP, other_way) if not comparison.agrees
    ]
    assert failed == ["0.5 MB/s, large files", "0.5 MB/s, large files, bzip2"]
    as_others = as_printed | {SLOW_LARGE: {"xz": 5, "bzip2": -1, "rest": 0.5}}
    failed = [
        comparison.what.partition(":")[0] for comparison in judged("003-err-up", UP, as_others) if not comparison.agrees
    ]
    assert failed == ["0.5 MB/s, large files, bzip2"]

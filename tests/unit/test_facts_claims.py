"""Checks of single claims, on made values: what agrees, what contradicts, what is told apart."""

from benchmarks.facts.catalogue import Fact
from benchmarks.facts.compression import examples
from benchmarks.facts.compression_advice import error_sign
from benchmarks.facts.compression_tables import downloads
from benchmarks.facts.finding import Verdict


def claim(values=None, **words) -> Fact:
    usual = {"id": "x-1", "paper": "003", "place": "p", "kind": "result", "statement": ""}
    return Fact(**usual | words, values=values or {})


def table(best: str) -> Fact:
    """Two codecs of which gzip is as quick as the path carries, and xz packs better and slowly."""
    rows = [["gzip", 1, 2.0, 1.0, 9.5], ["gzip", 6, 2.1, 1.05, 5.0], ["xz", 9, 4.0, 1.8, 2.0], ["raw", None, 1, 0.5, 5]]
    if best == "raw":
        rows = [[*row[:3], row[3] / 30, row[4] / 30] if row[0] != "raw" else row for row in rows]
    headlines = [max(row[n] for row in rows) / rows[-1][n] for n in (3, 4)]
    usual = [max(row[n] for row in rows) / rows[1][n] for n in (3, 4)]
    return claim({"US_MB": 100.0, "rows": rows, "best_raw": headlines, "best_gzip6": usual}, id="003-table3")


FACTS = {
    "003-tsc": claim({"net_MBps": [0.5, 5.0], "T_SC_s": 0.0}),
    "003-err-up": claim({"net5": {"xz": -40}}),
    "003-table2": claim({"US_MB": 100.0, "rows": [["xz", 0, 12.9, 6.3, 9.8], ["raw", None, 1, 0.5, 5.0]]}),
    "003-fig5": claim({"gzip1": [3.9, 6.2, 5.9], "net": 2.5}),
    "003-fig6": claim({"gzip9": [6.19, 7.29, 7.16]}, statement="2.5 MB/s download"),
}


def told(finding, words):
    return {each.what: each for each in finding.comparisons if words in each.what}


def test_advice_is_compared_with_the_fastest_codec_of_each_network():
    found = told(downloads(table("codecs"), FACTS), "our advice")
    assert [(each.what.partition("(")[2], each.agrees) for each in found.values()] == [
        ("xz -9)", True),
        ("gzip -1)", True),
    ]
    [rate] = told(downloads(table("codecs"), FACTS), "rate of what we advise").values()
    assert rate.agrees
    assert rate.paper == 1.8


def test_sending_raw_can_be_what_is_advised():
    assert all(each.agrees for each in told(downloads(table("raw"), FACTS), "our advice").values())


def test_an_error_below_zero_is_a_promise_of_more_than_was_measured():
    assert error_sign(claim(), FACTS).verdict is Verdict.REPRODUCED
    other_way = {**FACTS, "003-err-up": claim({"net5": {"xz": 40}})}
    assert error_sign(claim(), other_way).verdict is Verdict.DIFFERS


def test_an_example_is_estimated_by_the_equation_of_its_direction():
    assert told(examples(FACTS["003-fig5"], FACTS), "by equation 20")
    assert told(examples(FACTS["003-fig6"], FACTS), "by equation 22")

"""What models and rules say, in the words of a provider."""

import pytest

from services.admin.formatting.plain_words import format_decision, format_odds, format_reason, format_setting
from tradewind.parameters import Parameters
from tradewind.sla.kinds import CONFIDENCES
from tradewind.tuning.decision import DecisionKind


def test_setting_is_written_as_files_streams_and_requests() -> None:
    four = Parameters(concurrency=4, parallelism=1, pipelining=4)
    assert format_setting(four) == "4 files at once, 1 stream each, 4 requests in flight"
    one = Parameters(concurrency=1, parallelism=2, io_block_bytes=262_144)
    assert format_setting(one) == "1 file at once, 2 streams each, I/O block 262 kB"


def test_confidences_are_written_as_odds() -> None:
    expected = ["1 time in 2", "4 times in 5", "9 times in 10", "19 times in 20", "99 times in 100"]
    assert [format_odds(each) for each in CONFIDENCES] == expected


def test_every_decision_has_plain_words_and_an_unknown_one_keeps_its_own() -> None:
    assert format_decision("sla_above") == "faster than promised: using less"
    assert all("_" not in format_decision(each) for each in DecisionKind)
    assert format_decision("some_later_kind") == "some later kind"


@pytest.mark.parametrize(
    ("reason", "plain"),
    [
        (
            "explains 79% of the variance of training rows but -27% of test rows",
            "too inconsistent to promise anything; more transfers needed",
        ),
        (
            "one: explains -3% of their variance; explains 79% of the variance of training rows but 2% of test rows",
            "one: too inconsistent to promise anything; more transfers needed",
        ),
        ("plan from 80 logs 0.0 octaves away", "plan from 80 logs of the same file sizes as in your history"),
        ("plan from 80 logs 1.5 doublings away", "plan from 80 logs whose files differ from these by 1.5 doublings"),
        ("predicts an optimum 3.0 times the best", "predicts an optimum 3.0 times the best"),
    ],
)
def test_reasons_lose_the_words_of_statistics(reason: str, plain: str) -> None:
    assert format_reason(reason) == plain

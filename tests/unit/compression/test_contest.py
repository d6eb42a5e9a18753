"""Which settings are tried on a sample, and what is advised after that."""

import pytest

from tradewind.compression.advice import Advice, Question, advise
from tradewind.compression.codecs import Codec, Setting
from tradewind.compression.contest import FINALISTS, MOST_TRIED, contest
from tradewind.compression.history import Case, History, Observation
from tradewind.compression.model import Line, Speeds

PROBE = Speeds(2.0, 1e9, 4e9)
CASE = Case(file_bytes=10_000_000, kind="text", cpu_class="x86_64/a/1", probe=PROBE)
LEVELS = [Setting(Codec.XZ, level) for level in range(10)]
"""Each packs better than the one before, as far as history tells."""

HISTORY = History.of(
    Observation(case=CASE, setting=each, speeds=Speeds(3 + 0.1 * each.level, 1e9, 4e9)) for each in LEVELS
)


def advised_after(ratios: dict[Setting, float], probe: Speeds = PROBE) -> tuple[Advice, list[Setting]]:
    """The advice over a slow path, and what was tried; others pack as the probe does."""
    tried: list[Setting] = []
    case = Case(file_bytes=CASE.file_bytes, kind=CASE.kind, cpu_class=CASE.cpu_class, probe=probe)

    def advised(made):
        samples = [Observation(case=case, setting=each, speeds=speeds) for each, speeds in made.items()]
        return advise(Question(case=case, line=Line(1e6), settings=LEVELS, samples=samples), HISTORY)

    def packed(setting):
        tried.append(setting)
        return Speeds(ratios.get(setting, probe.ratio), 1e9, 4e9)

    return contest(advised, packed), tried


def test_what_history_has_first_is_advised_where_the_sample_agrees():
    advice, tried = advised_after({each: 3 + 0.1 * each.level for each in LEVELS})
    assert advice.best.setting == LEVELS[9]
    assert tried == LEVELS[9 : 9 - FINALISTS : -1]


def test_a_finalist_that_packs_the_sample_better_wins():
    assert advised_after({LEVELS[8]: 6.0})[0].best.setting == LEVELS[8]


def test_as_long_as_the_sample_packs_worse_than_history_says_the_next_are_tried():
    advice, tried = advised_after({LEVELS[4]: 3.4})
    assert advice.best.setting == LEVELS[4]
    assert len(tried) == len(set(tried)) <= MOST_TRIED
    assert LEVELS[4] in tried


def test_no_more_than_a_few_are_tried():
    assert len(advised_after(dict.fromkeys(LEVELS, 1.01))[1]) == MOST_TRIED


def test_what_hardly_packs_is_not_tried():
    advice, tried = advised_after({}, probe=Speeds(1.01, 1e9, 4e9))
    assert (advice.best.setting, tried) == (None, [])


@pytest.mark.parametrize("level", [0, 5])
def test_a_setting_that_is_known_alone_is_tried_alone(level):
    known = History.of([Observation(case=CASE, setting=LEVELS[level], speeds=Speeds(3.0, 1e9, 4e9))])

    def advised(_made):
        return advise(Question(case=CASE, line=Line(1e6), settings=LEVELS), known)

    tried: list[Setting] = []
    contest(advised, lambda setting: tried.append(setting) or PROBE)
    assert tried == [LEVELS[level]]


def test_what_is_not_worth_it_is_not_tried_but_may_still_be_advised():
    tried: list[Setting] = []

    def advised(made):
        samples = [Observation(case=CASE, setting=each, speeds=speeds) for each, speeds in made.items()]
        return advise(Question(case=CASE, line=Line(1e6), settings=LEVELS, samples=samples), HISTORY)

    def worth_it(advice, setting):
        assert setting in list(advice.ranked())[:FINALISTS]
        return setting != LEVELS[9]

    advice = contest(advised, lambda setting: tried.append(setting) or Speeds(2.0, 1e9, 4e9), worth_it)
    assert LEVELS[9] not in tried
    assert tried
    assert advice.best.setting == LEVELS[9]

"""Which settings are tried on a sample, and what is advised after that."""

from dataclasses import replace

import pytest

from tradewind.compression.advice import CodecAdvice, CompressionQuery, Objective, advise
from tradewind.compression.codecs import CODEC_LEVELS, Codec, CodecSetting
from tradewind.compression.contest import LEADERS, MAX_TRIALS, advise_by_trial, find_challengers, find_leaders
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import NetworkLine, Speeds

PROBE = Speeds(2.0, 1e9, 4e9)
CASE = CompressionCase(file_bytes=10_000_000, kind="text", cpu_class="x86_64/a/1", probe=PROBE)
SETTINGS = [CodecSetting(codec, facts.default_level) for codec, facts in CODEC_LEVELS.items()]
"""Each packs better than the one before, as far as history tells."""

RATIOS = {each: 3 + 0.1 * number for number, each in enumerate(SETTINGS)}
HISTORY = History.of(
    CodecObservation(case=CASE, setting=each, speeds=Speeds(ratio, 1e9, 4e9)) for each, ratio in RATIOS.items()
)


def advised_after(ratios: dict[CodecSetting, float], probe: Speeds = PROBE) -> tuple[CodecAdvice, list[CodecSetting]]:
    """The advice over a slow path, and what was tried; others pack as the probe does."""
    tried: list[CodecSetting] = []
    case = CompressionCase(file_bytes=CASE.file_bytes, kind=CASE.kind, cpu_class=CASE.cpu_class, probe=probe)

    def advised(made):
        samples = [CodecObservation(case=case, setting=each, speeds=speeds) for each, speeds in made.items()]
        return advise(CompressionQuery(case=case, line=NetworkLine(1e6), settings=SETTINGS, samples=samples), HISTORY)

    def packed(setting):
        tried.append(setting)
        return Speeds(ratios.get(setting, probe.ratio), 1e9, 4e9)

    return advise_by_trial(advised, packed), tried


def test_leader_of_history_is_advised_when_the_sample_agrees():
    advice, tried = advised_after(RATIOS)
    assert advice.best.setting == SETTINGS[8]
    assert tried[:LEADERS] == SETTINGS[8 : 8 - LEADERS : -1]


def test_a_finalist_that_packs_the_sample_better_wins():
    assert advised_after({SETTINGS[7]: 6.0})[0].best.setting == SETTINGS[7]


def test_as_long_as_the_sample_packs_worse_than_history_says_the_next_are_tried():
    advice, tried = advised_after({SETTINGS[4]: 3.4})
    assert advice.best.setting == SETTINGS[4]
    assert len(tried) == len(set(tried)) <= MAX_TRIALS
    assert SETTINGS[4] in tried


def test_one_that_may_yet_be_the_best_is_tried_however_far_back_it_is():
    known = [(each, 3.0, 20) for each in SETTINGS[4:]] + [(SETTINGS[0], 2.8, 1)]
    history = History.of(
        CodecObservation(case=CASE, setting=setting, speeds=Speeds(ratio, 1e9, 4e9))
        for setting, ratio, times in known
        for _ in range(times)
    )
    question = CompressionQuery(case=CASE, line=NetworkLine(1e6), settings=SETTINGS)
    assert SETTINGS[0] not in find_leaders(advise(question, history))

    def advised(made):
        samples = [CodecObservation(case=CASE, setting=each, speeds=speeds) for each, speeds in made.items()]
        return advise(replace(question, samples=samples), history)

    found = advise_by_trial(advised, lambda setting: Speeds(4.0 if setting == SETTINGS[0] else 3.0, 1e9, 4e9))
    assert found.best.setting == SETTINGS[0]


def test_no_more_than_a_few_are_tried():
    assert len(advised_after(dict.fromkeys(SETTINGS, 1.01))[1]) == MAX_TRIALS


def test_incompressible_sample_is_not_tried():
    advice, tried = advised_after({}, probe=Speeds(1.01, 1e9, 4e9))
    assert (advice.best.setting, tried) == (None, [])


@pytest.mark.parametrize("number", [0, 5])
def test_a_setting_that_is_known_alone_is_tried_alone(number):
    known = History.of([CodecObservation(case=CASE, setting=SETTINGS[number], speeds=Speeds(3.0, 1e9, 4e9))])

    def advised(_made):
        return advise(CompressionQuery(case=CASE, line=NetworkLine(1e6), settings=SETTINGS), known)

    tried: list[CodecSetting] = []
    advise_by_trial(advised, lambda setting: tried.append(setting) or PROBE)
    assert tried == [SETTINGS[number]]


def test_setting_not_worth_a_trial_may_still_be_advised():
    tried: list[CodecSetting] = []

    def advised(made):
        samples = [CodecObservation(case=CASE, setting=measured, speeds=speeds) for measured, speeds in made.items()]
        return advise(CompressionQuery(case=CASE, line=NetworkLine(1e6), settings=SETTINGS, samples=samples), HISTORY)

    def worth_it(advice, setting):
        assert setting in (*find_leaders(advice), *find_challengers(advice))
        return setting != SETTINGS[8]

    advice = advise_by_trial(advised, lambda setting: tried.append(setting) or Speeds(2.0, 1e9, 4e9), worth_it)
    assert SETTINGS[8] not in tried
    assert tried
    assert advice.best.setting == SETTINGS[8]


def test_a_sample_is_weighed_against_history_by_their_variances():
    history = History.of([CodecObservation(case=CASE, setting=SETTINGS[0], speeds=Speeds(3.0, 1e9, 4e9))])
    sample = CodecObservation(case=CASE, setting=SETTINGS[0], speeds=Speeds(2.4, 1e9, 4e9))
    expected = history.predict_speeds(SETTINGS[0], CASE, [sample])
    # 0.06215 = 0.03² + 0.35²/2 of the one observation, 0.05² of the sample: the mean is 0.9613 of the way to the sample
    assert expected.speeds.ratio == pytest.approx(2.4207989855)
    assert expected.log_sd[0] == pytest.approx(0.0490237249)
    alone = History().predict_speeds(SETTINGS[0], CASE, [sample])
    assert (alone.speeds.ratio, alone.log_sd[0]) == (pytest.approx(2.4), pytest.approx(0.05))


@pytest.fixture
def levels() -> History:
    """Ten observations of each level of one codec, and of another codec."""
    speeds = {each: Speeds(4.0, 1e8, 4e9) for each in ZSTD} | {CodecSetting(Codec.BROTLI, 6): Speeds(3.5, 5e8, 2e9)}
    return History.of(
        CodecObservation(case=CASE, setting=each, speeds=its) for each, its in speeds.items() for _ in range(10)
    )


ZSTD = [CodecSetting(Codec.ZSTD, level) for level in (3, 6, 9, 12, 15, 19)]


def tried(setting: CodecSetting, ratio: float) -> CodecObservation:
    return CodecObservation(case=CASE, setting=setting, speeds=Speeds(ratio, 9e7, 4e9))


def test_level_that_packs_the_sample_worse_informs_the_other_levels_of_its_codec(levels):
    expected = levels.predict_speeds(ZSTD[5], CASE, [tried(ZSTD[0], 3.2)])
    # 0.012036 = 0.03² + 0.35²/11 of history and 0.1² of the other level: 0.54621 of the way that it is off
    assert expected.speeds.ratio == pytest.approx(4.0 * 0.8**0.54621, rel=1e-5)
    assert expected.speeds[1:] == pytest.approx((1e8, 4e9))
    brotli = CodecSetting(Codec.BROTLI, 6)
    assert levels.predict_speeds(brotli, CASE, [tried(ZSTD[0], 3.2)]) == levels.predict_speeds(brotli, CASE)
    assert History().predict_speeds(ZSTD[5], CASE, [tried(ZSTD[0], 3.2)]) is None


def test_several_tried_levels_count_by_their_mean_and_never_fully(levels):
    expected = levels.predict_speeds(ZSTD[5], CASE, [tried(each, 3.2) for each in ZSTD[:4]])
    # 0.00625 = 0.1² (1 + 1/4) / 2, however many they are at least 0.1² / 2
    assert expected.speeds.ratio == pytest.approx(4.0 * 0.8**0.65821, rel=1e-5)


def test_own_trial_overrides_other_estimates(levels):
    own = [tried(ZSTD[5], 3.2)]
    assert levels.predict_speeds(ZSTD[5], CASE, own + [tried(each, 4.0) for each in ZSTD[:5]]) == levels.predict_speeds(
        ZSTD[5], CASE, own
    )


def test_repeated_sample_counts_once(levels):
    assert levels.predict_speeds(ZSTD[5], CASE, [tried(ZSTD[5], 3.2)] * 64).log_sd == pytest.approx(
        levels.predict_speeds(ZSTD[5], CASE, [tried(ZSTD[5], 3.2)]).log_sd
    )


def test_for_the_least_energy_none_is_tried_because_it_may_be_faster():
    counts = []
    for objective in Objective:
        done: list[CodecSetting] = []

        def advised(made, objective=objective):
            samples = [CodecObservation(case=CASE, setting=each, speeds=speeds) for each, speeds in made.items()]
            question = CompressionQuery(
                case=CASE, line=NetworkLine(1e6), settings=SETTINGS, samples=samples, objective=objective
            )
            return advise(question, HISTORY)

        def packed(setting, done=done):
            done.append(setting)
            return Speeds(RATIOS[setting], 1e9, 4e9)

        advise_by_trial(advised, packed, for_throughput=objective is Objective.MAX_THROUGHPUT)
        counts.append(len(done))
    assert counts == [5, LEADERS]

"""The benchmark of gains on a made-up link: its checks, its baseline, and how it reads logs."""

from pathlib import Path

import numpy as np

from benchmarks.gain.best_seen import check_best_seen
from benchmarks.gain.links import read_leaves
from benchmarks.gain.made_up import make_leaf
from benchmarks.support.report import ROOT
from tradewind.learning.gain_check import check_gain
from tradewind.learning.validation import split_randomly


def test_both_expect_about_the_gain_that_is_observed() -> None:
    observations = make_leaf(1).observations
    train, test = split_randomly(len(observations), np.random.default_rng(1))
    for check in (check_gain(observations, train, test), check_best_seen(observations, train, test)):
        assert check is not None
        assert check.relative_error < 0.3
        assert check.observed_log > 0


def test_best_seen_needs_a_setting_that_was_repeated() -> None:
    observations = make_leaf(1).observations
    once = observations.take(np.unique(observations.settings, axis=0, return_index=True)[1])
    assert check_best_seen(once, *split_randomly(len(once), np.random.default_rng(1))) is None


def test_logs_are_divided_into_leaves_of_their_links(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_bytes((ROOT / "docs/tutorials/history.csv").read_bytes())
    (tmp_path / "notes.txt").write_text("no log", encoding="utf-8")
    [leaf] = read_leaves([tmp_path])
    assert leaf.name.startswith("history source to destination, 8 files of")
    assert len(leaf.observations) == 33

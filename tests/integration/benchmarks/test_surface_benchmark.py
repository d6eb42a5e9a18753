"""The surfaces benchmark from a log to its summary."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import pytest

from benchmarks.surfaces import __main__, sets

SUMMARY = {
    "accuracy_median",
    "gbm_accuracy_median",
    "boosting_accuracy_median",
    "forest_accuracy_median",
    "process_accuracy_median",
    "additive_accuracy_median",
    "wins_vs_gbm",
    "wins_vs_best",
    "beats_best",
    "tie_tolerance_median",
    "regret_median",
    "pick_vs_best_observed",
    "coverage90",
    "coverage90_rolling",
    "load_gain_mean",
    "outlier_effect",
    "leaf_ms",
}


HEADER = "FileSize,FileCount,Bandwidth,RTT,Parallelism,Concurrency,Pipelining,Throughput,Duration,Date,Time"
FILE_BYTES, FILES = 25_000_000, 200
WILD_ROW = 40


@pytest.fixture
def sweep(tmp_path):
    """A log of a made sweep, each setting three times, one row beyond the link's rate; and a table that is no log."""
    rng = np.random.default_rng(1)
    settings = rng.permutation(np.repeat(list(product((1, 2, 4, 8), (1, 2, 4, 8), (1, 4, 16))), 3, axis=0))
    at = datetime(2024, 5, 1, tzinfo=UTC)
    rows = []
    for i, (cc, p, pp) in enumerate(settings):
        mbps = 100 * cc**0.7 * p**0.4 * (1 + 0.1 * np.log2(pp)) * np.exp(rng.normal(0, 0.15))
        if i == WILD_ROW:
            mbps = 50_000.0
        seconds = FILE_BYTES * FILES * 8 / (mbps * 1e6)
        when = f"{at:%Y-%m-%d},{at:%H:%M:%S.%f}"
        rows.append(f"{FILE_BYTES},{FILES},10000000000,0.04,{p},{cc},{pp},{mbps},{seconds},{when}")
        at += timedelta(seconds=seconds)
    (tmp_path / "sweep.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    (tmp_path / "other.csv").write_text("animal,legs\ncat,4\n")
    return tmp_path


def test_a_log_becomes_every_figure_of_the_summary(sweep, capsys):
    document = __main__.measure_sets(sets.read_sets([sweep]), quick=True)
    assert set(document["summary"]) >= SUMMARY
    assert None not in {document["summary"][key] for key in SUMMARY}
    (result,) = document["results"]
    assert (result["case"], result["target"], result["rows"]) == ("sweep", "throughput", 143)
    assert result["accuracy"] > 0.7
    assert result["regret"] < 0.15
    assert json.dumps(document, allow_nan=False)
    told = capsys.readouterr().out
    assert "sweep.csv: 143 rows in 1 set, 1 refused" in told
    assert "other.csv: skipped" in told


def test_a_folder_without_logs_is_named_as_the_mistake(tmp_path):
    command = [sys.executable, "-m", "benchmarks.surfaces", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--data" in done.stderr

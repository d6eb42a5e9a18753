"""Make the smallest run of the benchmark: the controller and a reference variant, each for two short ticks on one path.

It shows that the testbed, the drivers, the tuners and the metrics work together. Its figures mean nothing: no case is
run, and other programs may disturb it.
"""

from pathlib import Path

from benchmarks.tuning import history
from benchmarks.tuning.cases import BASE
from benchmarks.tuning.metrics import compute_mean_bps, compute_oscillation, count_changes
from benchmarks.tuning.transfers import TransferSpec, set_up_transfers
from benchmarks.tuning.tuners import OURS
from benchmarks.wan.runs import Row, RunLog

BASELINE = "falcon"
TICKS, TICK_S = 2, 1.5


def run_smallest(recorded: RunLog, folder: Path, *, seed: int) -> list[Row]:
    """Return a row for the controller and one for the baseline.

    Parameters
    ----------
    recorded : transfers that the controller's table is learned from; nothing is added to them.
    folder : where files are served from and received.
    """
    learned = history.fit_table(BASE, recorded.list_rows(), seed=seed)
    table = history.write_table(learned, folder)
    rows = []
    with set_up_transfers(BASE, seed=seed, folder=folder) as testbed:
        for tuner in (OURS, BASELINE):
            [ticks] = testbed.run([TransferSpec(tuner=tuner, ticks=TICKS, tick_s=TICK_S, table=table)])
            rows.append(
                {
                    "case": "smoke",
                    "tuner": tuner,
                    "repeat": 0,
                    "oscillation": compute_oscillation(ticks),
                    "changes": count_changes(ticks),
                    "mbps": compute_mean_bps(ticks) / 1e6,
                    "refused": testbed.bed.read_counters().down.refused,
                }
            )
    return rows

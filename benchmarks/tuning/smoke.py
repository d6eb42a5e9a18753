"""The smallest run of the benchmark: the controller and a reference variant, each for two short ticks on one path.

It shows that the testbed, the drivers, the tuners and the figures work together. Its figures mean nothing: no case is
run, and nobody looks whether other programs disturbed it.
"""

from pathlib import Path

from benchmarks.tuning import history
from benchmarks.tuning.cases import BASE
from benchmarks.tuning.figures import changes, mean_bps, oscillation
from benchmarks.tuning.transfers import Order, yard
from benchmarks.tuning.tuners import OURS
from benchmarks.wan.runs import Row, RunLog

BASELINE = "falcon"
TICKS, TICK_S = 2, 1.5


def smallest_run(recorded: RunLog, folder: Path, *, seed: int) -> list[Row]:
    """Return a row for ours and one for the baseline.

    Parameters
    ----------
    recorded : transfers that the controller's table is learned from; nothing is added to them.
    folder : where files are served from and received.
    """
    learned = history.fitted(BASE, recorded.rows(), seed=seed)
    table = history.write_table(learned, folder)
    rows = []
    with yard(BASE, seed=seed, folder=folder) as ground:
        for tuner in (OURS, BASELINE):
            [ticks] = ground.run([Order(tuner=tuner, ticks=TICKS, tick_s=TICK_S, table=table)])
            rows.append(
                {
                    "case": "smoke",
                    "tuner": tuner,
                    "repeat": 0,
                    "oscillation": oscillation(ticks),
                    "changes": changes(ticks),
                    "mbps": mean_bps(ticks) / 1e6,
                    "refused": ground.bed.counters().down.refused,
                }
            )
    return rows

"""One driver of the tuning benchmark with the real engine, real TCP and the controller, on a path that changes."""

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.tuning import history
from benchmarks.tuning.transfers import TransferSpec, set_up_transfers
from tests.unit.tuning.simulated_path import SimulatedPath

PATH = PathSpec(rate_bps=40e6, rtt_s=0.02)


def test_a_transfer_is_tuned_tick_by_tick_while_its_path_changes(tmp_path):
    table = history.write_table(SimulatedPath(bandwidth_bps=40e6, rtt_s=0.02).table(4e6), tmp_path)
    seen = []
    with set_up_transfers(PATH, seed=1, folder=tmp_path) as ground:
        [rows] = ground.run(
            [TransferSpec(tuner="ours", ticks=4, tick_s=1.0, table=table)],
            changes={2: lambda: seen.append(ground.bed.read_counters()) or ground.bed.change(PATH.with_rate(10e6))},
        )
    assert [row["tick"] for row in rows] == [1, 2, 3, 4]
    assert max(row["throughput_bps"] for row in rows) <= PATH.rate_bps
    assert rows[3]["throughput_bps"] <= 1.2 * 10e6 + 8 * PATH.queue_limit_bytes
    assert all(row["kind"] and row["reason"] for row in rows)
    assert all(row["rtt_s"] >= row["min_rtt_s"] >= 0.019 for row in rows[1:])
    assert seen[0].down.bytes > 0
    assert not list(tmp_path.glob("yard-*"))

"""The sums over all processes of all workers, while workers come and go."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prometheus_client import CollectorRegistry

from tests.conditions import eventually
from workers.metrics import SumsBelow, WorkerMetrics, reset_counts


def test_files_that_a_worker_removes_while_they_are_read_are_left_out(tmp_path: Path) -> None:
    reset_counts(tmp_path)
    removed_after_the_list = tmp_path / "counter_1.db"
    removed_after_the_list.symlink_to(tmp_path / "gone")  # listed, but not there when it is opened
    (tmp_path / "counter_2.db").touch()  # just made, nothing counted yet
    sums = SumsBelow(CollectorRegistry(), tmp_path)
    with ThreadPoolExecutor(1) as another:
        collected = another.submit(lambda: list(sums.collect()))
        eventually(lambda: collected.running() or collected.done())
        removed_after_the_list.unlink()
        assert collected.result() == []


def test_failure_counters_start_at_zero_before_the_first_failure() -> None:
    metrics = WorkerMetrics.create()
    metrics.expect(["tradewind.fit", "tradewind.export"])
    for task in ("tradewind.fit", "tradewind.export"):
        failed = {"task": task, "outcome": "failed"}
        assert metrics.registry.get_sample_value("tradewind_task_seconds_count", failed) == 0
    for entries in ("tradewind_heartbeats_total", "tradewind_quote_entries_total"):
        assert metrics.registry.get_sample_value(entries, {"outcome": "dropped"}) == 0

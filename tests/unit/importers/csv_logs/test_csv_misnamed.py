"""Columns whose titles have two meanings, where the rows show which."""

import pytest

from tests.unit.importers.logs import run

TRANSFERS = [(1_000_000_000, 10), (2_000_000_000, 30), (3_000_000_000, 20), (1_000_000_000, 15)]


def rows(head: str, *columns: list[object]) -> list[str]:
    lines = [
        f"2026-03-01T10:{minute:02d}:00Z,{moved},{lasted},{','.join(str(column[minute]) for column in columns)}"
        for minute, (moved, lasted) in enumerate(TRANSFERS)
    ]
    return [f"start,bytes,duration_s,{head}", *lines]


def rates(share: float = 1.0) -> list[float]:
    return [round(8 * moved / lasted / 1e6 / share, 3) for moved, lasted in TRANSFERS]


@pytest.mark.parametrize("title", ["bandwidth (Mbps)", "bandwidth", "bw_mbps"])
def test_bandwidth_that_is_bytes_over_time_is_what_transfers_reached(title):
    imported, refused, report = run(rows(title, rates()))
    assert ([item.record.path.bandwidth_bps for item in imported], refused) == ([None] * 4, [])
    assert [item.record.outcome.throughput_bps for item in imported] == pytest.approx(
        [8 * moved / lasted for moved, lasted in TRANSFERS], rel=1e-4
    )
    assert any("not the link's rate" in assumption for assumption in report.assumptions)


def test_bandwidth_that_follows_the_throughput_is_no_rate_of_the_link():
    imported, _, _ = run(rows("throughput (Mbps),bandwidth (Mbps)", rates(), rates()))
    assert [item.record.path.bandwidth_bps for item in imported] == [None] * 4


@pytest.mark.parametrize(
    "bandwidths", [[10_000] * 4, [10_000, 1000, 10_000, 1000], rates(0.99), rates(0.95), rates(0.5)]
)
def test_bandwidth_of_links_stays_one(bandwidths):
    for head, columns in (
        ("bandwidth (Mbps)", [bandwidths]),
        ("throughput (Mbps),bandwidth (Mbps)", [rates(), bandwidths]),
    ):
        imported, _, _ = run(rows(head, *columns))
        found = [item.record.path.bandwidth_bps for item in imported]
        assert found == pytest.approx([1e6 * each for each in bandwidths[: len(found)]])


@pytest.mark.parametrize("first", [0, 1])
def test_count_that_numbers_the_rows_counts_no_files(first):
    imported, _, report = run(rows("count", list(range(first, first + 4))))
    assert [item.record.dataset.file_count for item in imported] == [1] * 4
    assert "count numbers the rows and is no count of files" in report.assumptions


@pytest.mark.parametrize(
    ("title", "counts"), [("count", [1, 2, 4, 8]), ("count", [10, 11, 12, 13]), ("files", [1, 2, 3, 4])]
)
def test_count_of_files_stays_one(title, counts):
    imported, _, _ = run(rows(title, counts))
    assert [item.record.dataset.file_count for item in imported] == counts

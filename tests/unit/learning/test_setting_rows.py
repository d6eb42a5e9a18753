import numpy as np
import pytest

from tradewind.learning import setting_rows
from tradewind.learning.setting_rows import ROWS_A_SETTING, SettingRows, hash_rows

FIELDS = ("group", "cell", "setting_key", "counts", "settings", "row_group", "row_hash", "values")


def some_rows(n, seed=1, cells=5):
    rng = np.random.default_rng(seed)
    settings = np.column_stack([2.0 ** rng.integers(0, 3, n), np.where(rng.random(n) < 0.3, np.nan, 4.0)])
    ids = np.arange(n)
    return rng.integers(0, cells, n), settings, hash_rows(ids), np.column_stack([ids, rng.normal(size=n)])


def take(rows, chosen):
    return tuple(column[chosen] for column in rows)


def assert_equal(one, other):
    assert one.rows_a_setting == other.rows_a_setting
    for name in FIELDS:
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "settings")


def in_batches(rows, order, parts):
    whole = None
    for chosen in np.array_split(order, parts):
        part = SettingRows.of_rows(*take(rows, chosen))
        whole = part if whole is None else whole.merge(part)
    return whole


def test_neither_order_nor_batches_change_the_sample():
    rows = some_rows(4000)
    order = np.random.default_rng(2).permutation(4000)
    assert_equal(SettingRows.of_rows(*rows), in_batches(rows, order, 9))


def test_full_sample_shrinks_equally_in_any_order(monkeypatch):
    monkeypatch.setattr(setting_rows, "ROWS_AT_MOST", 200)
    rows = some_rows(4000)
    order = np.random.default_rng(3).permutation(4000)
    whole = SettingRows.of_rows(*rows)
    assert whole.rows_a_setting < ROWS_A_SETTING
    assert len(whole.row_hash) <= 200
    assert_equal(whole, in_batches(rows, order, 9))


def test_each_setting_keeps_its_count_and_the_rows_of_smallest_hash():
    cell, settings, row_hash, values = some_rows(4000)
    leaf = SettingRows.of_rows(cell, settings, row_hash, values).build_leaf_rows(np.array([0, 1, 2]))
    assert leaf.counts.sum() == np.isin(cell, [0, 1, 2]).sum()
    for i, setting in enumerate(leaf.settings):
        own = np.isin(cell, [0, 1, 2]) & (np.nan_to_num(settings) == np.nan_to_num(setting)).all(axis=1)
        assert leaf.counts[i] == own.sum()
        kept = leaf.values[leaf.setting == i, 0].astype(int)
        assert kept.tolist() == np.flatnonzero(own)[np.argsort(row_hash[own])][:ROWS_A_SETTING].tolist()


def test_a_leaf_without_cells_has_no_rows():
    leaf = SettingRows.of_rows(*some_rows(100)).build_leaf_rows(np.array([], dtype=np.int64))
    assert leaf.settings.shape == (0, 2)
    assert len(leaf.values) == 0


def test_the_sample_is_not_biased_by_consecutive_ids():
    row_hash = hash_rows(np.arange(100_000)).astype(float) / 2.0**64
    assert row_hash.mean() == pytest.approx(0.5, abs=0.005)
    assert np.corrcoef(row_hash[:-1], row_hash[1:])[0, 1] == pytest.approx(0.0, abs=0.01)


def test_missing_values_hash_equally():
    other_nan = np.frombuffer(np.uint64(0x7FF8000000000001).tobytes(), dtype=np.float64)
    assert hash_rows(np.array([np.nan])) == hash_rows(other_nan)
    assert hash_rows(np.array([0.0])) == hash_rows(np.array([-0.0]))
    assert hash_rows(np.array([1.0]), np.array([2.0])) != hash_rows(np.array([2.0]), np.array([1.0]))

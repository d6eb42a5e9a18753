import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.lattices import tables
from tests.unit.test_selection import CAPS, DATASET_BYTES, SINGLE, agreements, cost
from tradewind.learning.pareto import compact, pareto_front
from tradewind.selection import choose

values = st.floats(-3, 3)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=12).map(lambda rows: np.array(rows).T))
def test_the_front_is_what_none_beats(rows):
    throughput, merit = rows
    front = pareto_front(throughput, merit)
    assert (np.diff(throughput[front]) > 0).all()
    assert (np.diff(merit[front]) < 0).all()
    for i in range(len(throughput)):
        assert ((throughput[front] >= throughput[i]) & (merit[front] >= merit[i])).any()


@given(tables(largest=10), agreements(), CAPS)
def test_a_compact_table_answers_feasible_agreements_as_the_whole_lattice_does(table, sla, caps):
    small = compact(table, tolerance=0.0)
    assert set(small.settings) <= set(table.settings)
    if sla.fraction is not None and sla.fraction > 1 - 1e-9:
        return
    whole, reduced = (choose(each, sla, caps, dataset_bytes=DATASET_BYTES) for each in (table, small))
    if whole is None or not whole.feasible:
        return
    assert reduced is not None
    assert reduced.feasible
    assert cost(table, reduced.setting, sla) == pytest.approx(cost(table, whole.setting, sla), rel=1e-9)


@given(tables(largest=10), agreements(), CAPS)
def test_a_tolerant_table_is_nearly_as_good_for_kinds_without_target(table, sla, caps):
    if sla.kind not in SINGLE:
        return
    whole, reduced = (choose(each, sla, caps, dataset_bytes=DATASET_BYTES) for each in (table, compact(table)))
    if whole is None or not whole.feasible:
        return
    slack = 0.01 * (1 if abs(cost(table, whole.setting, sla)) > 1e-2 else 10)
    assert cost(table, reduced.setting, sla) <= cost(table, whole.setting, sla) + slack

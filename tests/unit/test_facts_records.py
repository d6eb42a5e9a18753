"""Which kept rows claims are judged by, and which are made again."""

from dataclasses import dataclass

import pytest

from benchmarks.facts.loss_trials import LONGEST_S, held_up
from benchmarks.facts.measuring import UNNAMED, Bench
from benchmarks.wan.runs import RunLog

HERE, OTHER = "6.18, ours, 2 cores", "5.10, another, 64 cores"


@dataclass(frozen=True)
class Trial:
    """One that measures nothing."""

    name: str = "a trial"
    sort: str = "pages"

    def conditions(self, _facts):
        return "of 1 s"

    def measured(self, _yard):
        return {"disturbed": None}


FIRST, SECOND = Trial(), Trial("another trial")


def on(machine, log):
    return Bench(facts={}, log=log, folder=log.path.parent, cut_s=1.0, machine=machine)


def test_rows_of_another_machine_are_a_record_that_names_it_and_are_made_again_here(tmp_path):
    log = RunLog(tmp_path / "rows")
    here, other = on(HERE, log), on(OTHER, log)
    assert here.record([FIRST]) is None
    other.measure([FIRST])
    assert here.rows([FIRST]) == {}
    assert here.record([FIRST]).machine == OTHER
    here.measure([FIRST])
    assert here.record([FIRST]).machine == HERE
    assert {row["machine"] for row in RunLog(log.path).rows()} == {HERE, OTHER}


def test_rows_kept_before_they_had_a_machine_are_a_record_of_one_without_a_name(tmp_path):
    log = RunLog(tmp_path / "rows")
    bench = on(HERE, log)
    log.add(bench.current_key(FIRST).removesuffix(f"; {HERE}"), {"disturbed": None})
    assert bench.rows([FIRST]) == {}
    assert bench.record([FIRST]).machine == UNNAMED


def test_a_claim_is_judged_by_rows_of_one_machine_alone(tmp_path):
    log = RunLog(tmp_path / "rows")
    here, other = on(HERE, log), on(OTHER, log)
    here.measure([FIRST])
    other.measure([SECOND])
    assert here.record([FIRST, SECOND]) is None
    other.measure([FIRST])
    assert here.record([FIRST, SECOND]).machine == OTHER


@pytest.mark.parametrize(("lasted_s", "disturbed"), [(0.006, False), (LONGEST_S, False), (2 * LONGEST_S, True)])
def test_a_loss_that_was_held_up_between_acknowledgements_is_made_again(lasted_s, disturbed):
    assert (held_up(lasted_s) is not None) is disturbed

"""Which kept rows claims are judged by, and which are made again."""

from dataclasses import dataclass

import pytest

from benchmarks.papers.measuring import UNNAMED, Workbench
from benchmarks.papers.trials.loss_trials import LONGEST_S, find_hold_up
from benchmarks.support.sources import Sources, SourcesChanged
from benchmarks.wan.runs import RunLog

HERE, OTHER = "6.18, ours, 2 cores", "5.10, another, 64 cores"
PARTS = {"pages": ("benchmarks/papers/trials/page_trials.py",)}
AS_THEY_ARE = Sources.of(PARTS)


@dataclass(frozen=True)
class Trial:
    """One that measures nothing."""

    name: str = "a trial"
    source_part: str = "pages"

    def describe_conditions(self, _claims):
        return "of 1 s"

    def measure(self, _yard):
        return {"disturbed": None}


FIRST, SECOND = Trial(), Trial("another trial")


def on(machine, log, sources=AS_THEY_ARE):
    return Workbench(claims={}, log=log, folder=log.path.parent, cut_s=1.0, machine=machine, sources=sources)


def test_rows_of_another_machine_are_a_record_that_names_it_and_are_made_again_here(tmp_path):
    log = RunLog(tmp_path / "rows")
    here, other = on(HERE, log), on(OTHER, log)
    assert here.find_record([FIRST]) is None
    other.measure([FIRST])
    assert here.find_rows([FIRST]) == {}
    assert here.find_record([FIRST]).machine == OTHER
    here.measure([FIRST])
    assert here.find_record([FIRST]).machine == HERE
    assert {row["machine"] for row in RunLog(log.path).list_rows()} == {HERE, OTHER}


def test_stored_rows_without_a_machine_are_a_record_of_an_unnamed_one(tmp_path):
    log = RunLog(tmp_path / "rows")
    bench = on(HERE, log)
    log.add(bench.build_current_key(FIRST).removesuffix(f"; {HERE}"), {"disturbed": None})
    assert bench.find_rows([FIRST]) == {}
    assert bench.find_record([FIRST]).machine == UNNAMED


def test_a_claim_is_judged_by_rows_of_one_machine_alone(tmp_path):
    log = RunLog(tmp_path / "rows")
    here, other = on(HERE, log), on(OTHER, log)
    here.measure([FIRST])
    other.measure([SECOND])
    assert here.find_record([FIRST, SECOND]) is None
    other.measure([FIRST])
    assert here.find_record([FIRST, SECOND]).machine == OTHER


def test_record_is_that_of_the_machine_that_measured_last(tmp_path):
    log = RunLog(tmp_path / "rows")
    for machine in ("b", "c", "a"):
        on(machine, log).measure([FIRST])
    assert on(HERE, log).find_record([FIRST]).machine == "a"
    on("b", log).measure([SECOND])
    assert on(HERE, log).find_record([FIRST]).machine == "b"
    assert on(HERE, RunLog(log.path)).find_record([FIRST]).machine == "b"


def test_rows_of_earlier_sources_are_a_record_that_says_so_until_the_runs_are_made_again(tmp_path):
    log = RunLog(tmp_path / "rows")
    since = Sources(PARTS, {"pages": "0123456789ab"}, {"pages": "other contents"})
    for machine in (HERE, OTHER):
        on(machine, log).measure([FIRST])
    assert on(HERE, log, since).find_rows([FIRST]) == {}
    record = on(HERE, log, since).find_record([FIRST])
    assert (record.machine, record.is_current) == (HERE, False)
    log.add(on(OTHER, log, since).build_current_key(FIRST), {"machine": OTHER, "disturbed": None})
    record = on(HERE, log, since).find_record([FIRST])
    assert (record.machine, record.is_current) == (OTHER, True)  # today's sources, wherever they were measured
    assert on(HERE, log, since).find_record([FIRST, SECOND]) is None


def test_disturbed_row_of_earlier_sources_counts_no_more_than_one_of_today(tmp_path):
    log = RunLog(tmp_path / "rows")
    log.add(on(HERE, log).build_current_key(FIRST), {"machine": HERE, "disturbed": "by others"})
    since = Sources(PARTS, {"pages": "0123456789ab"}, {"pages": "other contents"})
    assert on(HERE, log, since).find_record([FIRST]) is None


def test_row_during_which_the_sources_changed_ends_the_command_and_is_not_stored(tmp_path):
    log = RunLog(tmp_path / "rows")
    others = Sources(PARTS, {"pages": "another digest"}, {"pages": "other contents"})
    with pytest.raises(SourcesChanged, match=r"^the sources changed while they were measured; start again$"):
        on(HERE, log, others).measure([FIRST])
    assert log.list_rows() == []


@pytest.mark.parametrize(("lasted_s", "disturbed"), [(0.006, False), (LONGEST_S, False), (2 * LONGEST_S, True)])
def test_a_loss_that_was_held_up_between_acknowledgements_is_made_again(lasted_s, disturbed):
    assert (find_hold_up(lasted_s) is not None) is disturbed

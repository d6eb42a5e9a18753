from itertools import permutations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.mobile.batching import MAX_JOBS, BatchTerms, evaluate_bursts, group_into_bursts, plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.queue import BurstMode, QueuedJob, ScheduledJob, share_capacity

LTE = load_shipped_catalogue().find_radio("lte")
TAIL_J = LTE.compute_tail_energy_j(inf)
FREE = BatchTerms(radio=LTE)


def job(name="a", *, seconds=4.0, ready_s=0.0, deadline_s=None, throughput_bps=8e6):
    total_bytes = round(seconds * throughput_bps / 8)
    return QueuedJob(
        name=name, total_bytes=total_bytes, throughput_bps=throughput_bps, ready_s=ready_s, deadline_s=deadline_s
    )


def test_separate_transfers_pay_a_tail_each_and_back_to_back_ones_pay_one():
    # E(n separate) = n (E_x + E_tail); E(n back to back) = n E_x + E_tail (mobile paper, figure 8)
    plan = plan_batches([job("a"), job("b"), job("c")], FREE)
    assert [burst.mode for burst in plan.bursts] == [BurstMode.BACK_TO_BACK]
    assert plan.tail_j == pytest.approx(TAIL_J)
    assert plan.separate_tail_j == pytest.approx(3 * TAIL_J)
    assert plan.saved_j == pytest.approx(2 * TAIL_J)
    assert plan.tails_saved == 2


def test_a_job_waits_for_a_later_one_only_where_the_tail_is_worth_it():
    jobs = [job("a"), job("b", ready_s=60)]
    assert len(plan_batches(jobs, FREE).bursts) == 1
    # "a" would be 56 s late: at 0.3 J a second that is more than the tail's 12 J
    dear = plan_batches(jobs, BatchTerms(radio=LTE, waiting_price_w=0.3))
    assert [burst.starts_s for burst in dear.bursts] == [0, 60]
    assert dear.saved_j == 0
    assert "as much energy as each on its own" in dear.explain_plan(LTE)


def test_deadline_is_met_though_waiting_would_save_a_tail():
    plan = plan_batches([job("urgent", deadline_s=10), job("late", ready_s=60)], FREE)
    assert [burst.starts_s for burst in plan.bursts] == [0, 60]
    assert plan.missed == ()


def test_a_gap_shorter_than_the_tail_costs_only_its_part():
    plan = evaluate_bursts(group_into_bursts([ScheduledJob(job("a"), 0, 4), ScheduledJob(job("b"), 7, 11)]), FREE)
    assert plan.tail_j == pytest.approx(LTE.compute_tail_energy_j(3) + TAIL_J)


def test_jobs_that_leave_the_radio_half_idle_go_at_once():
    plan = plan_batches([job("a"), job("b")], BatchTerms(radio=LTE, capacity_bps=16e6))
    assert [burst.mode for burst in plan.bursts] == [BurstMode.CONCURRENT]
    assert plan.active_j == pytest.approx(LTE.active_above_idle_w * 4)


def test_sharing_a_full_radio_slows_all_jobs_equally_until_one_is_done():
    placed = share_capacity([(job("short", seconds=2), 0.0), (job("long", seconds=4), 0.0)], 8e6)
    assert [each.ends_s for each in placed] == pytest.approx([4, 6])


def test_unreachable_deadline_is_named_and_the_others_are_met():
    plan = plan_batches([job("never", seconds=10, deadline_s=5), job("soon", deadline_s=5)], FREE)
    assert plan.missed == ("never",)


@pytest.mark.parametrize("others", [5, 6, 39])
def test_a_job_that_is_late_already_makes_no_other_late(others):
    """Six jobs are tried in every order, more are not."""
    jobs = [job(str(number), seconds=10, deadline_s=10 * number + 15) for number in range(others)]
    plan = plan_batches([job("old", seconds=3600, deadline_s=0), *jobs], FREE)
    assert plan.missed == ("old",)
    assert len(plan.bursts) == 1


def test_longest_of_jobs_that_cannot_all_be_in_time_is_late():
    short = [job(str(number), seconds=10, deadline_s=100) for number in range(8)]
    plan = plan_batches([job("long", seconds=60, deadline_s=90), *short], FREE)
    assert plan.missed == ("long",)


@pytest.mark.parametrize("capacity_bps", [None, 10e6])
def test_a_radio_carries_what_the_fastest_job_reaches_also_while_others_are_sent(capacity_bps):
    jobs = [job("fast", throughput_bps=100e6), job("a", seconds=40), job("b", seconds=40)]
    plan = plan_batches(jobs, BatchTerms(radio=LTE, capacity_bps=capacity_bps))
    assert plan.active_j == pytest.approx(LTE.active_above_idle_w * 40, rel=0.1)


@pytest.mark.parametrize("jobs", [[], [job("a"), job("a")], [job(str(number)) for number in range(MAX_JOBS + 1)]])
def test_a_queue_that_cannot_be_planned_is_refused(jobs):
    with pytest.raises(InvalidValue, match="jobs"):
        plan_batches(jobs, FREE)


@pytest.mark.parametrize(
    "jobs",
    [
        [
            QueuedJob(name="a", total_bytes=10_000_000, throughput_bps=1.0),
            QueuedJob(name="b", total_bytes=7_000_003, throughput_bps=1.1, ready_s=1.3),
        ],
        [job(str(n), seconds=1.1e8, throughput_bps=7e4, ready_s=7.3 * n) for n in range(3)],
        [job(str(n), seconds=0.7 + n / 3, ready_s=1.06e9 + 0.1 * n) for n in range(3)],
    ],
    ids=["months", "years", "in decades"],
)
def test_plan_of_moments_beyond_nanosecond_precision_terminates(jobs):
    placed = share_capacity([(each, each.ready_s) for each in jobs], jobs[0].throughput_bps)
    assert all(each.ends_s >= each.job.undelayed_end_s * (1 - 1e-12) for each in placed)
    assert len([each for burst in plan_batches(jobs, FREE).bursts for each in burst.placed]) == len(jobs)


def queues(longest_s, latest_s):
    """Of jobs that last so long at most and become ready by then at the latest."""
    seconds, moments = st.floats(0.5, longest_s), st.floats(0, latest_s)
    rates_bps = st.sampled_from([1.0, 1.1, 7e4, 8e6, 1e9 / 3])
    rows = st.tuples(seconds, moments, st.none() | st.floats(1, 2 * latest_s), rates_bps)
    return st.lists(rows, min_size=1, max_size=5).map(
        lambda rows: [
            job(str(number), seconds=seconds, ready_s=ready_s, deadline_s=due_s, throughput_bps=rate_bps)
            for number, (seconds, ready_s, due_s, rate_bps) in enumerate(rows)
        ]
    )


JOBS = queues(20, 40) | queues(1e8, 40) | queues(20, 2e9) | queues(1e8, 1e9)
"""Of seconds, of months and years, in decades."""


def misses_in_turn(order):
    now_s, missed = 0.0, 0
    for each in order:
        now_s = max(now_s, each.ready_s) + each.duration_s
        missed += now_s > each.due_s + 1e-9
    return missed


@settings(max_examples=60, deadline=None)
@given(JOBS, st.sampled_from([0.0, 0.05, 1.0]))
def test_no_deadline_is_missed_that_any_order_could_keep_and_nobody_starts_early(jobs, price_w):
    plan = plan_batches(jobs, BatchTerms(radio=LTE, waiting_price_w=price_w))
    placed = [each for burst in plan.bursts for each in burst.placed]
    assert sorted(each.job.name for each in placed) == sorted(each.name for each in jobs)
    assert all(each.starts_s >= each.job.ready_s * (1 - 1e-12) - 1e-9 for each in placed)
    assert len(plan.missed) <= min(misses_in_turn(order) for order in permutations(jobs))


@settings(max_examples=60, deadline=None)
@given(JOBS, st.sampled_from([0.0, 0.05, 1.0]))
def test_a_plan_never_costs_more_than_sending_everything_at_once_when_it_is_ready(jobs, price_w):
    terms = BatchTerms(radio=LTE, waiting_price_w=price_w)
    plan = plan_batches(jobs, terms)
    ready = evaluate_bursts(
        group_into_bursts(
            share_capacity([(each, each.ready_s) for each in jobs], max(each.throughput_bps for each in jobs))
        ),
        terms,
    )

    def cost_j(each):
        return each.active_j + each.tail_j + price_w * each.delay_s

    if len(ready.missed) <= len(plan.missed):
        assert cost_j(plan) <= cost_j(ready) * (1 + 1e-9) + 1e-6

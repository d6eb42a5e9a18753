"""Runs that are measured: to their end, to the cut, or until their judge has seen enough."""

from benchmarks.testbed.measured_run import run_measured
from benchmarks.testbed.path_spec import PathSpec


def test_a_run_ends_by_itself_at_the_cut_or_when_its_judge_has_seen_enough(stand, tmp_path):
    bed = stand(PathSpec(rate_bps=50e6, rtt_s=0.01))
    client = bed.clients[0]
    ages = []

    def enough(age_s, carried):
        ages.append((age_s, carried.down.bytes))
        return len(ages) == 2

    write = ["sh", "-c", f"echo some > {tmp_path / 'file'}; exec sleep 0.1"]
    ended = run_measured(bed, client, write, tmp_path, cut_s=30.0, enough=lambda *_: False)
    assert (ended.cut, ended.exit_code, ended.bytes_done) == (False, 0, 5)
    cut = run_measured(bed, client, ["sleep", "60"], tmp_path, cut_s=0.7, enough=lambda *_: False)
    assert (cut.cut, cut.exit_code) == (True, None)
    judged = run_measured(bed, client, ["sleep", "60"], tmp_path, cut_s=30.0, enough=enough)
    assert (judged.cut, judged.exit_code) == (True, None)
    assert judged.duration_s < 30.0
    assert [age_s for age_s, _ in ages] == sorted(age_s for age_s, _ in ages)

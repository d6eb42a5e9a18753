"""What a copy logs of its path: the queue that its own streams make, beside the path without one."""

import json
import os
import subprocess

from benchmarks.testbed import origins
from benchmarks.testbed.path_spec import PathSpec
from tests.integration.agent.support.command import COMMAND, environment

PATH = PathSpec(rate_bps=20e6, rtt_s=0.04)
FILES = 4


def test_a_copy_logs_the_round_trip_of_the_path_under_its_own_load(stand, tmp_path):
    bed = stand(PATH)
    (tmp_path / "served").mkdir()
    for i in range(FILES):
        (tmp_path / "served" / str(i)).write_bytes(os.urandom(2_000_000))
    tmp_path.chmod(0o755)
    with origins.run_nginx(bed, tmp_path / "served") as url:
        line = (
            *COMMAND,
            "copy",
            *(f"{url}{i}" for i in range(FILES)),
            tmp_path / "to",
            "--concurrency",
            "4",
            "--no-tune",
            "--json",
        )
        env = environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))
        done = subprocess.run(
            bed.clients[0].build_command(line), env=env, capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr
    (log,) = (tmp_path / "spool").glob("*.ndjson")
    path = json.loads(log.read_text().splitlines()[0])["path"]
    assert 0.039 <= path["min_rtt_s"] < 0.06
    assert path["rtt_s"] > path["min_rtt_s"] + 0.01  # four flows without losses fill the queue of one round trip

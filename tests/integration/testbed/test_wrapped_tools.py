"""Wrapped tools on a long path with losses: what is seen of their connections from outside."""

import json
import os
import subprocess

import pytest

from benchmarks.testbed import origins
from benchmarks.testbed.path_spec import PathSpec
from tests.integration.agent.support.command import COMMAND, environment

PATH = PathSpec(rate_bps=40e6, rtt_s=0.04, loss_rate=0.005)
FILES = 8


@pytest.mark.parametrize("tool", ["aria2c", "rclone"])
def test_round_trips_and_losses_of_a_tools_connections_are_those_of_the_path(stand, tmp_path, tool):
    bed = stand(PATH)
    (tmp_path / "served").mkdir()
    for i in range(FILES):
        (tmp_path / "served" / str(i)).write_bytes(os.urandom(2_000_000))
    tmp_path.chmod(0o755)
    with origins.run_nginx(bed, tmp_path / "served") as url:
        (tmp_path / "list").write_text("".join(f"{url}{i}\n" for i in range(FILES)))
        words = {
            "aria2c": ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list"),
            "rclone": ("rclone", "copy", "--http-url", url, ":http:", tmp_path / "to"),
        }[tool]
        line = (
            *COMMAND,
            "wrap",
            "--json",
            "--base-power",
            "0s",
            "--tick",
            "500ms",
            "--bandwidth",
            "40Mbps",
            "--",
            *words,
        )
        env = environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))
        done = subprocess.run(
            bed.clients[0].build_command(line), env=env, capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr
    samples = [tick["sample"] for tick in json.loads(done.stdout)["timeline"]]
    seen = [each for each in samples if each.get("min_rtt_s")]
    assert len(seen) > 1
    assert all(0.039 <= each["min_rtt_s"] < 0.08 for each in seen)
    last = seen[-1]
    assert 0 < last["retransmitted_bytes"] < 0.1 * last["sent_bytes"]
    assert last["sent_bytes"] >= 0.5 * FILES * 2_000_000

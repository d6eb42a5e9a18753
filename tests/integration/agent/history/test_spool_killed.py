import signal
import subprocess
import sys

from tests.endings import Program
from tests.integration.agent.support.command import environment
from tests.unit.agent.records import lines
from tradewind_agent.history.spool import Spool

APPEND = """
import sys
from pathlib import Path
from tradewind_agent.history.spool import Spool

spool = Spool(Path(sys.argv[1]), warn=print)
first = int(sys.argv[2])
for number in range(first, first + int(sys.argv[3])):
    (segment,) = spool.append([b'{"writer": %d, "row": %d, "half": %d}' % (first, number, half) for half in (1, 2)])
    print(number, flush=True)
"""


def appending(folder, home, first, count):
    return Program(
        [sys.executable, "-c", APPEND, str(folder), str(first), str(count)],
        env=environment(home),
        stdout=subprocess.PIPE,
    )


def test_acknowledged_records_survive_a_kill_entirely(tmp_path):
    folder = tmp_path / "spool"
    with appending(folder, tmp_path, 0, 10**6) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(40)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().splitlines()]
    spool = Spool(folder, warn=lambda _: None)
    spool.append(lines(1))
    contents = [segment.path.read_bytes() for segment in spool.list_segments()]
    assert contents.pop() == lines(1)[0]
    assert all(content.count(b"\n") == 2 for content in contents)
    rows = [int(content.split(b'"row": ')[1].split(b",")[0]) for content in contents]
    assert rows == list(range(len(rows)))
    assert len(rows) >= len(acknowledged)
    assert not [entry.name for entry in folder.iterdir() if entry.name.startswith(".")]


def test_several_processes_share_a_spool(tmp_path):
    folder = tmp_path / "spool"
    writers = [appending(folder, tmp_path, first, 25) for first in (0, 100, 200)]
    for writer in writers:
        with writer:
            writer.stdout.read()
        assert writer.returncode == 0
    segments = Spool(folder, warn=lambda _: None).list_segments()
    assert [segment.sequence for segment in segments] == list(range(1, 76))
    assert len({segment.sha256 for segment in segments}) == 75

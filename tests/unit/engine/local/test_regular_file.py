"""Files that another program replaces by something else before they are read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tradewind_agent.engine.local.checksums import compute_checksum
from tradewind_agent.engine.local.regular_file import open_regular_file
from tradewind_agent.stores.s3.sending.body_sums import compute_crc32


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "read",
    [open_regular_file, lambda path: compute_checksum(path, "sha256"), lambda path: compute_crc32(path, 0, 1)],
    ids=["open", "sum", "sum of an object"],
)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_pipe_folder_or_device_in_place_of_a_file_is_refused_at_once(tmp_path: Path, read, make):
    make(tmp_path / "file")
    with pytest.raises(OSError, match="no regular file"):
        read(tmp_path / "file")


def test_file_is_opened_for_reading(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"bytes")
    with os.fdopen(open_regular_file(tmp_path / "file"), "rb") as source:
        assert source.read() == b"bytes"


HOLDER = """
import fcntl, os, signal, sys
given_back = []
def give_back(*_):
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    given_back.append(True)
signal.signal(signal.SIGIO, give_back)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
while not given_back:
    signal.pause()
"""


@pytest.mark.timeout(60)
def test_file_that_a_file_server_holds_a_lease_on_is_waited_for(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"bytes")
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        descriptor = open_regular_file(path)
    assert os.get_blocking(descriptor)
    os.close(descriptor)

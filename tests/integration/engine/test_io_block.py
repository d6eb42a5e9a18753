"""The I/O block is what the engine really writes at once."""

from pathlib import Path

import pytest

from tests.integration.serve_files.serving import serving
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files

SIZE = 2_000_000


def write_calls() -> int:
    """Of this process since it began, as the kernel counts them."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(fields["syscw"])


@pytest.mark.parametrize(("block", "least", "most"), [(1024, 1900, None), (4096, 480, 1500), (65536, 30, 400)])
def test_no_more_than_a_block_is_written_at_once(tmp_path, block, least, most):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "file").write_bytes(bytes(SIZE))
    by_hand = Parameters(concurrency=1, parallelism=1, pipelining=1, io_block_bytes=block)
    with serving(tmp_path / "source") as server:
        before = write_calls()
        report = copy_files([server.url], str(tmp_path / "copy"), options=CopyOptions(by_hand=by_hand, tune=False))
        calls = write_calls() - before
    assert report.succeeded
    assert report.records[0].parameters.io_block_bytes == block
    assert calls >= least
    assert most is None or calls <= most

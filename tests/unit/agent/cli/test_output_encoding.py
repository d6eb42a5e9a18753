"""Names of files may have characters that the locale lacks."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_name_that_the_locale_cannot_write_is_escaped(tmp_path, encoding: str, option: list[str]):
    names = os.fsencode(tmp_path) + b"/\xd0\xb6-\xff"
    done = subprocess.run(
        [sys.executable, "-m", "tradewind_agent", "copy", names, tmp_path / "got", *option],
        capture_output=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": ":".join(sys.path),
            "PYTHONIOENCODING": encoding,
            "HOME": str(tmp_path),
        },
    )
    assert done.returncode == 1
    assert b"internal error" not in done.stderr + done.stdout
    assert b"Traceback" not in done.stderr

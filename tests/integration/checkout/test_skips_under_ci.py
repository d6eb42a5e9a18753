"""Where a change is judged, a skip is a failure that tells its reason."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "in_the_test": "import pytest\ndef test_it(): pytest.skip('no disk')",
    "by_mark": "import pytest\n@pytest.mark.skip(reason='no disk')\ndef test_it(): pass",
    "of_the_module": "import pytest\npytest.skip('no disk', allow_module_level=True)",
}
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_it(): assert False"


@pytest.fixture
def run_tests(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)

    def run(program, **environment):
        (tmp_path / "test_it.py").write_text(program)
        command = [sys.executable, "-m", "pytest", "-ra", "--rootdir", str(tmp_path), str(tmp_path)]
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # other plugins have nothing to do with it, and load slowly
        outer = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST")}
        done = subprocess.run(
            command, cwd=tmp_path, env={**outer, **environment}, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("place", PROGRAMS)
def test_a_skip_fails_under_ci(run_tests, place):
    code, output = run_tests(PROGRAMS[place], CI="true")
    assert code != 0
    assert "skipped, which CI does not allow: " in output
    assert "no disk" in output


def test_elsewhere_a_skip_is_listed_with_its_reason(run_tests):
    code, output = run_tests(PROGRAMS["by_mark"])
    assert code == 0
    assert "no disk" in output


def test_an_expected_failure_is_no_skip(run_tests):
    code, _ = run_tests(EXPECTED_FAILURE, CI="true")
    assert code == 0

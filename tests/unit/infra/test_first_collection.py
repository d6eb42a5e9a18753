"""The workers of a new checkout's first test run find bytecode instead of compiling every module, each for itself."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from benchmarks.support.report import ROOT

PYTHON = """#!/bin/sh
echo "$@" >> calls
"""


@pytest.fixture
def script(tmp_path, monkeypatch) -> ModuleType:
    """The script `run` in a checkout whose interpreter notes its arguments."""
    loader = SourceFileLoader("run_script", str(ROOT / "run"))
    loaded = module_from_spec(spec_from_file_location(loader.name, loader.path, loader=loader))
    loader.exec_module(loaded)
    (tmp_path / "tests").mkdir()
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loaded, "ROOT", tmp_path)
    monkeypatch.setattr(loaded, "PYTHON", python)
    return loaded


def test_tests_of_a_new_checkout_are_collected_once(script, tmp_path):
    script.write_bytecode({})
    calls = sorted((tmp_path / "calls").read_text().splitlines())
    assert calls == sorted(
        f"-P -m pytest --collect-only -qq -p no:cacheprovider {' '.join(part)}" for part in script.PARTS_OF_TESTS
    )


def test_a_checkout_whose_tests_ran_before_is_not_collected_again(script, tmp_path):
    (tmp_path / "tests" / "__pycache__").mkdir()
    script.write_bytecode({})
    assert not (tmp_path / "calls").exists()


def test_every_folder_of_tests_is_in_one_part(script):
    parts = [folder for part in script.PARTS_OF_TESTS for folder in part]
    tested = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}
    assert sorted(parts) == sorted(f"tests/{name}" for name in tested - {"compose"})

"""`./run` on a tiny checkout of its own: the same script, one package to install, projects that build themselves."""

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil
import pytest

from tests.endings import Program

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
BACKEND = """
import pathlib, zipfile
NAME = {name!r}
def get_requires_for_build_editable(config_settings=None): return []
def build_editable(folder, config_settings=None, metadata_directory=None):
    wheel = f"{{NAME}}-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, wheel), "w") as archive:
        archive.writestr(f"{{NAME}}.pth", str(pathlib.Path.cwd()))
        info = f"{{NAME}}-1.dist-info"
        archive.writestr(f"{{info}}/METADATA", f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: 1\\n")
        archive.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{{info}}/RECORD", "")
    return wheel
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "{name}"
version = "1"
"""
CHECKS = "import installed, sys\nprint('checked with', installed.VALUE)\n"


SERVES = """
import importlib.util, installed
print("serving with", installed.VALUE, "and tests' packages" if importlib.util.find_spec("tested") else "alone")
"""


def make_wheel(folder, value, name="installed"):
    """Make a wheel, and a line of requirements that pins it."""
    path = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"VALUE = {value!r}\n")
        archive.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{name}-1.dist-info/RECORD", "")
    return f"{name}==1 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def checkout(tmp_path):
    """A folder with a space in its name; the package to install is in another one."""
    folder = tmp_path / "a checkout"
    for name, place in (("core", "core"), ("agent", "clients/python"), ("server", ".")):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "pyproject.toml").write_text(PROJECT.format(name=name))
        (folder / place / "backend.py").write_text(BACKEND.format(name=name))
    (folder / "infra" / "checks").mkdir(parents=True)
    (folder / "infra" / "checks" / "__main__.py").write_text(CHECKS)
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "echo.py").write_text(
        '"""Answers what it is told."""\nimport os, sys\nif __name__ == "__main__": print(sys.argv[1:], os.getcwd())\n'
    )
    shutil.copy(ROOT / "benchmarks" / "supervisor.py", folder / "benchmarks")
    (folder / "benchmarks" / "report.py").write_text('"""No benchmark."""\n')
    (folder / "benchmarks" / "packed").mkdir()
    (folder / "benchmarks" / "packed" / "__main__.py").write_text(
        '"""Is a package."""\nif __name__ == "__main__": pass\n'
    )
    (tmp_path / "wheels").mkdir()
    (folder / "services").mkdir()
    (folder / "services" / "serve.py").write_text(SERVES)
    running = make_wheel(tmp_path / "wheels", "first")
    (folder / "requirements.txt").write_text(running)
    (folder / "requirements-dev.txt").write_text(running + make_wheel(tmp_path / "wheels", "", "tested"))
    shutil.copy(ROOT / "run", folder)
    return folder


@pytest.fixture
def start(checkout):
    """Start `./run` with these arguments; packages come from a folder, not from a network."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(checkout.parent / "wheels"),
        "PIP_USER": "1",  # a configuration that would break an installation into an environment
        "PYTHONPATH": str(checkout.parent / "elsewhere"),
    }

    def popen(*arguments, root=checkout, cwd=None):
        command = [sys.executable, str(root / "run"), *arguments]
        return Program(
            command, cwd=cwd or root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return popen


@pytest.fixture
def run(start):
    def finish(*arguments, **options):
        with start(*arguments, **options) as process:
            output, errors = process.communicate()
        return process.returncode, output, errors

    return finish


def test_the_script_is_understood_by_interpreters_that_are_too_old():
    ast.parse((ROOT / "run").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_an_unknown_command_or_none_shows_the_usage_and_installs_nothing(run, checkout):
    for arguments, first in (((), "usage: ./run"), (("frobnicate",), "run: no command 'frobnicate'\n\nusage: ./run")):
        code, _, errors = run(*arguments)
        assert code == 2
        assert errors.startswith(first)
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        (("demo", "--quick"), "no arguments"),
        (("demo", "--sample"), "no arguments"),
        (("check", "--quick"), "no arguments"),
        (("serve", "--quick"), "only --sample"),
        (("serve", "--sample", "--quick"), "only --sample"),
        (("serve", "--sample", "--sample"), "only --sample"),
    ],
)
def test_superfluous_argument_is_named_and_nothing_starts(run, checkout, words, takes):
    code, output, errors = run(*words)
    assert (code, output) == (2, "")
    assert errors.startswith(f"run: {words[0]} takes {takes}; what is '{words[-1]}'?\n\nusage: ./run")
    assert not (checkout / ".venv").exists()


def test_an_unknown_stack_is_refused_before_anything_is_installed(run, checkout):
    for words in (("--stack",), ("--stack", "none")):
        code, output, errors = run("test", *words)
        assert (code, output) == (2, "")
        assert errors.startswith("run: there is only --stack compose\n\nusage: ./run")
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("words", [("--help",), ("serve", "--help"), ("demo", "-h"), ("check", "--help")])
def test_help_is_no_error(run, checkout, words):
    code, output, _ = run(*words)
    assert code == 0
    assert output.startswith("usage: ./run")
    assert not (checkout / ".venv").exists()


def test_benchmarks_are_listed_with_what_they_are_for(run):
    code, output, _ = run("bench")
    assert code == 0
    assert [line.split(maxsplit=1) for line in output.splitlines()] == [
        ["echo", "Answers what it is told."],
        ["packed", "Is a package."],
    ]


def test_an_unknown_benchmark_shows_those_that_there_are(run):
    code, _, errors = run("bench", "ecko")
    assert code == 2
    assert "no benchmark 'ecko'" in errors
    assert "echo" in errors


def test_a_start_installs_only_what_has_changed(run, checkout, tmp_path):
    code, output, errors = run("check")
    assert (code, output) == (0, "checked with first\n"), errors
    assert "set up in" in errors
    installed_at = (checkout / ".venv" / "installed").stat().st_mtime_ns

    assert run("check") == (0, "checked with first\n", "")
    assert (checkout / ".venv" / "installed").stat().st_mtime_ns == installed_at

    # A benchmark's arguments may name folders relative to the caller.
    assert run("bench", "echo", "--data", "here", cwd=tmp_path)[1] == f"['--data', 'here'] {tmp_path}\n"

    (checkout / "requirements-dev.txt").write_text(make_wheel(checkout.parent / "wheels", "second"))
    code, output, errors = run("check")
    assert (code, output) == (0, "checked with second\n"), errors

    moved = checkout.rename(tmp_path / "moved")
    code, output, errors = run("check", root=moved)
    assert (code, output) == (0, "checked with second\n"), errors
    assert "set up in" in errors


def test_serve_needs_no_test_packages_and_uses_those_that_are_installed(run, checkout):
    code, output, errors = run("serve")
    assert (code, output) == (0, "serving with first alone\n"), errors
    (loaded,) = (checkout / ".venv").glob("lib/*/site-packages/installed.py")
    served_from = loaded.stat()
    assert run("check")[:2] == (0, "checked with first\n")
    assert os.path.samestat(loaded.stat(), served_from), "a service that runs would lose what it has not loaded yet"
    assert run("serve") == (0, "serving with first and tests' packages\n", "")


def test_a_package_with_another_hash_is_refused_and_nothing_counts_as_installed(run, checkout):
    (checkout / "requirements-dev.txt").write_text(f"installed==1 --hash=sha256:{'0' * 64}\n")
    code, _, errors = run("check")
    assert code == 1
    assert "hash" in errors.lower()
    assert not (checkout / ".venv" / "installed").exists()


def test_two_first_starts_at_once_both_succeed_and_one_of_them_installs(start):
    with start("check") as one, start("check") as other:
        results = [process.communicate() for process in (one, other)]
    assert [(one.returncode, other.returncode), results[0][0], results[1][0]] == [
        (0, 0),
        "checked with first\n",
        "checked with first\n",
    ]
    assert sum("set up in" in errors for _, errors in results) == 1


def test_an_installation_that_is_killed_outright_is_done_again(start, run, checkout):
    with start("check") as process:
        site = checkout / ".venv" / "lib"
        while not site.exists():
            assert process.poll() is None
            psutil.wait_procs([psutil.Process(process.pid)], timeout=0.01)
        process.kill()
        process.communicate()
    assert not (checkout / ".venv" / "installed").exists()
    code, output, errors = run("check")
    assert (code, output) == (0, "checked with first\n"), errors

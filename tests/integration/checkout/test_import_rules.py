"""The import rules hold, and each of them notices what it is there for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {"tradewind": "core", "tradewind_agent": "clients/python", "services": ".", "workers": "."}
SEEDS = {
    "workers build on services, services on the core": ("tradewind/units.py", "services.settings"),
    "the server does without the agent": ("services/settings.py", "tradewind_agent"),
    "the core's layers": ("tradewind/errors.py", "tradewind.sla.kinds"),
    "the services' layers": ("services/application/shared/jobs.py", "services.settings"),
    "the core has no I/O, clock, randomness or log of its own": ("tradewind/path.py", "socket"),
    "numpy and scipy are for tradewind.learning alone": ("tradewind/dataset.py", "numpy"),
    "the agent needs no server, no learning and no library of theirs": ("tradewind_agent/__init__.py", "fastapi"),
    "use cases learn through a port": ("services/application/shared/ports.py", "tradewind.learning"),
    "what answers requests never loads scipy, not even indirectly": ("tradewind/cluster.py", "scipy"),
    "only services.persistence speaks SQL": ("services/api/probes.py", "sqlalchemy"),
}


@pytest.fixture
def sources(tmp_path):
    """A copy of the packages and of their rules."""
    for package, folder in PACKAGES.items():
        shutil.copytree(ROOT / folder / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder):
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-P", "-c", program, "--no-logo", "--no-cache"]
    environment = {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_rules_hold(sources):
    code, report = lint(sources)
    assert code == 0, report


def test_a_violation_of_each_rule_is_reported(sources):
    for file, imported in SEEDS.values():
        path = sources / file
        path.write_text(f"{path.read_text()}\nimport {imported}\n")
    code, report = lint(sources)
    assert code == 1
    for rule, (file, imported) in SEEDS.items():
        importer = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert f"{rule} BROKEN" in report
        assert f"{importer} -> {imported} " in report


LOADED = """
import importlib, pkgutil, sys
import services.app, services.api
importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(services.api.__path__, "services.api."):
    importlib.import_module(module.name)
heavy = {"numpy", "scipy", "fastcluster", "sklearn", "pandas", "pyarrow"}
print(sorted(name for name in sys.modules if name.split(".")[0] in heavy or name.startswith("tradewind.learning")))
"""


def list_numerics_loaded_with(module):
    """What of the numerics a process has loaded after the whole API and one module more."""
    command = [sys.executable, "-P", "-c", LOADED, module]
    environment = {"PYTHONPATH": f"{ROOT / 'core'}:{ROOT}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_api_runs_without_numerics():
    assert list_numerics_loaded_with("services.app") == "[]"
    assert "tradewind.learning.link" in list_numerics_loaded_with("workers.learner")


def test_a_module_without_a_place_is_reported(sources):
    (sources / "tradewind" / "newcomer.py").touch()
    (sources / "services" / "newcomer.py").touch()
    code, report = lint(sources)
    assert code == 1
    assert "- tradewind.newcomer" in report
    assert "- services.newcomer" in report

"""The agent as it is installed: two wheels and what they declare to need, nothing else of this environment."""

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

ALONE = """
import importlib, pkgutil, sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"no module named {name!r}: it is not declared", name=name)

sys.meta_path.insert(0, Absent(set(sys.argv[2].split(","))))
sys.path.insert(0, sys.argv[1])
"""

IMPORT_ALL = (
    ALONE
    + """
import tradewind, tradewind_agent
assert tradewind.__file__.startswith(sys.argv[1]), tradewind.__file__
of_extras = ("tradewind.learning", "tradewind_agent.service.call_traces")
names = [name for package in (tradewind, tradewind_agent) for _, name, _ in
         pkgutil.walk_packages(package.__path__, package.__name__ + ".") if not name.startswith(of_extras)]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print("\\n".join(names))
"""
)

RUN = (
    ALONE
    + """
from importlib.metadata import entry_points
(command,) = entry_points(group="console_scripts", name="tradewind")
sys.argv[:] = ["tradewind", *sys.argv[3:]]
command.load()()
"""
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of an installation: both wheels, unpacked."""
    wheels = tmp_path_factory.mktemp("wheels")
    folder = tmp_path_factory.mktemp("installed")
    for project in ("core", "clients/python"):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=ROOT / project, check=True, capture_output=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def needed(folder):
    """Distributions that the wheels declare, with all that these declare in turn."""
    found = {"tradewind-core", "tradewind-agent"}
    pending = [line for each in metadata.distributions(path=[str(folder)]) for line in each.requires or ()]
    while pending:
        line = pending.pop()
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower().replace("_", "-")
        if "extra ==" in line or name in found:
            continue
        found.add(name)
        try:
            pending.extend(metadata.requires(name) or ())
        except metadata.PackageNotFoundError:
            continue  # of another platform
    return found


def undeclared(folder):
    """Importable names of this environment that belong to other distributions alone."""
    kept = needed(folder)
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if not kept.intersection(owner.lower().replace("_", "-") for owner in owners)
    } | {"services", "workers", "benchmarks", "migrations", "tests"}


def python(code, folder, *arguments):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(folder)}
    command = [sys.executable, "-P", "-c", code, str(folder), ",".join(undeclared(folder)), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=folder)


def test_every_module_of_the_agent_imports_with_what_it_declares(installed):
    absent = undeclared(installed)
    assert {"numpy", "scipy", "fastapi", "sqlalchemy", "services"} <= absent
    assert not {"pydantic", "httpx", "httptools", "psutil", "rich", "typer", "zstandard"} & absent
    done = python(IMPORT_ALL, installed)
    assert done.returncode == 0, done.stderr
    assert {"tradewind_agent.copy.run", "tradewind_agent.cli.app", "tradewind.wire.records"} <= set(done.stdout.split())


@pytest.mark.parametrize("arguments", [["--help"], ["doctor"], ["recommend", "a", "b", "--bytes", "1GB"]])
def test_the_installed_command_runs_with_what_it_declares(installed, arguments):
    done = python(RUN, installed, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_wheels_hold_types_and_nothing_of_the_server(installed):
    assert (installed / "tradewind_agent" / "py.typed").exists()
    assert (installed / "tradewind" / "py.typed").exists()
    packages = {path.name for path in installed.iterdir() if path.is_dir() and not path.name.endswith(".dist-info")}
    assert packages == {"tradewind", "tradewind_agent"}

import re
import shutil
from pathlib import Path

import pytest

from infra.checks.requirements import DEVELOPING, PROJECTS, RUNNING, is_in_step

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path):
    for name in (*PROJECTS, RUNNING, DEVELOPING):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("project", PROJECTS)
def test_a_dependency_more_in_any_project_is_noticed(checkout, project):
    assert is_in_step(checkout)
    path = checkout / project
    path.write_text(path.read_text().replace("dependencies = [", 'dependencies = ["leftpad", ', 1))
    assert not is_in_step(checkout)


def test_other_settings_may_change(checkout):
    path = checkout / "pyproject.toml"
    path.write_text(path.read_text().replace("line-length = 120", "line-length = 100"))
    assert is_in_step(checkout)


def test_running_requirements_are_pinned_as_the_tested_ones():
    pins = {
        name: set(re.findall(r"^[\w.-]+==\S+", (ROOT / name).read_text(), re.MULTILINE))
        for name in (RUNNING, DEVELOPING)
    }
    assert pins[RUNNING] < pins[DEVELOPING]


@pytest.mark.parametrize("name", [RUNNING, DEVELOPING])
def test_requirements_name_no_index_and_pin_everything_by_hash(name):
    text = (ROOT / name).read_text()
    assert "://" not in text
    pinned = re.findall(r"^[\w.-]+==[^\n]*\\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[A-Za-z]", text, re.MULTILINE)) > 50

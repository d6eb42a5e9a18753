import re
import shutil
from pathlib import Path

import pytest

from infra.checks.requirements import PROJECTS, in_step

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    for name in (*PROJECTS, "requirements.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("project", PROJECTS)
def test_a_dependency_more_in_any_project_is_noticed(checkout, project):
    assert in_step(checkout)
    path = checkout / project
    path.write_text(path.read_text().replace("dependencies = [", 'dependencies = ["leftpad", ', 1))
    assert not in_step(checkout)


def test_other_settings_may_change(checkout):
    path = checkout / "pyproject.toml"
    path.write_text(path.read_text().replace("line-length = 120", "line-length = 100"))
    assert in_step(checkout)


def test_requirements_name_no_index_and_pin_everything_by_hash():
    text = (ROOT / "requirements.txt").read_text()
    assert "://" not in text
    pinned = re.findall(r"^[\w.-]+==[^\n]*\\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[A-Za-z]", text, re.MULTILINE)) > 50

import shutil

import pytest

from infra.checks.hosting import ROOT, find_invalid_files, find_missing_scripts

FILES = (".github", ".devcontainer", ".gitlab-ci.yml", ".pre-commit-config.yaml")


@pytest.fixture
def checkout(tmp_path):
    for name in FILES:
        source = ROOT / name
        shutil.copytree(source, tmp_path / name) if source.is_dir() else shutil.copy(source, tmp_path / name)
    return tmp_path


FLAWS = {
    ".github/workflows/ci.yml": ("runs-on", "runs-off"),
    ".github/ISSUE_TEMPLATE/bug.yml": ("type: input", "type: output"),
    ".gitlab-ci.yml": ("stage: test", "stages: test"),
    ".pre-commit-config.yaml": ("hooks:", "hook:"),
    ".devcontainer/devcontainer.json": ('"image"', '"images"'),
}


def test_each_file_that_its_reader_would_refuse_is_found(checkout):
    for name, (old, new) in FLAWS.items():
        text = (checkout / name).read_text(encoding="utf-8")
        assert old in text
        (checkout / name).write_text(text.replace(old, new), encoding="utf-8")
    (checkout / ".github/ISSUE_TEMPLATE/config.yml").unlink()
    offences = list(find_invalid_files(checkout))
    assert len(offences) == len(FLAWS) + 1
    assert [name for name in FLAWS if not any(name in offence for offence in offences)] == []
    assert "vendor.github-issue-config: no file matches .github/ISSUE_TEMPLATE/config.yml" in offences


def test_scripts_that_are_called_must_exist(checkout):
    missing = list(find_missing_scripts(checkout))
    assert ".github/workflows/ci.yml: there is no .ci/run" in missing
    assert ".github/workflows/release.yml: there is no infra/release" in missing

"""Rows are of the sources that a benchmark began with, or of none."""

import pytest

from benchmarks.support import sources
from benchmarks.support.sources import Sources, SourcesChanged

PARTS = {"engine": ("engine", "moving.py"), "link": ("link.c",)}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "jobs.py").write_text("LIMIT = 3\n")
    (tmp_path / "moving.py").write_text("SPEED = 1\n")
    (tmp_path / "link.c").write_text("int rate;\n")
    return tmp_path


def test_measurement_of_unchanged_sources_counts(project):
    began = Sources.of(PARTS)
    began.require_unchanged("engine")
    assert set(began.digests) == {"engine", "link"}
    assert began == Sources.of(PARTS)


@pytest.mark.parametrize(
    ("name", "text"), [("moving.py", "SPEED = 2\n"), ("engine/new.py", "MORE = 1\n"), ("moving.py", "def half(:\n")]
)
def test_source_change_during_a_measurement_is_reported_in_one_line(project, name, text):
    began = Sources.of(PARTS)
    (project / name).write_text(text)
    with pytest.raises(SourcesChanged, match=r"^the sources changed while they were measured; start again$"):
        began.require_unchanged("engine")
    began.require_unchanged("link")


def test_a_source_that_is_removed_meanwhile_is_a_change(project):
    began = Sources.of(PARTS)
    (project / "moving.py").unlink()
    with pytest.raises(SourcesChanged):
        began.require_unchanged("engine")


def test_a_better_wording_is_no_change(project):
    began = Sources.of(PARTS)
    (project / "moving.py").write_text("# of bytes\nSPEED = 1  # a second\n")
    (project / "link.c").write_text("// of a link\nint rate;\n")
    began.require_unchanged("engine")
    began.require_unchanged("link")

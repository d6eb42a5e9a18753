"""What FLD_TCP is compiled from: told apart and delivered whole."""

import re
import tomllib
from pathlib import Path

from tradewind_agent.transport import building

ROOT = Path(__file__).resolve().parents[4]


def included() -> set[str]:
    parts = building.find_source().parent.glob("fld_*")
    return {name for part in parts for name in re.findall(r'#include "(fld_\w+\.h)"', part.read_text(encoding="utf-8"))}


def test_a_change_of_any_part_of_the_source_is_another_version(monkeypatch, tmp_path):
    source = building.find_source()
    for part in source.parent.glob("fld_*"):
        (tmp_path / part.name).write_bytes(part.read_bytes())
    monkeypatch.setattr(building, "find_source", lambda: tmp_path / source.name)
    before = building.compute_source_digest()
    for name in included():
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"\n")
        after = building.compute_source_digest()
        assert after != before, name
        before = after


def test_the_distribution_has_every_part_of_the_source():
    project = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8"))
    delivered = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {Path(each).name for each in delivered} >= {building.SOURCE_NAME, *included()}
    assert all(Path(target).name == Path(each).name for each, target in delivered.items() if "bpf" in each)

import json
import subprocess
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def release(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "infra/release", *words], capture_output=True, text=True, check=False, timeout=300)


def test_release_has_three_wheels_and_a_bill_of_materials(tmp_path):
    done = release("--tag", f"v{VERSION}", "--output", tmp_path / "dist")
    assert (done.returncode, done.stderr) == (0, "")
    wheels = sorted(path.name.partition("-")[0] for path in (tmp_path / "dist").glob("*.whl"))
    assert wheels == ["tradewind_agent", "tradewind_core", "tradewind_server"]
    (server,) = (tmp_path / "dist").glob("tradewind_server-*.whl")
    assert {"services/app.py", "workers/tasks.py"} <= set(zipfile.ZipFile(server).namelist())
    (bill,) = (tmp_path / "dist").glob("*.cdx.json")
    names = {component["name"] for component in json.loads(bill.read_text(encoding="utf-8"))["components"]}
    assert {"fastapi", "sqlalchemy", "scipy"} <= names


def test_tag_that_is_not_the_version_is_refused(tmp_path):
    done = release("--tag", "v99.0.0", "--output", tmp_path / "dist")
    assert done.returncode == 1
    assert f".: {VERSION}" in done.stderr
    assert not (tmp_path / "dist").exists()


def test_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("keep", encoding="utf-8")
    assert release("--tag", f"v{VERSION}", "--output", tmp_path).returncode == 1
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "keep"

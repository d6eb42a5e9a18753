"""The notebooks run from their first cell to their last, against a service with the sample in it.

Each has a key with the scopes that it asks for in its first cell, and no other.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.support.report import ROOT
from tests.e2e.test_sample import Served, sample

if TYPE_CHECKING:
    import nbformat

__all__ = ["sample"]

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PATIENCE_S = 300


def read_required_scopes(notebook: "nbformat.NotebookNode") -> Sequence[str]:
    stated = re.search(r"`TRADEWIND_KEY` \(scopes? ([^)]+)\)", notebook.cells[0].source)
    assert stated is not None, "the notebook does not tell which scopes its key needs"
    return re.findall(r"`(\w+)`", stated[1])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, sample: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    # They load jsonschema, which takes 3 s of a processor, in each process that collects tests.
    import nbformat  # noqa: PLC0415
    from nbclient import NotebookClient  # noqa: PLC0415

    monkeypatch.setenv("TRADEWIND_URL", sample.address)
    notebook = nbformat.read(path, as_version=4)
    with sample.client() as client:
        made = client.post(
            "/v1/keys", json={"name": path.stem, "scopes": read_required_scopes(notebook)}
        ).raise_for_status()
    monkeypatch.setenv("TRADEWIND_KEY", made.json()["secret"])
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    NotebookClient(notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(ROOT)}}).execute()

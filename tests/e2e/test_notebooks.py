"""The notebooks run from their first cell to their last, against a service with the sample in it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from benchmarks.report import ROOT
from tests.e2e.test_sample import Served, sample

__all__ = ["sample"]

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PATIENCE_S = 300


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, sample: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRADEWIND_URL", sample.address)
    monkeypatch.setenv("TRADEWIND_KEY", sample.key)
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(ROOT)}}).execute()

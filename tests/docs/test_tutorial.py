"""The notebook runs from top to bottom against a running monitor, and finds what it promises."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
pytest.importorskip("ipykernel", reason="needs ipykernel")

NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def _outputs(notebook: Any) -> str:
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


@pytest.mark.filterwarnings("default")  # jupyter's own, about sockets and event loops
def test_the_notebook_finds_the_bad_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)

    nbclient.NotebookClient(notebook, timeout=110, kernel_name="python3").execute()

    scored = notebook.cells[6]["outputs"][0]["data"]["text/plain"].splitlines()[2:]
    means = {row.split()[0]: float(row.split()[2]) for row in scored}
    assert means["1.1"] < means["1.0"] - 0.3
    assert "the number is invented" in _outputs(notebook)


def test_the_stored_notebook_shows_its_outputs_and_no_errors() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell["outputs"]]

    assert len(code) >= 6
    assert all(o.output_type != "error" for cell in code for o in cell["outputs"])
    nbformat.validate(notebook)

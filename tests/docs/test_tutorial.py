"""The notebook runs from top to bottom against a running monitor, and finds what it promises."""

from __future__ import annotations

import json
import os
import re
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


def _judges(notebook: Any) -> set[str]:
    """The judges that scored, as a frame shows them."""
    return set(re.findall(r"\bembedded\S*/\S+", _outputs(notebook)))


def _write_back(executed: Any) -> None:
    """Keep what the cells gave; what the kernel says of itself stays out of the file."""
    stored = json.loads(NOTEBOOK.read_text("utf-8"))
    ran = json.loads(nbformat.writes(executed))
    for cell, run in zip(stored["cells"], ran["cells"], strict=True):
        cell.update({name: run[name] for name in ("execution_count", "outputs") if name in run})
    NOTEBOOK.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n", "utf-8")


@pytest.mark.filterwarnings("default")  # jupyter's own, about sockets and event loops
def test_the_notebook_finds_the_bad_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    judges = _judges(notebook)

    nbclient.NotebookClient(
        notebook, timeout=110, kernel_name="python3", record_timing=False
    ).execute()
    if os.environ.get("UPDATE_PAGES"):
        _write_back(notebook)
        judges = _judges(notebook)

    scored = notebook.cells[6]["outputs"][0]["data"]["text/plain"].splitlines()[2:]
    means = {row.split()[0]: float(row.split()[2]) for row in scored}
    assert means["1.1"] < means["1.0"] - 0.3
    assert "the number is invented" in _outputs(notebook)
    assert judges == _judges(notebook), (
        "the stored outputs are of another judge: run this test again with UPDATE_PAGES=1"
    )


def test_the_stored_notebook_shows_its_outputs_and_no_errors() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell["outputs"]]

    assert len(code) >= 6
    assert all(o.output_type != "error" for cell in code for o in cell["outputs"])
    nbformat.validate(notebook)

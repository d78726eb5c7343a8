"""The notebooks run from their first cell to their last, and are stored without what their cells gave."""

import json

import pytest

from app.guide import data

NOTEBOOKS = sorted(data.FOLDER.glob("*.ipynb"))


def cells(path):
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    names: dict[str, object] = {}
    for cell in cells(path):
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
    SHOWN[path.stem](names)


def compared(names):
    verdict = names["agreement"].verdict("loss, one step", "loss, local response")
    assert verdict.differs == {"P", "T"} and names["agreement"].tau("loss, one step", "first order") > 0.9
    assert {link.causes for link in names["explanation"].links} == {("B",), ("P",), ("T",)}


def mislabelled(names):
    """Most of the first thirty are wrong, and without any of the first ten the trusted labels are likelier."""
    assert sum(row in names["wrong"] for row in names["order"][:30]) >= 20
    assert (names["exact"].oriented.mean(0) < 0).all()


SHOWN = {"compare-specifications": compared, "mislabelled-examples": mislabelled}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))

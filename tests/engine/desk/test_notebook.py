"""A comparison as a notebook: its cells run, and give the scores of the comparison."""

import json

import numpy as np
import pytest

from engine.desk.notebook import notebook
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = ProblemSource(dataset="digits", n_train=40, n_queries=3, n_candidates=6)
STEP = {"intervention": {"kind": "add_occurrence"}, "process": {"kind": "one_step", "eta": 0.1}}
SCORINGS = [Scoring.parse({"behavior": "query_loss", **STEP}), Scoring.parse({"behavior": "hard_margin", **STEP}),
            Scoring.parse({"estimator": "random"})]
LABELS = ["loss", "it's a \"margin\"", "chance"]


def written(**more):
    return json.loads(notebook(**{"name": "Two *steps*", "sources": [SOURCE, SOURCE.model_copy(update={"seed": 1})],
                                  "labels": LABELS, "scorings": SCORINGS, "pair": (0, 1), **more}))


def test_the_cells_compute_the_comparison_again(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    names: dict[str, object] = {}
    for cell in written()["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "a cell", "exec"), names)
    assert [list(one) for one in names["scores"]] == [LABELS, LABELS] and len(names["agreements"]) == 2
    for seed, own in enumerate(names["scores"]):
        expected = compute(SOURCE.model_copy(update={"seed": seed}).build().problem, SCORINGS)
        for label, one in zip(LABELS, expected, strict=True):
            np.testing.assert_array_equal(own[label].values, one.values)
    assert {link.causes for link in names["explanation"].links} == {("B",)}


def test_it_is_a_notebook_of_format_4_5_without_outputs():
    made = written(link="http://localhost:8501/compare?a=1")
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5) and set(made["metadata"]) == {
        "kernelspec", "language_info"}
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    for cell in made["cells"]:
        more = {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"id", "cell_type", "metadata", "source"} | more and not cell.get("outputs")
    text = "".join(made["cells"][0]["source"])
    assert "Two \\*steps\\*" in text and "<http://localhost:8501/compare?a=1>" in text


@pytest.mark.parametrize("pair", [(0, 0), (0, 2)])
def test_a_pair_without_an_explanation_has_none(pair):
    assert "wf.explain" not in json.dumps(written(pair=pair))

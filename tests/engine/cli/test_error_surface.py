"""`error-surface` writes what Python says."""

import pandas as pd
import pytest

from engine.analysis.error_surfaces import surface_row
from engine.cli import main
from engine.metrics.agreement import summarize


def test_error_surface_writes_a_row_for_each_point(problem):
    assert main(["error-surface", "--data", "problem.npz", "--l2", "0.01", "--out", "surface.csv"]) == 0
    table = pd.read_csv("surface.csv")
    assert len(table) == 10 * 6 * 3
    at = table[(table["η"] == 0.5) & (table.steps == 5) & (table.metric == "kendall_tau")]
    expected = summarize([surface_row(problem, "steps", "query_loss", 0.5)["kendall_tau"][3]], "queries")
    assert at["mean"].item() == pytest.approx(expected.mean) and at.ci95.item() == pytest.approx(expected.ci95)


@pytest.mark.parametrize("options, why", [(["--surface", "flat"], "flat"), (["--behavior", "correct"], "no gradient")])
def test_error_surface_refuses_in_one_sentence(problem, options, why, capsys, tmp_path):
    assert main(["error-surface", "--data", "problem.npz", *options, "--out", "surface.csv"]) == 2
    assert why in capsys.readouterr().err and not (tmp_path / "surface.csv").exists()

"""The authors' stored numbers beside those that the paper prints, and tables of ours by the paper's names."""

import numpy as np
import pandas as pd
import pytest

from engine.experiments import EXPERIMENTS, publish
from engine.experiments.conventions import AS_AUTHORS, AS_PAPER
from engine.experiments.paper_numbers import FILES, FLAG, ORIGIN, PRINTED, STORED, cells, in_paper_names
from engine.experiments.publish import PAPER, read_table


@pytest.mark.parametrize("name", [name for name in FILES if EXPERIMENTS[name].paper_table])
def test_the_files_round_to_what_the_paper_prints(name):
    printed, known = read_table(PAPER / EXPERIMENTS[name].paper_table), cells(EXPERIMENTS[name])
    known = known[known[ORIGIN] == PRINTED]
    assert len(known) == len(printed)
    for column in ("mean", "spread"):
        np.testing.assert_allclose(known[column], printed[column], atol=5.1e-4)
    assert (known["mean"].to_numpy() != printed["mean"].to_numpy()).any()  # some have more digits


def test_what_the_paper_leaves_out_or_only_draws_comes_from_the_files():
    of = {name: cells(EXPERIMENTS[name]) for name in FILES}
    left_out = of["table-a7"][of["table-a7"][ORIGIN] == STORED]
    assert set(left_out["parameter"]) == {"alpha=0.00001"} and set(left_out["comparison"]) == {
        "upweighting vs. local LOO"}
    curve = of["figure-a2"][of["figure-a2"]["parameter"].str.startswith("alpha")
                            & (of["figure-a2"]["metric"] == "Kendall tau")]
    assert curve["mean"].is_monotonic_increasing and list(curve["mean"].round(3)) == [0.012, 0.070, 0.074]
    assert len(of["figure-5-1"]) == 36
    logit = of["figure-5-2"].query("model == 'Qwen3-8B' and method == 'GradSim' and behavior == 'Answer logit' "
                                   "and corruption == 'answer' and metric == 'AUPRC'")
    assert logit["mean"].tolist() == [0.779436] and logit["spread"].tolist() == [0.024124]


@pytest.mark.parametrize("name", ["figure-4", "figure-5-1", "table-a6"])
def test_every_cell_of_the_papers_scale_has_one_row_of_ours(name):
    table, _ = publish.published(name, "paper")
    known = cells(EXPERIMENTS[name])
    joined = publish.comparison_with_paper(table, known, EXPERIMENTS[name].tolerance)
    assert len(joined) == len(known)
    assert joined.loc[joined["metric"] == "Kendall tau", "ours"].notna().all()


def table(rows):
    return pd.DataFrame(rows, columns=["behavior", "metric", "mean", "seed_means"])


def test_the_authors_log_probability_is_what_the_paper_calls_a_logit():
    ours = table([("Answer logit", "AUPRC", 0.1, "0.1"), ("Answer margin", "AUPRC", 0.2, "0.2"),
                  ("Answer log-probability", "AUPRC", 0.3, "0.3")])
    assert in_paper_names(ours, AS_PAPER).equals(ours)
    named = in_paper_names(ours, AS_AUTHORS)
    assert named["behavior"].tolist() == ["Answer margin", "Answer logit"] and named["mean"].tolist() == [0.2, 0.3]


def test_a_pooled_row_stands_for_a_cell_that_is_pooled():
    ours = table([("b", "Kendall tau", 0.1, "0.1"), ("b", "Kendall tau (pooled)", 0.2, "0.2"),
                  ("c", "Kendall tau", 0.3, "0.3"), ("c", "Kendall tau (pooled)", 0.4, "0.4")])
    known = pd.DataFrame({"behavior": ["b", "c"], "metric": "Kendall tau", "mean": 0.0, "spread": 0.0,
                          FLAG: [True, False]})
    named = in_paper_names(ours, AS_AUTHORS, known)
    assert sorted(named[["behavior", "metric", "mean"]].itertuples(index=False, name=None)) == [
        ("b", "Kendall tau", 0.2), ("c", "Kendall tau", 0.3)]

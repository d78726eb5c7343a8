"""The paper's names in three readings, and their agreement on one model."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.analysis.over_seeds import agreeing
from engine.experiments import EXPERIMENTS, name_audit, paper_names
from engine.experiments.name_audit import SHARE, TAU, WHOLE
from engine.experiments.paper_names import CODE, LANGUAGE, LITERATURE, NAMES, READINGS, TEXT, Meaning
from engine.jobs import run_job

CONVEX = {"dataset": "digits", "n_train": 60, "n_queries": 5, "n_candidates": 20, "l2": 0.01}
NETWORK = {**CONVEX, "model": "mlp", "recipe": {"epochs": 3, "batch_size": 20, "learning_rate": 0.05, "checkpoints": 3}}


def test_every_name_has_three_readings_with_a_source():
    assert {name.title for name in NAMES.values()} >= {
        "TracIn", "TRAK", "LESS", "RepSim", "NTK", "Answer logit", "Influence function", "GradSim", "LOO",
        "Signal-augmented RepSim"}
    for name in NAMES.values():
        assert list(name.meanings) == list(READINGS) == [LITERATURE, TEXT, CODE]
        for meaning in name.meanings.values():
            assert all((meaning.formula, meaning.behavior, meaning.intervention, meaning.process, meaning.source))


def test_what_this_program_does_not_have_has_no_scoring():
    own = Meaning("f", "b", "p", "t", "s", "gradsim")
    read = {kind: own.scoring(kind).behavior for kind in (LANGUAGE, paper_names.NETWORK)}
    assert read == {LANGUAGE: "response_loss", paper_names.NETWORK: "query_loss"}
    for other in (Meaning("f", "b", "p", "t", "s"), Meaning("f", "b", "p", "t", "s", "no_such_method"),
                  Meaning("f", "b", "p", "t", "s", "gradsim", "no_such_behavior"),
                  Meaning("f", "b", "p", "t", "s", "gradsim", fields={"no_such_field": 1})):
        assert other.scoring(LANGUAGE) is None


def test_equal_readings_are_no_pair():
    assert NAMES["gradsim"].pairs == {}
    assert list(NAMES["ntk"].pairs)[0] == (LITERATURE, TEXT)
    for name in NAMES.values():
        assert all(first != second for first, second in name.pairs.values())


def test_agreement_is_the_mean_tau_of_the_queries():
    first, second = np.random.default_rng(0).normal(size=(2, 4, 15))
    expected = np.mean([kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)])
    assert agreeing(first, second) == pytest.approx(expected)


def test_readings_are_compared_on_one_model_and_fractions_sum_to_one(tmp_path, monkeypatch):
    """NTK of a network, and the influence function of softmax regression."""
    monkeypatch.setattr(name_audit, "audited", lambda: ["ntk", "influence-function"])
    payload = {"study": name_audit.STUDY.name, "preset": "small", "seeds": [0, 1], "contents": {},
               "settings": {"numerics": 1, "sources": [NETWORK, CONVEX]}}
    table = run_job(name_audit.STUDY.name, payload, tmp_path).table("audit")
    assert set(table["name"]) == {"NTK", "Influence function"}
    for _, own in table.groupby(["name", "readings"]):
        assert len(own[(own["link"] == WHOLE) & (own["metric"] == TAU)]) == 1
        assert own.loc[own["metric"] == SHARE, "mean"].sum() == pytest.approx(1)
    damping = table[(table["name"] == "Influence function") & (table["metric"] == SHARE)]
    assert damping["link"].tolist() == ["the training process"]
    assert EXPERIMENTS["paper-names"].view({"audit": table}).equals(table)

"""The published leaderboard: means over the boards of several seeds."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.leaderboard.board import KEYS
from engine.experiments import leaderboards
from engine.experiments.contents import contents
from engine.jobs import run_job
from engine.problems import ProblemSource
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = {"dataset": "digits", "n_train": 30, "n_queries": 3, "n_candidates": 10}


def test_a_cell_is_the_mean_over_seeds(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    settings = {"numerics": 1, "source": SOURCE, "damping": 0.01, "methods": ["gradsim", "random"], "sizes": {
        **leaderboards.SMALL.model_dump(mode="json"), "candidates": 10, "models": 3}}
    payload = {"study": leaderboards.STUDY.name, "preset": "tiny", "seeds": [0, 1], "settings": settings,
               "contents": contents(settings)}
    result = run_job(leaderboards.STUDY.name, payload, tmp_path)
    table = result.table("board")
    assert not table.duplicated(KEYS).any() and set(table["n_seeds"]) == {2}
    row = table[(table["method"] == "gradsim") & (table["column"] == "lds")].iloc[0]
    expected = []
    for seed in (0, 1):
        request = leaderboards.request_of(payload, seed)
        board = request.run(ProblemSource.parse({**SOURCE, "seed": seed}).build().problem).board
        expected.append(board[(board["method"] == "gradsim") & (board["column"] == "lds")]["mean"].iloc[0])
    assert [float(one) for one in row["seed_means"].split()] == pytest.approx(expected, abs=1e-6)
    assert row["mean"] == pytest.approx(np.mean(expected)) and row["n_queries"] == 3
    assert [run["seed"] for run in result.manifest["runs"]] == [0, 1]


def test_a_reason_of_one_seed_is_kept_and_a_missing_value_counts_for_no_mean():
    keys = dict.fromkeys(KEYS, "") | {"own": False}
    first, second = ({**keys, "mean": mean, "ci95": 0.1, "n_queries": 4, "n_dropped": 0, "ci95_subsets": np.nan,
                      "note": note} for mean, note in ((np.nan, "why"), (0.5, "")))
    [row] = leaderboards.over_seeds([pd.DataFrame([first]), pd.DataFrame([second])]).to_dict("records")
    assert row["mean"] == 0.5 and row["note"] == "why" and np.isnan(row["ci95_subsets"])


def test_of_a_single_seed_the_interval_is_that_over_its_queries():
    keys = dict.fromkeys(KEYS, "") | {"own": False}
    cell = {**keys, "mean": 0.5, "ci95": 0.1, "n_queries": 4, "n_dropped": 0, "ci95_subsets": np.nan, "note": ""}
    [alone] = leaderboards.over_seeds([pd.DataFrame([cell])]).to_dict("records")
    [two] = leaderboards.over_seeds([pd.DataFrame([cell]), pd.DataFrame([{**cell, "mean": 0.7}])]).to_dict("records")
    assert (alone["ci95"], alone["n_seeds"], two["ci95_queries"]) == (0.1, 1, 0.1)
    assert two["ci95"] == pytest.approx(12.706 * 0.1, rel=1e-4)


@pytest.mark.parametrize("preset", leaderboards.PRESETS.values(), ids=lambda preset: preset.name)
def test_presets_hold_every_method_that_answers_or_those_that_they_name(preset):
    payload = leaderboards.LEADERBOARD.payload(preset.name)
    kind = ProblemSource.parse(preset.settings["source"]).problem_class
    names = {key.rpartition("/")[2] for key in leaderboards.plan(payload) if "/method/" in key}
    answering = set(leaderboards.answering(kind))
    assert names == set(preset.settings.get("methods", answering)) <= answering
    assert f"{preset.settings['source']['n_train']:,}" in preset.title

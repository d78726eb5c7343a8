"""`attribute` and `attribute-record`: scores of each query, a chosen ranking, and parts that add up to the score."""

import json
from pathlib import Path

import pandas as pd
import pytest

from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.cli.language_run import LanguageRun, read_run
from engine.models.causal import stored_trainings
from tests.engine.cli.commands import one_line

RUN = {"task": {"name": "response_corruption", "seed": 0, "clean": 4, "answer": 2, "rationale": 2, "validation": 2},
       "recipe": {"epochs": 1, "checkpoints": 1, "batch": 4, "context": 200, "rank": 2},
       "projection": {"projector": "identity"}}


@pytest.fixture
def run(own_questions, model_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return json.dumps({**RUN, "model": str(model_folder)})


def test_scores_of_each_query_have_the_means_as_their_average_and_parts_add_up(run, capsys):
    assert main(["attribute", "--run", run, "--out", "records.csv", "--by-query", "queries.csv", "--method", "gradsim",
                 "--behavior", "response_loss", "--query", "1"]) == 0
    shown = capsys.readouterr().out
    assert not stored_trainings.caches()
    assert "support query 1 most by gradsim|response_loss" in shown
    records, queries = pd.read_csv("records.csv"), pd.read_csv("queries.csv")
    column = "gradsim|response_loss"
    assert len(queries) == 2 * len(records)
    means = queries.groupby("record")[column].mean()
    assert means.tolist() == pytest.approx(records[column].tolist(), rel=1e-3, abs=1e-9)
    own = queries[queries["query"] == 1].set_index("record")[column]
    assert main(["attribute", "--run", run, "--out", "again.csv", "--query", "0", "--keep-gradients"]) == 0
    best = records["id"][own.idxmax()]
    assert str(best) in shown.partition("support query 1")[2].splitlines()[2]
    assert main(["attribute-record", "--run", run, "--record", "3", "--query", "1", "--out", "tokens.csv", "--modules",
                 "modules.csv", "--query-tokens", "query.csv"]) == 0
    for file in ("tokens.csv", "modules.csv", "query.csv"):
        table = pd.read_csv(file, keep_default_na=False)
        part = table[(table["estimator"] == "gradsim") & (table["behavior"] == "response_loss")]
        assert part["contribution"].sum() == pytest.approx(own[3], rel=2e-3, abs=1e-8), file


def test_options_say_the_run_that_its_json_says(tmp_path):
    by_json = read_run(json.dumps({
        "model": "m", "seed": 3, "recipe": {"epochs": 2}, "task": {
            "name": "own", "train": "a.jsonl", "held": 4, "turns": "every", "mark": {"answer": "is (.)"}}}))
    by_options = LanguageRun(model="m", train=Path("a.jsonl"), held=4, turns="every", answer_pattern="is (.)", seed=3,
                             recipe='{"epochs": 2}')
    assert by_options.request.payload == by_json.payload
    everything = LanguageRun(model="m", train=Path("a.jsonl"), queries=Path("b.jsonl")).request
    assert everything.setting.task == {"name": "own", "train": "a.jsonl", "queries": "b.jsonl"}


@pytest.mark.parametrize(("options", "sentence"), [
    ({"model": "m"}, "A run needs --model and --train"),
    ({"run": "{}", "held": 3}, "--run specifies the whole run"),
    ({"model": "m", "train": Path("a"), "queries": Path("b"), "held": 3}, "give one of them"),
    ({"model": "m", "train": Path("a"), "recipe": "{epochs"}, "--recipe is")])
def test_options_that_say_no_run_or_two_are_refused(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        _ = LanguageRun(**options).request


@pytest.mark.parametrize(("options", "sentence"), [
    (["attribute", "--method", "tracin2"], "did you mean `tracin`?"),
    (["attribute-record", "--record", "0", "--query-tokens", "q.csv"], "name the query (--query)")])
def test_what_names_nothing_is_refused_before_anything_runs(run, options, sentence, capsys):
    assert main([options[0], "--run", run, "--out", "records.csv", *options[1:]]) == 2
    assert sentence in one_line(capsys)


def test_modules_that_are_not_there_and_rows_beyond_the_end_are_refused(run, capsys):
    wrong = json.dumps({**json.loads(run), "modules": ["layers.0"]})
    assert main(["attribute", "--run", wrong, "--out", "records.csv"]) == 2
    assert "the nearest are `model.layers.0`" in capsys.readouterr().err
    assert main(["attribute-record", "--run", run, "--record", "99", "--out", "t.csv"]) == 2
    assert "There is no record 99; choose one of 0 to 7." in capsys.readouterr().err

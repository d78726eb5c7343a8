"""What the Paper page reads: published files, checked; else this machine's own run; beside the paper's table."""

import json

import pandas as pd
import pytest

from app.paper import notes as paper_notes
from app.paper import rows as paper_rows
from app.widgets.jobs import reproductions
from engine.basics.errors import StoreError
from engine.desk import published
from engine.experiments import EXPERIMENTS, publish
from engine.jobs import job_digest
from engine.store.results import Store

A6 = EXPERIMENTS["table-a6"]


@pytest.fixture
def results(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    monkeypatch.setenv(published.FOLDER, str(folder))
    return folder


def study_table(shift=0.0):
    """The study's Table A-6 with the paper's values, moved by `shift`."""
    table = publish.read_table(publish.PAPER / A6.paper_table).rename(columns={"spread": "ci95"})
    return table.assign(mean=table["mean"] + shift, dataset="fashion_mnist", n_seeds=3, n_queries=1000, n_dropped=0,
                        seed_means="0.5 0.5 0.5")


def stored(preset="paper", shift=0.01, root=None, **more):
    """A finished run in the store, as the worker leaves it."""
    payload = A6.payload(preset)
    figure = study_table(shift).assign(curve="", behavior="query_loss")
    curve = figure[figure["comparison"] == figure["comparison"].iloc[0]].assign(
        curve="eta", axis="approximation", comparison="first-order vs. exact one-step", parameter="eta=0.1")
    figure = pd.concat([figure, curve], ignore_index=True)
    facts = {"kind": A6.study, "payload": payload, "seeds": payload["seeds"], "device": "a test", "wall_seconds": 100.0,
             "runs": [{"factual": {"gradient_norm": 1e-13, "test_accuracy": 0.8},
                       "convergence": {"flagged": 2, "largest_gradient_norm": 1e-11}}], **more}
    return Store(root).write(job_digest(A6.study, payload), facts, {"table_a6": study_table(shift), "figure_4": figure})


def test_nothing_there_is_none(results):
    assert published.reproduction("table-a6", "paper") is None
    assert published.results("table-a6", "paper") is None


def test_published_files_are_read_with_their_manifest(results):
    publish.publish(A6, stored(), "paper", results)
    found = published.reproduction("table-a6", "paper")
    assert not found.here and len(found.table) == 30 and found.manifest["preset"] == "paper"
    assert published.results("table-a6", "paper") is found.table


def test_an_altered_table_is_refused_with_a_sentence(results):
    folder = publish.publish(A6, stored(), "paper", results)
    (folder / "results.csv").write_text((folder / "results.csv").read_text().replace("0.757", "0.999"))
    with pytest.raises(StoreError, match="do not match their manifest"):
        published.reproduction("table-a6", "paper")


def test_a_new_publication_replaces_the_one_in_memory(results):
    folder = publish.publish(A6, stored(), "paper", results)
    before = published.results("table-a6", "paper")["mean"]
    Store().delete(job_digest(A6.study, A6.payload("paper")))
    publish.publish(A6, stored(shift=0.02), "paper", results)
    assert folder.exists() and (published.results("table-a6", "paper")["mean"] - before).max() == pytest.approx(0.01)


def test_this_machines_own_run_stands_in_for_a_published_one(results):
    stored()
    found = published.reproduction("table-a6", "paper")
    assert found.here and found.manifest["command"].endswith("reproduce table-a6 --preset paper")
    assert json.dumps(found.manifest)


def test_without_results_the_paper_stands_alone():
    joined = published.with_paper(A6, None)
    assert len(joined) == 30 and joined["ours"].isna().all() and joined["paper"].notna().all()


def test_every_cell_is_judged_by_its_tolerance():
    joined = published.with_paper(A6, study_table(0.03))
    rows = {measure: paper_rows.rows_of(joined, measure, True) for measure in paper_rows.measures(joined)}
    assert paper_rows.tally(rows["Kendall tau"]) == paper_rows.Tally(10, 10, 0)
    assert paper_rows.tally(rows["Top-5% overlap"]) == paper_rows.Tally(10, 0, 0)
    assert paper_rows.tally(rows["Sign agreement"]) == paper_rows.Tally(5, 5, 0)
    unjudged = paper_rows.rows_of(joined, "Kendall tau", False)
    assert paper_rows.tally(unjudged) == paper_rows.Tally(0, 0, 0)


def test_labels_say_what_a_row_is():
    rows = paper_rows.rows_of(published.with_paper(A6, study_table()), "Kendall tau", True)
    assert "upweighting vs. exact LOO|α = 0.001" in list(rows["label"])
    assert rows["label"].is_unique


def test_curves_carry_their_seed_points():
    table = pd.DataFrame([{"curve": "eta", "dataset": "digits", "metric": "Kendall tau", "parameter": "eta=0.5",
                           "behavior": "query_loss", "mean": 0.9, "ci95": 0.1, "n_seeds": 2,
                           "seed_means": "0.850000 0.950000"}])
    means, seeds = paper_rows.curve(table, "eta", "Kendall tau", "digits")
    assert means.loc[0, ["series", "x", "low", "high"]].tolist() == ["query loss", 0.5, 0.8, 1.0]
    assert seeds["mean"].tolist() == [0.85, 0.95] and seeds["seed"].tolist() == [0, 1]
    assert all(frame.empty for frame in paper_rows.curve(table, "alpha", "Kendall tau", "digits"))


def test_notes_stand_beside_the_cells_that_they_concern():
    joined = published.with_paper(A6, None)
    rows = paper_rows.rows_of(joined, "Sign agreement", False).to_dict("records")
    notes, numbers = paper_notes.of_rows("table-a6", rows)
    cited = {row["comparison"]: [notes[number - 1] for number in cited]
             for row, cited in zip(rows, numbers, strict=True)}
    assert any("n−1" in text for text in cited["upweighting vs. exact LOO"])
    assert any("five values of α" in text for text in cited["upweighting vs. exact LOO"])
    assert any("damped by 0.01" in text for text in cited["one-step vs. inverse-Hessian"])
    assert any("Proposition 1" in text for text in cited["query loss vs. soft margin"])
    assert cited["query loss vs. hard margin"] == []
    assert any("over all pairs" in text for text in cited["one-step vs. five-step"])
    tau = paper_rows.rows_of(joined, "Kendall tau", False).to_dict("records")
    assert not any("n−1" in text for text in paper_notes.of_rows("table-a6", tau)[0])


def test_what_a_run_takes_is_guessed_then_measured(results):
    guess = reproductions.cost("table-a6", "paper")
    assert " to " in guess.text and 300 < guess.seconds < 72_000
    stored()
    assert reproductions.cost("table-a6", "paper").text == "it took 2 min on a test"
    stored("small", found_fraction=0.6)
    assert reproductions.cost("table-a6", "small").text == "it took 2 min on a test, with 60% of the work cached"


def test_a_run_takes_its_trainings_too_where_another_run_left_them(monkeypatch):
    monkeypatch.setenv(published.FOLDER, str(publish.RESULTS))
    told = publish.stored_manifest("table-a11", "desk", publish.RESULTS)
    trainings = sum(run["facts"]["training_seconds"] for run in told["runs"])
    assert reproductions.cost("table-a11", "desk").seconds == trainings > 3 * told["wall_seconds"]
    assert reproductions.cost("table-5-2", "desk").seconds > 1.5 * 3600


def test_starting_twice_is_one_run_and_resumes_a_cancelled_one(results, monkeypatch):
    from app.widgets.jobs.desk import desk

    first = reproductions.start("table-a6", "small")
    assert reproductions.start("figure-4", "small").id == first.id
    assert first.title == "Table A-6 and Figure 4-1 · small"
    desk().jobs.queue.request_cancel(first.id)
    assert reproductions.start("table-a6", "small").state == "queued"

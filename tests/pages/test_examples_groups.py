"""*Group influence* on the Examples page: the group, its effect, and the curve of the rankings."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from app.widgets.jobs.desk import desk
from engine.analysis.groups import group_effect
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.scoring import codes, controlled
from engine.scoring.scoring import Scoring
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
STEP = controlled.step_scoring("query_loss", 0.1)
SOURCE = ProblemSource(dataset="digits", n_train=60, n_queries=20, n_candidates=8)
ASKED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})


def page(**more):
    return sound(open("examples", s=[codes.encode(STEP)], whatif=1, **{**SMALL, **more}))


@pytest.fixture
def submitted(monkeypatch):
    """What was asked for, instead of a worker."""
    asked = []
    monkeypatch.setattr(type(desk()), "start", lambda self, request: asked.append(
        (request.name, request.payload)))
    return asked


def button(at, kind):
    return next(one for one in at.button if (one.key or "").startswith(f"start:{kind}"))


def test_the_top_of_a_ranking_is_asked_for_and_shown(submitted):
    at = page(grouptop=3)
    assert says(at, "Remove the top k of each ranking")
    button(at, "group-effect").click().run()
    [(kind, payload)] = submitted
    assert kind == "group-effect" and len(payload["rows"]) == 3 and payload["scorings"] == [ASKED.canonical()]
    run_job(kind, payload, desk().jobs.root)
    at = page(grouptop=3)
    problem = ProblemSource.parse(payload["source"]).build().problem
    found = group_effect(problem, ASKED, payload["rows"])
    assert [one.label for one in at.metric] == ["All at once", "Sum of single effects", "Additivity gap"]
    assert float(at.metric[0].value.replace("−", "-")) == pytest.approx(found.whole[0], rel=0.02)
    assert says(at, "of the group's effect on average") and says(at, "--examples")


def test_ticked_examples_stand_in_the_address(submitted):
    at = page(groupof="ticked")
    assert says(at, "Select at least one example")
    pills = next(one for one in at.pills if one.label == "Shown above")
    rows = [int(text.split(":")[0]) for text in pills.options[:2]]
    pills.set_value(rows).run()
    assert at.query_params["ticked"] == [str(row) for row in rows]
    button(sound(at), "group-effect").click().run()
    assert submitted[0][1]["rows"] == sorted(rows)


@pytest.mark.parametrize(("act", "kind"), [("double", "upweight"), ("step", "add_occurrence")])
def test_what_is_done_to_them(submitted, act, kind):
    button(page(groupdone=act), "group-effect").click().run()
    assert submitted[0][1]["scorings"][0]["intervention"]["kind"] == kind


def test_all_of_them_are_given_one_label(submitted):
    at = page(groupdone="relabel", grouplabel="3", grouptop=2)
    button(at, "group-effect").click().run()
    [(kind, payload)] = submitted
    assert payload["scorings"][0]["intervention"] == {"kind": "relabel", "label": 3}
    run_job(kind, payload, desk().jobs.root)
    problem, asked = SOURCE.build().problem, Scoring.of("query_loss", {"kind": "relabel", "label": 3},
                                                        {"kind": "retrain"})
    fitted = [LogisticRegression(C=1 / (problem.n * problem.l2), fit_intercept=False, tol=1e-10, max_iter=5_000).fit(
        problem.x.numpy(), y) for y in (problem.y.numpy(), np.where(np.isin(np.arange(problem.n), payload["rows"]), 3,
                                                                    problem.y.numpy()))]
    losses = [one.predict_log_proba(problem.queries.numpy())[np.arange(20), problem.query_labels.numpy()]
              for one in fitted]
    found = group_effect(problem, asked, payload["rows"])
    np.testing.assert_allclose(found.whole, losses[1] - losses[0], rtol=1e-3, atol=1e-4)
    at = page(groupdone="relabel", grouplabel="3", grouptop=2)
    assert float(at.metric[0].value.replace("−", "-")) == pytest.approx(found.whole[0], rel=0.02)


def test_the_curve(submitted):
    at = page(train=60, candidates=60)
    button(at, "removal-curve").click().run()
    [(kind, payload)] = submitted
    run_job(kind, payload, desk().jobs.root)
    at = page(train=60, candidates=60)
    assert says(at, "10 random groups of each size") and says(at, "removal-curve-specs.json")


def test_the_group_that_is_selected_on_all_pages(submitted):
    assert says(page(groupof="selected"), "Nothing is selected")
    at = page(groupof="selected", group="3-5,9")
    button(at, "group-effect").click().run()
    assert submitted[0][1]["rows"] == [3, 4, 5, 9]


def test_a_large_group_is_trained_without_once(submitted):
    chosen = {"groupof": "selected", "group": "0-54"}
    button(page(**chosen), "group-effect").click().run()
    [(kind, payload)] = submitted
    assert payload["singles"] is False
    run_job(kind, payload, desk().jobs.root)
    at = page(**chosen)
    assert [one.label for one in at.metric] == ["All at once"]
    assert says(at, "--whole-only") and says(at, "and most at query")
    whole = at.metric[0].value
    button(at, "group-effect").click().run()
    kind, payload = submitted[1]
    assert "singles" not in payload
    run_job(kind, payload, desk().jobs.root)
    at = page(**chosen)
    assert [one.label for one in at.metric] == ["All at once", "Sum of single effects", "Additivity gap"]
    assert at.metric[0].value == whole and not says(at, "--whole-only")


def test_a_class_or_another_filter(submitted):
    at = page(groupof="where")
    labels = SOURCE.build().sample.y_train
    assert says(at, f"{(labels == 0).sum()} of 60 training examples")
    at.text_input(key="choice:groupwhere").set_value("label = 3 | 5").run()
    assert "label = 3 | 5" in at.query_params["groupwhere"]
    button(sound(at), "group-effect").click().run()
    assert submitted[0][1]["rows"] == np.flatnonzero(np.isin(labels, (3, 5))).tolist()
    assert says(page(groupof="where", groupwhere="label = x"), "No training example has")
    assert says(page(groupof="where", groupwhere="0-59"), "contains all 60 training examples")

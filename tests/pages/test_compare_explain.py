"""The Compare page explains its pair as the engine does."""

from types import SimpleNamespace

import pytest

from app.compare import explanation as explanation_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.analysis.explanation import LEAST_SLACK, explain
from engine.analysis.protocols import PROTOCOLS
from engine.basics.errors import InvalidInput
from engine.desk import Desk, Waiting
from engine.desk.presets import CONVEX as PRESETS
from engine.jobs import run_job
from engine.metrics.agreement import FURTHER
from engine.problems import ProblemSource
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
SOURCE = ProblemSource(n_train=60, n_queries=20, n_test=500)
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


def opened(preset="first", **more):
    return sound(open("compare", **{**SMALL, **specification_list.address(preset), **more}))


def test_the_explanation_is_the_engines():
    at = opened(explain=1)
    first, second = (PRESETS["first"].scorings[place] for place in PRESETS["first"].pair)
    expected = explain(SOURCE.build().problem, first, second)
    assert says(at, expected.sentence) and says(at, f"its length is {expected.path:.3f}")
    if expected.slack >= LEAST_SLACK:
        assert says(at, f"Fractions are of {expected.path:.3f}, not of {expected.direct.mean:.3f}")
    else:
        assert says(at, "equal to the direct difference")


def test_the_switch_is_on_where_that_takes_a_moment_and_in_the_address_once_it_is_used():
    at = opened()
    assert at.toggle(key="choice:explain").value and "explain" not in at.query_params
    sound(at.toggle(key="choice:explain").set_value(False).run())
    assert not says(at, "of the path is") and at.query_params["explain"] in ("0", ["0"])
    further = at.metric[3:]
    assert [metric.label for metric in further] == ["Spearman rho", "Rank-biased overlap", "Top-5% Jaccard"]
    assert all(FURTHER[name].definition in metric.help for name, metric in zip(FURTHER, further, strict=True))
    sound(at.toggle(key="choice:explain").set_value(True).run())
    assert says(at, "of the path is") and at.query_params["explain"] in ("1", ["1"])


def test_causes_that_cannot_be_told_apart_have_a_bracket():
    given = specification_list.address_of([NAMED["repsim"].implied(), NAMED["influence_function"].implied()], (0, 1))
    at = sound(open("compare", **SMALL, **given, explain=1))
    assert says(at, "the intervention and the training process together")
    assert says(at, "The training process: between 0% and") and says(at, "No specification has the intervention")


def test_what_cannot_be_computed_is_said(monkeypatch):
    whole, refused = Desk.scores, Scoring.of("query_loss", {"kind": "infinitesimal"},
                                                  {"kind": "local_response", "damping": 0.5})

    def refusing(desk, source, scorings, *more):
        if refused in scorings:
            raise InvalidInput("Too large for this machine.")
        return whole(desk, source, scorings, *more)

    monkeypatch.setattr(Desk, "scores", refusing)
    approximate = Scoring.of(refused.behavior, refused.intervention, refused.process, "cg")
    at = sound(open("compare", **SMALL, **specification_list.address_of([approximate, STEP], (0, 1)), explain=1))
    assert says(at, "Too large for this machine.") and says(at, "together")


def test_a_run_that_failed_leaves_a_bracket(monkeypatch):
    whole, failing = Desk.scores, Scoring.of("query_loss", {"kind": "infinitesimal"},
                                                  {"kind": "local_response", "damping": 0.5})
    monkeypatch.setattr(Desk, "scores", lambda desk, source, scorings, *more: (
        Waiting("A run", job="1") if failing in scorings else whole(desk, source, scorings, *more)))
    failed = SimpleNamespace(state="failed", error="It needs the Hessian of 53,002 parameters.")
    monkeypatch.setattr("engine.jobs.JobQueue.get", lambda queue, job: failed if job == "1" else None)
    approximate = Scoring.of(failing.behavior, failing.intervention, failing.process, "cg")
    at = sound(open("compare", **SMALL, **specification_list.address_of([approximate, STEP], (0, 1)), explain=1))
    assert says(at, "are missing: It needs the Hessian of 53,002 parameters.") and says(at, "together")


def test_all_seeds_are_explained_together():
    at = opened(explain=1, nseeds=2)
    drawn = [ProblemSource(n_train=60, n_queries=20, n_test=500, seed=seed).build().problem for seed in (0, 1)]
    expected = explain(drawn, *(PRESETS["first"].scorings[place] for place in PRESETS["first"].pair))
    assert says(at, expected.sentence) and says(at, "Fractions by seed")
    table = next(frame.value for frame in at.dataframe if "± 95% (share)" in frame.value.columns)
    assert table["fraction of the path"].tolist() == pytest.approx([100 * link.share for link in expected.links])
    assert any("--data problem-0.npz --data problem-1.npz" in code.value for code in at.code)


def test_the_command_recomputes_the_explanation():
    text = explanation_panel.command([SOURCE])
    assert "engine explain" in text and "explanation.json" in text and "explanation-specs.json" in text


def test_models_on_subsets_are_trained_as_a_job_and_then_scored(home, monkeypatch):
    monkeypatch.setattr("app.compare.datamodels.SUBSETS", 6)
    at = opened()
    train = next(button for button in at.button if button.label.startswith("Train 6 models"))
    sound(train.click().run())
    assert any(button.label == "Cancel" for button in at.button)
    run_job("datamodel", desk().jobs.queue.jobs()[0].payload, home)
    at = opened()
    table = next(frame.value for frame in at.dataframe if "linear datamodeling score" in frame.value.columns)
    assert len(table) == len(PRESETS["first"].scorings) and table["linear datamodeling score"].between(-1, 1).all()
    assert says(at, "6 models on 50% of the candidates,")
    assert says(at, "of the training data · protocol <code>weights</code>")
    assert says(at, PROTOCOLS["weights"].definition) and says(at, "--protocol weights --among candidates")

"""The Scorecard page: what it would measure, the card once it is made, and the question of a benchmark."""

import re

import pytest

from app.widgets.jobs.desk import desk
from engine.analysis.lds_ladder import LadderRequest
from engine.analysis.leaderboard import LeaderboardRequest
from engine.analysis.protocols import PROTOCOLS
from engine.analysis.scorecard import BENCHMARKS, METHODS, ScorecardRequest
from engine.external.importing import matched, scoring_of
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.store import external_scores
from tests.pages.support import open, says, sound

pytestmark = pytest.mark.core

MADE = ScorecardRequest
LOO = "query loss · remove · retrain"
SMALL = {"data": "digits", "train": 60, "queries": 10, "candidates": 15, "nseeds": 1}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Two benchmarks of three methods, quickly."""
    monkeypatch.setattr("app.scorecard.data.ScorecardRequest", lambda sizes, **more: MADE(
        sizes=sizes.model_copy(update={"models": 4, "fractions": (0.5,)}),
        **{"methods": ("loo", "step", "random"), "benchmarks": ("lds", "subclasses"), **more}))


def measures(at):
    """The long table of the card."""
    return next(one.value for one in at.dataframe if "protocol" in one.value)


def asked(monkeypatch):
    found = []
    monkeypatch.setattr(type(desk()), "start", lambda self, request: found.append(request))
    return found


def test_it_says_what_it_would_measure_and_shows_the_card(monkeypatch):
    submitted = asked(monkeypatch)
    at = sound(open("scorecard", **SMALL))
    assert says(at, "2 benchmarks of 3 methods") and all(
        says(at, BENCHMARKS[name].title) for name in ("lds", "subclasses"))
    next(one for one in at.button if one.label == "Run the scorecard").click().run()
    [request] = submitted
    assert request.payload["candidates"] == 15
    run_job(request.name, request.payload, desk().jobs.root)
    at = sound(open("scorecard", **SMALL))
    card = at.dataframe[0].value
    assert list(card.method) == ["Exact leave-one-out", "Exact step", "Random", "Exact answer of another seed"]
    assert list(card["kind"]) == ["exact for its own question"] * 2 + ["control", "exact answer of another seed"]
    assert re.fullmatch(r"−?\d\.\d\d ± \d\.\d\d", card["Linear datamodeling score"].iloc[0])
    assert says(at, BENCHMARKS["lds"].question) and says(at, "Dashed: 1.00, because training ends at one optimum")
    assert says(at, PROTOCOLS["weights"].definition) and says(at, "protocol weights")
    assert says(at, "10 queries or repetitions · 4 subsets; sampling them adds ±")
    assert "50% of the candidates, 88.3% of the training data" in list(measures(at).measure)
    at = sound(open("scorecard", benchmark="subclasses", **SMALL))
    assert says(at, "the target is similarity within a class") and says(at, "no ceiling is shown")


def test_protocol_and_what_subsets_are_drawn_from_are_chosen_and_kept_in_the_address(monkeypatch):
    submitted = asked(monkeypatch)
    at = sound(open("scorecard", cardprotocol="seeds", cardamong="all", **SMALL))
    assert says(at, PROTOCOLS["seeds"].definition) and says(at, PROTOCOLS["seeds"].estimand)
    next(one for one in at.button if one.label == "Run the scorecard").click().run()
    [request] = submitted
    assert (request.sizes.protocol, request.sizes.among) == ("seeds", "all")
    run_job(request.name, request.payload, desk().jobs.root)
    at = sound(open("scorecard", cardprotocol="seeds", cardamong="all", **SMALL))
    assert set(measures(at).protocol) == {"seeds", ""} and says(at, "--protocol seeds --among all")
    assert "50% of the training data" in list(measures(at).measure)


def test_settings_of_a_method_make_a_row_of_their_own(monkeypatch):
    submitted = asked(monkeypatch)
    at = sound(open("scorecard", **SMALL, model="mlp", cardset="trak", cardmethod=["random", "trak"]))
    next(one for one in at.number_input if one.label == "dimension").set_value(8).run()
    next(one for one in at.button if one.label == "Add to the scorecard").click().run()
    assert sound(at).query_params["cardmethod"] == ["random", "trak", "trak;dimension=8"]
    assert says(at, "2 benchmarks of 3 methods")
    assert any(title.endswith("dimension 8") for title in at.multiselect[0].options)
    next(one for one in at.button if one.label == "Run the scorecard").click().run()
    assert submitted[0].methods == ("random", "trak", "trak;dimension=8")


def test_the_command_names_the_methods(monkeypatch):
    submitted, chosen = asked(monkeypatch), ["step", "random"]
    at = sound(open("scorecard", **SMALL, cardmethod=chosen))
    next(one for one in at.button if one.label == "Run the scorecard").click().run()
    run_job(submitted[0].name, submitted[0].payload, desk().jobs.root)
    at = sound(open("scorecard", **SMALL, cardmethod=chosen))
    assert list(at.dataframe[0].value.method)[:2] == ["Exact step", "Random"]
    assert says(at, "--method step --method random")


def test_methods_that_the_model_does_not_have_are_dropped_from_a_link():
    at = sound(open("scorecard", **SMALL, cardmethod=["step", "bm25;k=1", "sorcery"]))
    assert at.multiselect[0].value == ["step"] and says(at, "2 benchmarks of 1 methods")


def test_a_language_model_has_benchmarks_of_its_own(monkeypatch):
    monkeypatch.setattr("app.scorecard.data.ScorecardRequest", MADE)
    at = sound(open("scorecard", data="world_corruption", train=60, queries=10, candidates=15, settle=False))
    assert says(at, "Planted records") and not says(at, "Mislabelled examples")
    assert says(at, "training runs of the model")




def test_scores_of_another_program_stand_beside_the_methods(home, monkeypatch):
    source = ProblemSource(n_train=60, n_queries=10, n_test=500)
    problem, step = source.build().problem, METHODS["step"].scoring("query_loss")
    held = matched(problem, Table(compute(problem, step)[0].oriented), QUERIES)
    external_scores.keep(held)
    theirs = {"s": [codes.encode(scoring_of(held, step, "theirs & ours", "plus"))]}
    submitted = asked(monkeypatch)
    at = sound(open("scorecard", **SMALL, **theirs))
    assert says(at, "They can be measured once this scorecard is computed.")
    next(one for one in at.button if one.label == "Run the scorecard").click().run()
    run_job(submitted[0].name, submitted[0].payload, desk().jobs.root)
    at = sound(open("scorecard", **SMALL, **theirs))
    assert says(at, "theirs & ours") and "theirs & ours" not in list(at.dataframe[0].value.method)
    next(one for one in at.button if one.label == "Measure the scores of other programs").click().run()
    assert submitted[1].benchmarks == ("lds", "removal", "leave_one_out")
    run_job(submitted[1].name, submitted[1].payload, desk().jobs.root)
    card = sound(open("scorecard", **SMALL, **theirs)).dataframe[0].value.set_index("method")
    lds = card["Linear datamodeling score"]
    assert lds["theirs & ours"] == lds["Exact step"] and not card["Subclass of the first example"]["theirs & ours"]


def test_the_ladder_of_scores_of_another_program(home, monkeypatch):
    problem, step = ProblemSource(n_train=60, n_queries=10, n_test=500).build().problem, METHODS["step"].scoring(
        "query_loss")
    held = matched(problem, Table(-compute(problem, step)[0].oriented), QUERIES)
    external_scores.keep(held)
    theirs, submitted = codes.encode(scoring_of(held, step, "turned", "plus")), asked(monkeypatch)
    monkeypatch.setattr("app.scorecard.ladder.LadderRequest", lambda **fields: LadderRequest(**{**fields, "models": 4}))
    own = {**SMALL, "s": [theirs], "laddermethod": theirs}
    next(one for one in sound(open("scorecard", **own)).button if one.label == "Measure the ladder").click().run()
    run_job(submitted[0].name, submitted[0].payload, desk().jobs.root)
    at = sound(open("scorecard", **own))
    rungs = next(one.value for one in at.dataframe if "rung" in one.value)
    lds = rungs.set_index("rung")["lds"]
    assert lds["score"] == pytest.approx(-lds["approximation"]) and rungs["bar"].sum() == pytest.approx(1)


def test_the_published_leaderboard_has_every_column_and_its_own_question_marked():
    at = sound(open("scorecard", **SMALL))
    whole, questions = (next(one.value for one in at.dataframe if column in one.value) for column in (
        "Own question", LOO))
    assert {"LDS, same seed", "LDS, another seed", "Tail patch", "QLD", "Recall", "CPU seconds"} < set(whole)
    assert whole["method"].iloc[-1] == "Exact answer of another seed"
    known = whole[whole["LDS, same seed"] != ""]
    values = known["LDS, same seed"].str.partition(" ")[0].str.replace("−", "-").astype(float)
    assert len(known) > 20 and values.is_monotonic_decreasing
    assert questions[LOO][questions["method"] == "Leave-one-out"].iloc[0].endswith("●")
    assert says(at, "python -m engine reproduce leaderboard --preset")


def test_the_leaderboard_and_the_ladder_of_the_model_at_hand(monkeypatch):
    submitted, sizes = asked(monkeypatch), {"models": 4, "queries": 1, "removed": (0.1,), "fractions": (0.5,), "top": 3}
    monkeypatch.setattr("app.scorecard.leaderboard.LeaderboardRequest", lambda **fields: LeaderboardRequest(
        **{**fields, "methods": ("gradsim", "random"), "sizes": fields["sizes"].model_copy(update=sizes)}))
    monkeypatch.setattr("app.scorecard.ladder.LadderRequest", lambda **fields: LadderRequest(**{**fields, "models": 4})
                        )
    own = {**SMALL, "board": "own", "laddermethod": "gradsim"}
    at = sound(open("scorecard", **own))
    for label in ("Run the leaderboard", "Measure the ladder"):
        next(one for one in at.button if one.label == label).click().run()
    assert [one.name for one in submitted] == ["leaderboard", "lds-ladder"]
    for request in submitted:
        run_job(request.name, request.payload, desk().jobs.root)
    at = sound(open("scorecard", **own))
    whole = next(one.value for one in at.dataframe if "Own question" in one.value)
    assert set(whole["method"]) == {"GradSim", "Random"} and whole["Own question"].str.contains("±").sum() == 1
    rungs = next(one.value for one in at.dataframe if "rung" in one.value)
    assert rungs["bar"].sum() == pytest.approx(1) and rungs["rung"].iloc[-1] == "linearity"
    assert says(at, "python -m engine lds-ladder") and says(at, "python -m engine leaderboard --data")

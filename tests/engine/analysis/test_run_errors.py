"""What SOURCE gets wrong by cause: what has no such cause has none of its error, and the last stage is SOURCE."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from engine.analysis.run_errors import RunErrors, RunErrorsRequest, through_states
from engine.basics.options import Options
from engine.estimators.source import powers, source_response
from engine.exact.moments import by_stretches
from engine.exact.replay import replay
from engine.models.recipe import Recipe
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Infinitesimal, InfinitesimalDuring
from engine.question.processes import Replay
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close, problem
from tests.truth import language_cases

GUIDE = Path(__file__).parents[3] / "assets" / "guides" / "which-t.md"
BEHAVIOR = BEHAVIORS["soft_margin"]
PROCESS = Replay(eta=0.5, steps=12)


def network(batch_size, **more):
    recipe = Recipe(epochs=3, batch_size=batch_size, learning_rate=0.1, momentum=0.5, **more)
    return cases.problem(cases.smooth, (4,), queries=3, recipe=recipe, build=cases.smooth)


@pytest.mark.parametrize(("make", "causes"), [(lambda: problem(n=20, queries=3), ["segments", "flow"]),
                                              (lambda: network(5), ["batches", "segments and flow", "curvature"])],
                         ids=["softmax", "network"])
def test_the_last_stage_is_source(make, causes):
    asked = make()
    found = RunErrorsRequest(behavior="soft_margin", process=PROCESS).run(asked)
    assert list(found.causes["cause"]) == causes and found.why == ""
    exact, source = (one.values for one in compute(asked, [
        Scoring.of("soft_margin", {"kind": "infinitesimal"}, PROCESS, name) for name in ("exact", "source")]))
    whole = torch.as_tensor(source - exact).norm() / torch.as_tensor(exact).norm()
    assert found.causes["so_far"].iloc[-1] == pytest.approx(float(whole), rel=1e-6)
    methods = found.methods.set_index("estimator")
    assert methods.loc["source", "error"] == pytest.approx(float(whole), rel=1e-6)
    assert set(methods.index) == {"source", "dvemb", "tracin_run", "in_run_shapley"}
    assert found.causes["error"].iloc[0] == pytest.approx(found.causes["so_far"].iloc[0])
    assert sorted(found.parts["candidate"].unique()) == sorted(asked.candidates.tolist())
    assert (found.causes["error"] > 1e-6).all() and "largest single cause" in found.sentence


def test_full_batches_have_no_error_of_batches():
    asked = network(14, weight_decay=0.02)
    exact = replay(asked, [Infinitesimal()], Replay(), asked.candidates, Options())[0]
    assert_close(through_states(asked, BEHAVIOR, Options()), exact.scores(BEHAVIOR, asked.query_labels), 1e-8)


@pytest.mark.parametrize("make", [lambda: problem(n=20, queries=3), lambda: network(5)], ids=["softmax", "network"])
def test_parts_are_what_the_question_of_one_part_is_answered_with(make):
    asked = make()
    parts, rates = by_stretches(asked, PROCESS, BEHAVIOR, Options())
    found = replay(asked, [InfinitesimalDuring(at=2)], PROCESS, torch.arange(asked.n), Options())[0]
    assert_close(rates[1], found.scores(BEHAVIOR, asked.query_labels).mean(0), 1e-9)
    assert [step for part in parts for step in part] == list(range(1, parts[-1].stop))


def adaptive(**options):
    recipe = cases.ADAPTIVE.model_copy(update={"epochs": 20, **options})
    found = cases.problem(cases.smooth, (4,), recipe=recipe, build=cases.smooth)
    found.seed = 3
    return found


@pytest.mark.parametrize("decoupled", [pytest.param(True, marks=pytest.mark.slow), False])
def test_source_of_adamw_with_a_segment_a_step_holds_scales_without_lag_over_all_examples(decoupled):
    """So that it leaves the run by nothing but the causes that are told."""
    asked = adaptive(epochs=3, decoupled=decoupled, clip=float("inf"))
    for exact in (True, False):
        found = source_response(asked, Replay(), asked.candidates, Options(), 1_000, 1, powers, exact)
        expected = through_states(asked, BEHAVIOR, Options(), held=True, lag=False, factored=not exact)
        assert_close(found.scores(BEHAVIOR, asked.query_labels), expected, 1e-6)


def test_scales_that_hardly_move_cost_little_to_hold():
    """As under a large ε; full batches and no memory then leave nothing but the curvature and the flow."""
    found = RunErrorsRequest(behavior="soft_margin").run(adaptive(
        epsilon=1e4, learning_rate=1e3, betas=(0.0, 0.9), batch_size=14, weight_decay=0.0, clip=1e9))
    assert found.causes["error"].iloc[:3].max() < 1e-3 and found.causes["error"].iloc[3:].min() > 1e-3


def test_a_weight_that_all_examples_share_changes_nothing_under_adam():
    """But for ε; with scales that are held it does."""
    asked = adaptive(clip=float("inf"))
    exact, source = (torch.as_tensor(compute(asked, [
        Scoring.of("soft_margin", {"kind": "infinitesimal"}, Replay(), name)])[0].values) for name in (
        "exact", "source"))
    assert asked.candidates.tolist() == list(range(asked.n))
    shares = [float((one.sum(1).abs() / one.abs().sum(1)).max()) for one in (exact, source)]
    assert shares[0] < 1e-5 and shares[1] > 0.1


@pytest.mark.slow
def test_what_source_costs_under_adamw():
    """The numbers of the guide, in its table and below it."""
    table = GUIDE.read_text(encoding="utf-8").partition("trained with AdamW for 60 steps")[2]
    below = " ".join(table.partition("With ε = 1 ")[2].split())
    single, others = {}, {}
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `1")]
    told = {row[0].strip("`"): row[1:] for row in rows}
    assert set(told) == {"1e-8", "1"}
    for epsilon, cells in told.items():
        rate = {"1e-8": 0.05, "1": 0.2}[epsilon]
        whole = RunErrorsRequest(behavior="soft_margin").run(adaptive(epsilon=float(epsilon), learning_rate=rate))
        found, others[epsilon] = whole.causes, whole.methods.set_index("estimator").loc["dvemb", "error"]
        single[epsilon] = found.set_index("cause")["error"]
        assert list(found["cause"]) == ["scale", "lag", "batches", "curvature", "segments and flow"]
        expected = [*(f"{error:.2f}" for error in found["so_far"]), f"{found['tau'].iloc[-1]:.2f}"]
        assert cells == expected
    assert single["1"].idxmax() == "curvature"
    assert below.startswith(f"the largest single cause is EK-FAC instead of the Hessian, {single['1'].max():.2f}.")
    assert f"that cause lowers the error from {told['1e-8'][2]} to {told['1e-8'][3]};" in below
    assert f"in this case they are off by {others['1e-8']:.2f} and by {others['1']:.2f}." in below


@pytest.mark.slow
def test_causes_for_a_language_model_trained_by_adamw():
    """The first of them alone is more than the whole that is to be told."""
    asked = language_cases.problem("adapters", candidates=list(range(7)))
    found = RunErrorsRequest(behavior="answer_margin", process=Replay()).run(asked)
    assert found.causes["error"].iloc[0] > 3 and found.causes["so_far"].iloc[-1] > 1
    assert set(found.methods["estimator"]) == {"dvemb", "source", "tracin_run"}
    assert found.methods.set_index("estimator").loc["dvemb", "error"] < 0.3


def test_methods_that_no_optimizer_of_its_own_scale_allows_are_left_out():
    found = RunErrorsRequest(behavior="soft_margin").run(adaptive(epochs=1))
    assert set(found.methods["estimator"]) == {"dvemb", "source", "tracin_run"}


def test_the_largest_cause_is_one_that_leads_away_from_the_run():
    causes = pd.DataFrame({"cause": ["scale", "curvature"], "title": ["held", "EK-FAC"], "error": [3.0, 4.0],
                           "so_far": [3.0, 1.5], "tau": [0.3, 0.5]})
    assert "*held*, 300.0%" in RunErrors("soft_margin", causes, causes, causes).sentence


def test_scores_that_overflow_are_infinitely_off(monkeypatch):
    def blown(problem, process, read, options):
        for cause, value in (("scale", float("nan")), ("curvature", 0.0)):
            yield cause, torch.full((len(problem.queries), len(problem.candidates)), value, dtype=torch.float64)

    monkeypatch.setattr("engine.analysis.run_errors.stages", blown)
    found = RunErrorsRequest(behavior="soft_margin", process=PROCESS).run(problem(n=20, queries=3))
    assert found.causes["error"].tolist() == [float("inf")] * 2
    assert found.causes["so_far"].tolist() == [float("inf"), 1.0] and found.causes["tau"].isna().any()
    assert "differs from the exact derivative by 100.0%" in found.sentence
    assert "held*, more than any number." in found.sentence

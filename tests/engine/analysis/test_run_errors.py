"""What SOURCE gets wrong by cause: what has no such cause has none of its error, and the last stage is SOURCE."""

import pytest
import torch

from engine.analysis.run_errors import over_all_examples, run_errors
from engine.basics.options import Options
from engine.exact.moments import by_parts
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
    found = run_errors(asked, "soft_margin", PROCESS)
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
    assert_close(over_all_examples(asked, BEHAVIOR, Options()), exact.scores(BEHAVIOR, asked.query_labels), 1e-8)


@pytest.mark.parametrize("make", [lambda: problem(n=20, queries=3), lambda: network(5)], ids=["softmax", "network"])
def test_parts_are_what_the_question_of_one_part_is_answered_with(make):
    asked = make()
    parts, rates = by_parts(asked, PROCESS, BEHAVIOR, Options())
    found = replay(asked, [InfinitesimalDuring(at=2)], PROCESS, torch.arange(asked.n), Options())[0]
    assert_close(rates[1], found.scores(BEHAVIOR, asked.query_labels).mean(0), 1e-9)
    assert [step for part in parts for step in part] == list(range(1, parts[-1].stop))


@pytest.mark.slow
def test_a_run_whose_steps_are_not_linear_says_why():
    found = run_errors(language_cases.problem("adapters"), "answer_margin", Replay())
    assert not len(found.causes) and "scales every parameter" in found.why and found.sentence.endswith(found.why)
    assert set(found.methods["estimator"]) == {"dvemb", "source", "tracin_run"}

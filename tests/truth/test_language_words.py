"""Behaviors that carry a user's words, span and contrast, against loops over records without padding."""

from functools import partial

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.exact.decomposition import decompose
from engine.models.altered import Altered
from engine.models.causal.readouts import READOUTS
from engine.question.behaviors import BEHAVIORS as NAMES
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import checks
from tests.truth import language_cases as cases
from tests.truth.checks import same
from tests.truth.naive_language import NaiveLanguage, log_likelihood, words_of

ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
TRAJECTORY = {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}
MARKED = {"span:says": [("says",)] * 3, "span@0:it is": [("it", "is"), (), ()],
          "span@1:so red": [(), ("so", "red"), ()]}
OTHERS = {"contrast": ("it is big says a", "so red says b", "it is says a"),
          "contrast@0#2": ("it is big says c", "", ""),
          "contrast:so big it is old a": ("so big it is old a",) * 3, "contrast@2:red": ("", "", "red")}
RANGES = {"tokens@1:1-2": (1, 1, 2), "tokens@0:0": (0, 0, 0)}
WHOLE = ["log_odds", "base_kl"]
WORDED = [*MARKED, *OTHERS, *RANGES, *WHOLE]


class Worded(NaiveLanguage):
    """The marks and the other responses as written down above."""

    def without_adapters(self, theta):
        """θ with every B at zero."""
        base = theta.detach().clone()
        for name, start, shape in self.places():
            if "lora_B" in name:
                base[start:start + shape.numel()] = 0.0
        return base

    def behavior(self, name, q, theta):
        told = self.queries[q]
        logits = self.passed(told, theta)[1]
        if name in MARKED:
            marked = [place for place in told["response"] if cases.WORDS[told["tokens"][place]] in MARKED[name][q]]
            return log_likelihood(logits, told, marked) if marked else 0.0 * logits.sum()
        if name in RANGES:
            query, first, last = RANGES[name]
            return log_likelihood(logits, told, told["response"][first:last + 1]) if q == query else 0.0 * logits.sum()
        if name == "log_odds":
            p = log_likelihood(logits, told, told["response"]).exp()
            return (p / (1 - p)).log()
        if name == "base_kl":
            before = self.passed(told, self.without_adapters(theta))[1].detach()
            rows = [(logits[at - 1].log_softmax(0), before[at - 1].log_softmax(0)) for at in told["response"]]
            return -sum((own.exp() * (own - base)).sum() for own, base in rows) / len(rows)
        if name not in OTHERS:
            return super().behavior(name, q, theta)
        if not OTHERS[name][q]:
            return 0.0 * logits.sum()
        other = words_of(Record(prompt=cases.QUERIES[q].prompt, response=OTHERS[name][q]), cases.WORDS)
        return (log_likelihood(logits, told, told["response"]) * len(told["response"])
                - log_likelihood(self.passed(other, theta)[1], other, other["response"]) * len(other["response"]))


def referred(problem):
    return Worded(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.slow) if name == "all parameters" else name
                                        for name in cases.RANKS])
def case(request):
    problem = cases.problem(request.param)
    return problem, referred(problem)


def offered(problem):
    """Of models without adapters there is no base."""
    adapters = any("lora" in name for name in problem.network.names)
    return [name for name in WORDED if adapters or name != "base_kl"]


def scored(problem, process, estimator="exact", intervention=ADD, names=None):
    return checks.scored(problem, intervention, process, estimator, names or offered(problem))


def test_behaviors(case):
    problem, naive = case
    names = offered(problem)
    asked, read = problem.asking([NAMES[name] for name in names])
    for name, behavior in zip(names, read, strict=True):
        expected = [naive.behavior(name, q, naive.theta).item() for q in range(3)]
        found = behavior.value(asked.query_logits, asked.query_labels)
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
    own = problem.query_logits
    assert torch.equal(asked.query_logits[:, :own.shape[1]], own)


@pytest.mark.parametrize("process", [STEP, pytest.param(TRAJECTORY, marks=pytest.mark.slow)],
                         ids=lambda process: process["kind"])
def test_finite_steps(case, process):
    problem, naive = case
    points = [(naive.theta, 0.1)] if process is STEP else [
        (point.theta, 0.1 * point.learning_rate / 0.2) for point in problem.checkpoints]
    for name, scores in scored(problem, process).items():
        expected = sum(naive.differences(name, [naive.steps(k, eta, 1, theta) for k in naive.candidates], theta)
                       for theta, eta in points)
        np.testing.assert_allclose(scores.values, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.slow  # one step is checked above
def test_several_steps(case):
    problem, naive = case
    for name, scores in scored(problem, {"kind": "unrolled", "eta": 0.1, "steps": 3}).items():
        expected = naive.differences(name, [naive.steps(k, 0.1, 3, naive.theta) for k in naive.candidates], naive.theta)
        np.testing.assert_allclose(scores.values, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("estimator", ["first_order", pytest.param("cosine", marks=pytest.mark.slow)])
def test_gradients(case, estimator):
    problem, naive = case
    gradients = torch.stack([naive.gradient(lambda at, k=k: naive.loss(k, at)) for k in naive.candidates])
    for name, scores in scored(problem, STEP, estimator).items():
        slopes = torch.stack([naive.gradient(partial(naive.behavior, name, q)) for q in range(3)])
        expected = slopes @ gradients.T if estimator == "first_order" else torch.cosine_similarity(
            slopes[:, None], gradients[None], dim=-1)
        np.testing.assert_allclose(scores.values, -0.1 * expected.numpy(), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_one_group_of_all_equals_each_alone(case):
    """Behaviors of a group share trained models; what they are does not depend on what stands beside them."""
    problem, _ = case
    names = ["response_loss", *offered(problem)]
    together = scored(problem, {"kind": "retrain"}, "trak", {"kind": "remove"}, names)
    for name in names:
        (alone,) = compute(problem, Scoring.of(name, {"kind": "remove"}, {"kind": "retrain"}, "trak"))
        np.testing.assert_allclose(together[name].values, alone.values, rtol=1e-9, atol=1e-14)
        assert alone.provenance["data"] == problem.fingerprint
        assert alone.provenance["sizes"]["classes"] == len(READOUTS)


def test_retraining():
    problem = cases.problem(candidates=[4, 0])
    naive = referred(problem)
    found = scored(problem, {"kind": "retrain", "seeds": 1}, intervention={"kind": "remove"},
                   names=["response_loss", "span:says", "contrast", "contrast@2:red"])
    weights = [[float(j != k) for j in range(naive.n)] for k in (None, *naive.candidates)]
    factual, *moved = [naive.adamw(problem.build, problem.recipe, problem.seed, own) for own in weights]
    for name, scores in found.items():
        if name == "contrast@2:red":
            assert not scores.values[:2].any()
            continue
        same(scores, naive.differences(name, moved, factual))


def test_a_group_is_removed():
    problem = cases.problem()
    asked, (span,) = problem.asking([NAMES["span:says"]])
    weights = torch.tensor([0.0, 1, 1, 0, 1, 0, 1])
    naive = referred(problem)
    theta = naive.adamw(problem.build, problem.recipe, problem.seed, weights.tolist())
    found = asked.retrained_outputs(Altered(weights[None]))[0]
    np.testing.assert_allclose(span.value(found, asked.query_labels).numpy(),
                               [naive.behavior("span:says", q, theta).item() for q in range(3)], rtol=0, atol=1e-9)


def test_the_three_factors_of_a_score(case):
    problem, naive = case
    for name in ("span:says", "contrast:so big it is old a"):
        expected = naive.directional(name, [-0.1 * naive.gradient(lambda at: naive.loss(4, at))])
        found = decompose(problem, 2, 4, NAMES[name], eta=0.1)
        assert found.score == pytest.approx(expected[2, 0], rel=1e-9)


def test_other_queries_and_precisions_hold_their_own_texts():
    """Training records as queries, and float32: the texts go with the rows."""
    problem = cases.problem(precision="float32").at_itself(torch.tensor([0, 4]))
    for name in ("span:it is", "contrast:red"):
        (scores,) = compute(problem, Scoring.of(name, ADD, STEP))
        assert scores.values.shape == (2, 2) and scores.above_resolution.all()


@pytest.mark.parametrize(("name", "told"), [
    ("span:it is", "“it is” does not occur in the response of query 1"),
    ("span@7:it", "no query 7; choose one of 0 to 2"),
    ("contrast#2", "Query 1 has no second other choice"),
    ("contrast@0:it is big says b", "is that of query 0 itself"),
    ("tokens@1:2-99", "asks for token 99; tokens are numbered from 0 to"), ("tokens@7:0", "There is no query 7"),
    ("contrast:" + "it " * 30, "does not fit into the 32 tokens"),
    ("contrast:" + "it " * 40, "leave no room for a prompt in 32"),
])
def test_what_a_query_lacks_is_said_in_one_sentence(name, told):
    with pytest.raises(InvalidInput, match=told) as refused:
        compute(cases.problem(), Scoring.of(name, ADD, STEP))
    assert str(refused.value).count(". ") == 0


def test_a_model_without_adapters_has_no_base():
    with pytest.raises(InvalidInput, match="compares a model with itself without adapters"):
        compute(cases.problem("all parameters"), Scoring.of("base_kl", ADD, STEP))


def test_tokens_alone_have_no_words():
    with pytest.raises(InvalidInput, match="available only as tokens"):
        compute(cases.problem(texts=None), Scoring.of("span:says", ADD, STEP))


def test_the_label_free_loss_does_not_raise_a_span():
    with pytest.raises(InvalidInput, match="logit of the stated answer alone"):
        compute(cases.problem(), Scoring.of("span:says", {"kind": "auxiliary"}, STEP))

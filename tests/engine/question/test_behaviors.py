"""Behaviors against values by hand, autograd and central differences, and the rules for a user's own."""

import functools
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.basics.errors import InvalidInput
from engine.gradients.response import LogitTerm
from engine.question.behaviors import BEHAVIORS, autograd_signal, reading, register_behavior
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.specification import Specification
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

DOUBLE = torch.float64
REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
E1, E2, EH = math.e, math.e**2, math.sqrt(math.e)  # of the logits 1, 2 and 1/2
TOTAL = E1 + E2 + EH
SMOOTH = ("query_loss", "query_logit", "soft_margin", "probability")


@pytest.fixture
def own():
    """Register under `mine`, and forget it afterwards."""
    yield functools.partial(register_behavior, "mine", replace=True)
    BEHAVIORS.remove("mine")


@pytest.mark.parametrize(("behavior", "expected"), [
    ("query_loss", (1 - math.log(TOTAL), 2 - math.log(TOTAL), 0.5 - math.log(TOTAL))),
    ("query_logit", (1.0, 2.0, 0.5)),
    ("soft_margin", (1 - math.log(E2 + EH), 2 - math.log(E1 + EH), 0.5 - math.log(E1 + E2))),
    ("hard_margin", (-1.0, 1.0, -1.5)),
    ("probability", (E1 / TOTAL, E2 / TOTAL, EH / TOTAL)),
    ("correct", (0.0, 1.0, 0.0)),
])
def test_three_classes_by_hand(behavior, expected):
    logits = torch.tensor([1.0, 2.0, 0.5], dtype=DOUBLE).expand(3, 3)
    found = BEHAVIORS[behavior].value(logits, torch.tensor([0, 1, 2]))
    assert found.dtype == DOUBLE
    torch.testing.assert_close(found, torch.tensor(expected, dtype=DOUBLE), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("behavior", "expected"), [
    ("query_loss", (1 - E1 / TOTAL, -E2 / TOTAL, -EH / TOTAL)),
    ("query_logit", (1.0, 0.0, 0.0)),
    ("soft_margin", (1.0, -E2 / (E2 + EH), -EH / (E2 + EH))),
    ("hard_margin", (1.0, -1.0, 0.0)),
    ("probability", (E1 / TOTAL * (1 - E1 / TOTAL), -E1 * E2 / TOTAL**2, -E1 * EH / TOTAL**2)),
])
def test_signals_by_hand(behavior, expected):
    found = BEHAVIORS[behavior].signal(torch.tensor([[1.0, 2.0, 0.5]], dtype=DOUBLE), torch.tensor([0]))
    torch.testing.assert_close(found, torch.tensor([expected], dtype=DOUBLE), rtol=1e-14, atol=1e-14)


def test_at_a_tie_the_hard_margin_reads_the_first_rival():
    signal = BEHAVIORS["hard_margin"].signal(torch.tensor([[0.0, 1.0, 1.0]]), torch.tensor([0]))
    assert signal.tolist() == [[1.0, -1.0, 0.0]]


@st.composite
def examples(draw):
    classes = draw(st.integers(2, 6))
    logits = draw(st.lists(st.floats(-8, 8), min_size=classes, max_size=classes))
    return torch.tensor(logits, dtype=DOUBLE), torch.tensor(draw(st.integers(0, classes - 1)))


@pytest.mark.parametrize("behavior", [behavior.name for behavior in CLASS_BEHAVIORS if behavior.differentiable])
@settings(max_examples=40)
@given(example=examples())
def test_signals_are_the_gradient(behavior, example):
    """Analytic against reverse mode and against (B(f + h e_c) − B(f − h e_c)) / 2h, class by class."""
    logits, label = example
    behavior, h = BEHAVIORS[behavior], 1e-6
    if behavior.name == "hard_margin":
        rivals = torch.cat([logits[:label], logits[label + 1:]]).sort(descending=True).values
        assume(len(rivals) < 2 or rivals[0] - rivals[1] > 10 * h)
    signal = behavior.signal(logits[None], label[None])[0]
    torch.testing.assert_close(signal, autograd_signal(behavior.value)(logits[None], label[None])[0],
                               rtol=1e-12, atol=1e-13)
    for place in range(len(logits)):
        step = torch.zeros_like(logits)
        step[place] = h
        slope = (behavior.value(logits + step, label) - behavior.value(logits - step, label)) / (2 * h)
        assert abs(slope - signal[place]) < 1e-7


@settings(max_examples=40)
@given(examples())
def test_relations_between_behaviors(example):
    """p = e^loss; soft margin = log p − log(1 − p) ≤ hard margin; with two classes the margins are one."""
    logits, label = example
    at = {behavior.name: behavior.value(logits, label).item() for behavior in CLASS_BEHAVIORS}
    assert math.isclose(at["probability"], math.exp(at["query_loss"]), rel_tol=1e-12)
    assert at["soft_margin"] <= at["hard_margin"] + 1e-12
    if at["query_loss"] < -1e-4:
        logit = at["query_loss"] - math.log(-math.expm1(at["query_loss"]))
        assert math.isclose(at["soft_margin"], logit, rel_tol=1e-9, abs_tol=1e-9)
    if len(logits) == 2:
        assert math.isclose(at["soft_margin"], at["hard_margin"], abs_tol=1e-12)
    assert at["correct"] == 1.0 if at["hard_margin"] > 0 else at["correct"] == 0.0 or at["hard_margin"] == 0


@pytest.mark.parametrize("behavior", reading("classes"))
def test_batches_equal_single_examples(behavior):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 5, 3, generator=generator, dtype=DOUBLE)
    labels = torch.randint(0, 3, (4, 5), generator=generator)
    behavior = BEHAVIORS[behavior]
    readouts = [behavior.value] if behavior.signal is None else [behavior.value, behavior.signal]
    for readout in readouts:
        batch = readout(logits, labels)
        assert batch.shape[:2] == (4, 5)
        for i in range(4):
            for j in range(5):
                torch.testing.assert_close(batch[i, j], readout(logits[i, j], labels[i, j]), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("behavior", SMOOTH)
def test_far_logits_stay_finite(behavior):
    logits, labels = torch.tensor([[1000.0, 0.0, -1000.0]], dtype=DOUBLE).expand(3, 3), torch.arange(3)
    value, signal = BEHAVIORS[behavior].value(logits, labels), BEHAVIORS[behavior].signal(logits, labels)
    assert value.isfinite().all() and signal.isfinite().all()
    if behavior != "query_logit":
        assert value[0] > value[1] > value[2] or behavior == "probability"


def test_correct_has_no_gradient_and_is_refused_where_one_is_needed():
    for intervention, process, estimator in (
            ({"kind": "infinitesimal"}, {"kind": "local_response"}, "exact"), (ADD, STEP, "first_order"),
            (REMOVE, REOPTIMIZE, "cg"), (REMOVE, {"kind": "retrain"}, "cholesky"),
            (ADD, {"kind": "trajectory", "eta": 0.1}, "first_order")):
        with pytest.raises(InvalidInput, match="`correct` has no gradient"):
            Scoring.of("correct", intervention, process, estimator)
    part = LogitTerm(torch.zeros(1, 1, 2), torch.zeros(1, 2), linear=True)
    with pytest.raises(InvalidInput, match="no gradient"):
        part.scores(BEHAVIORS["correct"], torch.tensor([0]))
    for intervention, process in ((ADD, STEP), (REMOVE, REOPTIMIZE)):
        values = compute(naive.problem(n=20, candidates=[0, 1]), Scoring.of("correct", intervention, process))[0].values
        assert set(values.flatten()) <= {-1.0, 0.0, 1.0}


# ---- a user's own behavior


def own_soft_margin(logits, labels):
    p = logits.softmax(-1).gather(-1, labels[..., None])[..., 0]
    return p.log() - (1 - p).log()


@pytest.mark.parametrize(("intervention", "process", "estimator"), [
    (ADD, STEP, "exact"), (ADD, STEP, "first_order"), (REMOVE, REOPTIMIZE, "exact"), (REMOVE, REOPTIMIZE, "cholesky"),
    ({"kind": "infinitesimal"}, {"kind": "local_response"}, "exact"),
])
def test_ones_own_behavior_works_everywhere(own, intervention, process, estimator):
    own(own_soft_margin)
    mine, theirs = compute(naive.problem(n=20, candidates=[3, 0]), [
        Scoring.of(name, intervention, process, estimator) for name in ("mine", "soft_margin")])
    naive.assert_close(mine.values, theirs.values, 1e-11)
    assert mine.scoring.digest != theirs.scoring.digest


@pytest.mark.parametrize(("value", "differentiable", "said"), [
    (lambda logits, labels: logits, True, r"shape \(2, 3, 4\)"),
    (lambda logits, labels: logits.sum(), True, r"returned shape \(\)"),
    (lambda logits, labels: logits[..., 0].mean(-1), True, r"returned shape \(2,\)"),
    (lambda logits, labels: logits.argmax(-1) == labels, False, "torch.bool"),
    (lambda logits, labels: logits.argmax(-1), False, "torch.int64"),
    (lambda logits, labels: (logits.argmax(-1) == labels).double(), True, "differentiable=False"),
    (lambda logits, labels: logits.detach()[..., 0], True, "differentiable=False"),
    (lambda logits, labels: logits[..., 7], True, "fails on logits"),
    (lambda logits: logits[..., 0], True, "fails on logits"),
    (lambda logits, labels: 1.0, True, "fails on logits"),
    (lambda logits, labels: None, True, "fails on logits"),
])
def test_wrong_readouts_are_refused(value, differentiable, said):
    with pytest.raises(InvalidInput, match=said):
        register_behavior("mine", value, differentiable=differentiable)
    assert "mine" not in BEHAVIORS


def test_names_are_taken_once(own):
    with pytest.raises(InvalidInput, match="already registered"):
        register_behavior("query_loss", own_soft_margin)
    own(own_soft_margin)
    with pytest.raises(InvalidInput, match="already registered"):
        register_behavior("mine", own_soft_margin)


def test_a_behavior_without_gradient_can_be_registered_as_such(own):
    own(lambda logits, labels: logits.argmax(-1).double(), differentiable=False)
    assert not BEHAVIORS["mine"].differentiable
    with pytest.raises(InvalidInput, match="`mine` has no gradient"):
        Scoring.of("mine", ADD, STEP, "first_order")


def scaled(factor):
    return lambda logits, labels: factor * logits[..., 0]


def by_default(logits, labels, factor=1.0):
    return factor * logits[..., 0]


def by_other_default(logits, labels, factor=2.0):
    return factor * logits[..., 0]


def of_function(function):
    return lambda logits, labels: function(logits[..., 0])


def weighted(weights):
    return lambda logits, labels: (logits * weights[:logits.shape[-1]]).sum(-1)


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, logits, labels):
        return self.factor * logits[..., 0]


MANY = torch.zeros(5000, dtype=DOUBLE)


@pytest.mark.parametrize(("first", "second", "same"), [
    (lambda: scaled(1.0), lambda: scaled(1.0), True),
    (lambda: scaled(1.0), lambda: scaled(2.0), False),
    (lambda: by_default, lambda: by_default, True),
    (lambda: by_default, lambda: by_other_default, False),
    (lambda: of_function(torch.sin), lambda: of_function(torch.cos), False),
    (lambda: of_function(lambda f: f), lambda: of_function(lambda f: 2 * f), False),
    (lambda: of_function(lambda f: 2 * f), lambda: of_function(lambda f: 2 + f), False),
    (lambda: functools.partial(by_default, factor=2.0), lambda: functools.partial(by_default, factor=3.0), False),
    (lambda: eval("lambda logits, labels: logits[..., 0]"), lambda: eval("lambda logits, labels: logits[..., 1]"),
     False),
    (lambda: eval("lambda logits, labels: logits[..., 0]"), lambda: eval("lambda logits, labels: logits[..., 0]"),
     True),
    (lambda: weighted(MANY), lambda: weighted(MANY.index_fill(0, torch.tensor([2500]), 1.0)), False),
    (lambda: Scale(1.0), lambda: Scale(2.0), False),
], ids=["closure", "other closure", "source", "default", "function", "lambda", "operator", "partial",
        "no source", "no source, same", "large tensor", "object"])
def test_the_digest_tells_functions_of_one_name_apart(own, first, second, same):
    digests = []
    for function in (first(), second()):
        own(function)
        digests.append(Specification.of("mine", REMOVE, REOPTIMIZE).digest)
    assert (digests[0] == digests[1]) == same


def test_the_digest_of_a_partial_function_names_no_address(own):
    """Two functions of one definition, as two processes would see them, at two places in memory."""
    digests = []
    for _ in range(2):
        scope = {}
        exec("def f(logits, labels, factor=1.0):\n    return factor * logits[..., 0]\n", scope)
        own(functools.partial(scope["f"], factor=2.0))
        digests.append(Specification.of("mine", REMOVE, REOPTIMIZE).digest)
    assert digests[0] == digests[1]


def test_a_function_that_refers_to_itself_can_be_registered(own):
    def halved(logits, labels, times=3):
        return halved(logits / 2, labels, times - 1) if times else logits[..., 0]

    own(halved)
    assert BEHAVIORS["mine"].fingerprint

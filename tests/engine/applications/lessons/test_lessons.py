"""The lessons' numbers against scikit-learn, finite differences and the engine's own exact routes."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from engine.applications.lessons import rough, toy
from engine.applications.lessons.curve import along_eta, most_curved
from engine.applications.lessons.signals import DRAWS, STAGES, detections, over_draws
from engine.models.training import train
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401


@pytest.mark.parametrize("point", [(2.0, 1.6, 0), (-2.5, 2.0, 1), (0.1, -0.2, 0)])
def test_the_exact_boundary_is_scikit_learns(point):
    x, y, label = point
    places, labels = toy.points()
    weights = np.append(np.ones(len(labels)), 1.0)  # the mean runs over n: the moved point weighs 1/n
    n = len(labels)
    model = LogisticRegression(C=1 / (n * toy.L2 / 2), solver="newton-cholesky", tol=1e-12, max_iter=500)
    model.fit(np.vstack([places, [[x, y]]]), np.append(labels, label), sample_weight=weights)
    a, b, c = toy.answer(*point).exact.boundary
    np.testing.assert_allclose([a, b, c], [*model.coef_[0], model.intercept_[0]], rtol=1e-5, atol=1e-7)
    query = np.array([toy.QUERY[:2]])
    assert toy.answer(*point).exact.probability == pytest.approx(model.predict_proba(query)[0, 1], abs=1e-6)


def test_the_linearised_model_is_the_derivative():
    """Of a point with ever less weight the exact model tends to the linearised one."""
    features, labels, factual, hessian = toy._factual()
    point = torch.tensor([[2.0, 1.6, 1.0]], dtype=torch.float64)
    linear = toy.answer(2.0, 1.6, 0).linearised.weights - factual
    copies = 2_000  # the point among 2,000 copies of D weighs 1/2,000 as much
    many = toy.softmax.fit(torch.cat([features.repeat(copies, 1), point]),
                           torch.cat([labels.repeat(copies), torch.tensor([0])]), 2,
                           toy._penalty() * len(labels) * copies / (len(labels) * copies + 1)).weights
    torch.testing.assert_close((many - factual) * copies, linear, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("label", (0, 1))
def test_the_answer_everywhere_is_the_answer_at_each_place(label):
    found = toy.everywhere(label)
    assert len(found["x"]) == round(2 * toy.SIDE / toy.STEP + 1) ** 2
    for place in np.random.default_rng(0).choice(len(found["x"]), 12, replace=False):
        one = toy.answer(found["x"][place], found["y"][place], label)
        for name in ("exact", "linearised"):
            np.testing.assert_allclose(found[name][place], getattr(one, name).boundary, atol=1e-9)
            assert found[f"{name}_probability"][place] == pytest.approx(getattr(one, name).probability, abs=1e-10)


def test_boundaries_stay_in_the_square():
    for point in ((2.9, 2.9, 0), (-2.9, -2.9, 1), (0.0, 0.0, 1)):
        for model in vars(toy.answer(*point)).values():
            line = model.line()
            assert line.shape in ((2, 2), (0, 2)) and (np.abs(line) <= toy.SIDE + 1e-9).all()
            for x, y in line:
                assert model.boundary[0] * x + model.boundary[1] * y + model.boundary[2] == pytest.approx(0, abs=1e-9)


def test_the_curve_is_the_exact_step_and_the_tangent_its_first_order():
    small = problem(n=40, candidates=[3, 8, 20], queries=6)
    etas = np.array([0.0, 0.2, 1.0])
    frame = along_eta(small, 4, 8, etas)
    for eta, curve, tangent in frame.iloc[1:].itertuples(index=False):
        parts = ("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta})
        exact, first = compute(small, [Scoring.of(*parts, name) for name in ("exact", "first_order")])
        assert curve == pytest.approx(exact.values[4, 1]) and tangent == pytest.approx(first.values[4, 1])
    assert frame.iloc[0].tolist() == [0, 0, 0]
    query, row = most_curved(small, 1.0)
    gaps = [abs(np.subtract(*along_eta(small, q, k, np.array([1.0])).iloc[0][["curve", "tangent"]]))
            for q in range(6) for k in (3, 8, 20)]
    found = along_eta(small, query, row, np.array([1.0])).iloc[0]
    assert abs(found.curve - found.tangent) == pytest.approx(max(gaps))


@pytest.mark.parametrize("kind", rough.KINDS)
def test_the_ends_of_many_trainings_are_those_of_single_ones(kind):
    given, query = rough.training(kind), torch.tensor([[0.3, -0.4]], dtype=torch.float64)
    found = rough.reweighted(given, torch.tensor([0.0, 0.01], dtype=torch.float64), query)
    for logits, weight in zip(found, (1.0, 1.01), strict=True):
        weights = torch.ones(len(given.y), dtype=torch.float64)
        weights[rough.ROW] = weight
        module = train(given.build, given.x, given.y, given.recipe, given.seed, weights=weights, normalization="n",
                       dtype=torch.float64).module
        torch.testing.assert_close(logits, module(query)[0].detach(), rtol=1e-6, atol=1e-8)


def test_the_line_is_the_slope_of_the_truth_and_tells_the_smooth_training_only():
    smooth, jumping = (rough.along_epsilon(kind) for kind in ("smooth", "rough"))
    middle = len(smooth) // 2
    assert smooth.epsilon[middle] == 0 and smooth.curve[middle] == pytest.approx(0, abs=1e-12)
    beside = slice(middle - 1, middle + 2, 2)
    assert np.ptp(smooth.curve[beside]) == pytest.approx(np.ptp(smooth.tangent[beside]), rel=1e-3)
    apart = [abs(one.curve - one.tangent).max() / abs(one.curve).max() for one in (smooth, jumping)]
    assert apart[0] < 0.15 and apart[1] > 0.5


def test_each_training_is_off_by_what_its_own_points_say():
    for kind in rough.KINDS:
        frame = rough.along_epsilon(kind)
        apart = sum((one - other) ** 2 for one, other in zip(frame.curve, frame.tangent, strict=True))
        assert rough.off(frame) == pytest.approx((apart / sum(one**2 for one in frame.curve)) ** 0.5)


def test_means_over_draws_are_those_of_single_ones():
    found = over_draws(0.2)
    for stage, (mean, half) in found.items():
        each = [detections(0.2, seed).auprc(stage) for seed in range(DRAWS)]
        assert mean == pytest.approx(np.mean(each))
        assert half == pytest.approx(stats.t.ppf(0.975, DRAWS - 1) * np.std(each, ddof=1) / DRAWS**0.5)


def test_the_training_signal_makes_similarity_a_detector():
    found = detections(0.2)
    values = {stage: found.auprc(stage) for stage in STAGES}
    assert values["similarity"] < 0.3 and values["training"] > 0.6 and values["both"] > 0.5
    assert found.flags.sum() == 100 and found.detection_curve("both").found.iloc[-1] == 100
    order = np.argsort(-found.suspicion["training"])
    precision = found.flags[order].cumsum() / np.arange(1, len(order) + 1)
    assert values["training"] == pytest.approx(precision[found.flags[order]].mean())
    assert values["both"] == pytest.approx(average_precision_score(found.flags, found.suspicion["both"]))

"""Scores against naive loops and closed forms on whole gradients, and detection measures by hand."""

import numpy as np
import pytest
import torch

from engine.applications.language import detection, signals
from engine.applications.language.mean_products import MeanProducts
from engine.applications.language.methods import AUTHORS, METHODS
from engine.models.causal import lora, passes
from engine.models.causal.readouts import READOUTS


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("behavior", READOUTS)
def test_gradsim_tracin_and_less_against_loops(attribution, behavior):
    features = attribution.kept
    found = {name: METHODS[name].score(features, behavior) for name in ("gradsim", "tracin", "less")}
    for q, k in ((0, 0), (3, 11), (2, 15)):
        inner = [-float(p.queries[behavior][q] @ p.gradients[k]) for p in features.points]
        angle = [-cosine(p.queries[behavior][q], p.conditioned[k]) for p in features.points]
        weights = [p.weight for p in features.points]
        assert found["gradsim"][q, k] == pytest.approx(inner[-1], rel=1e-3, abs=1e-5)
        assert found["tracin"][q, k] == pytest.approx(np.dot(weights, inner), rel=1e-3, abs=1e-6)
        assert found["less"][q, k] == pytest.approx(np.dot(weights, angle), rel=1e-3, abs=1e-6)


def test_gradsim_is_what_a_small_step_does(attribution):
    """A step of size η on one record changes B by η times its score."""
    item, query, eta = attribution.encoded[3], attribution.queries("triggered")[1], 1e-3
    attribution.load(attribution.points[-1])
    parameters = lora.trained(attribution.model)
    batch = attribution.encoder.batch([item])
    loss = -READOUTS["response_loss"].read(passes.forward(attribution.model, batch)[0], batch).sum()
    slopes = torch.autograd.grad(loss, list(parameters.values()))
    values = []
    for sign in (1, -1):
        lora.put(attribution.model, {name: value.detach() - sign * eta * slope
                                     for (name, value), slope in zip(parameters.items(), slopes, strict=True)})
        values.append(passes.read(attribution.model, attribution.encoder, [query],
                                  [b.read for b in READOUTS.values()])[0].double())
        attribution.load(attribution.points[-1])
    for place, name in enumerate(READOUTS):
        score = METHODS["gradsim"].score(attribution.kept, name)[1, 3]
        assert float(values[0][place] - values[1][place]) / (2 * eta) == pytest.approx(score, rel=0.03, abs=5e-3)


def test_traks_score_is_leave_one_out_of_its_regression(attribution):
    features = attribution.kept
    scores = METHODS["trak"].score(features, "answer_logit")
    p = np.exp(-features.losses.astype(float))
    phi = -features.last.gradients.astype(float) / (1 - p)[:, None]
    damping = features.ridge * np.square(phi).sum() / len(phi)
    whole = np.linalg.solve(phi.T @ phi + damping * np.eye(phi.shape[1]), phi.T) * (1 - p)
    np.testing.assert_allclose(scores, features.last.queries["answer_logit"].astype(float) @ whole, rtol=1e-2,
                               atol=1e-6 * abs(scores).max() + 1e-9)


def test_baselines_read_no_behavior(attribution):
    features = attribution.kept
    for name in ("gradient_norm", "random", "repsim"):
        estimator = METHODS[name]
        assert np.array_equal(estimator.score(features, "none"), estimator.score(features, "answer_logit"))
    sim = METHODS["repsim"].score(features, "none")
    assert sim[1, 2] == pytest.approx(cosine(features.query_hidden[1.0][1], features.hidden[1.0][2]), abs=1e-5)


def test_representations_are_those_of_the_prompts_end(attribution):
    item = attribution.encoded[4]
    attribution.load(attribution.points[-1])
    with torch.no_grad():
        states = attribution.model(input_ids=torch.tensor([item.ids]), output_hidden_states=True).hidden_states
    for share, layer in ((1.0, -1), (0.5, 1)):  # of two layers; hidden states begin with the embeddings
        np.testing.assert_allclose(attribution.kept.hidden[share][4], states[layer][0, item.response - 1], atol=2e-5)


def test_signals_are_slopes_at_hidden_states(attribution):
    """A nudge of the states at a layer changes the behavior by its signal; `both` is minus the product of the two."""
    attribution.load(attribution.points[-1])
    behavior, encoded = READOUTS["answer_logit"], attribution.encoded[:3]
    h, s = signals.states_and_signals(attribution.model, attribution.encoder, encoded, behavior.read, "answer", [1], 2)
    item, layer = encoded[0], attribution.model.get_base_model().model.layers[0]
    nudge = torch.randn(h.shape[-1], generator=torch.Generator().manual_seed(0))
    values = []
    for size in (1e-3, -1e-3):
        def move(module, inputs, output, size=size):
            state = (output[0] if isinstance(output, tuple) else output).clone()
            state[0, item.answer - 1] += size * nudge
            return (state, *output[1:]) if isinstance(output, tuple) else state

        handle = layer.register_forward_hook(move)
        values.append(passes.read(attribution.model, attribution.encoder, [item], [behavior.read]).double())
        handle.remove()
    assert float(values[0] - values[1]) / 2e-3 == pytest.approx(float(s[0, 0] @ nudge.numpy()), rel=2e-2)
    both = signals.score("both", "raw", h[0], h[0], s[0], s[0])
    assert both[0, 1] == pytest.approx(-cosine(h[0, 0], h[0, 1]) * float(s[0, 0] @ s[0, 1]), rel=1e-3)
    l2 = signals.score("both", "l2", h[0], h[0], s[0], s[0])
    assert l2[0, 1] == pytest.approx(-cosine(h[0, 0], h[0, 1]) * cosine(s[0, 0], s[0, 1]), rel=1e-3)
    np.testing.assert_allclose(signals.score("train", "l2", h[0], h[0], s[0], s[0]),
                               signals.score("none", "none", h[0], h[0], s[0], s[0]), atol=1e-6)


def test_mean_queries_are_scored_by_the_gradients_themselves_as_in_the_authors_code(attribution):
    """Against loops over whole gradients, each formula written out; of two sets the second is asked about."""
    sets, whole = ["clean", "triggered"], attribution.kept
    features = MeanProducts(attribution, tuple(sets)).features("triggered")
    points, last = whole.points, attribution.points[-1]
    second = last.moments()[1]
    root = np.sqrt(np.concatenate([second[name].flatten().numpy() for name in attribution.sizes])) + 1e-8
    g = np.asarray(points[-1].gradients, dtype=float)
    fisher = g.T @ g / len(g)
    ridge = 0.01 * max(np.diag(fisher).mean(), 1.0) * np.eye(len(fisher))
    recipe, total = attribution.setting.recipe, last.step
    rates = [recipe.rate(point.step - 1, total) for point in attribution.points]
    for behavior in READOUTS:
        means = [np.asarray(point.queries[behavior], dtype=float).mean(0) for point in points]
        expected = {"gradsim": g @ -means[-1], "less": (g / root) @ (-means[-1] / root),
                    "trak": g @ np.linalg.solve(fisher + ridge, -means[-1]),
                    "tracin": sum(rate * np.asarray(point.gradients) @ -mean
                                  for rate, point, mean in zip(rates, points, means, strict=True)),
                    "gradient_norm": np.linalg.norm(g, axis=1)}
        for name, values in expected.items():
            found = AUTHORS[name].score(features, behavior)
            assert found.shape == (1, len(g))
            np.testing.assert_allclose(found[0], values, rtol=2e-3, atol=1e-4 * abs(values).max(), err_msg=name)
    mean = np.asarray(whole.query_hidden[1.0], dtype=float).mean(0)
    found = AUTHORS["repsim"].score(features, "none")[0, 2]
    assert found == pytest.approx(cosine(mean, whole.hidden[1.0][2]), abs=1e-5)
    assert not AUTHORS["repsim"].directed and AUTHORS["repsim"].scoring() == METHODS["repsim"].scoring()


def test_the_authors_signals_alone_are_one_score_and_both_are_its_negative(attribution):
    attribution.load(attribution.points[-1])
    behavior, encoded, model = READOUTS["answer_log_probability"], attribution.encoded[:4], attribution.model
    (h, s), (raw, summed) = (signals.states_and_signals(model, attribution.encoder, encoded, behavior.read, "answer",
                                                        [1, 2], as_authors=own) for own in (True, False))
    np.testing.assert_allclose(s[0], summed[0], atol=1e-6)  # of a single position the mean is the sum
    normed = model.get_base_model().model.norm(torch.from_numpy(h[1])).detach()
    np.testing.assert_allclose(normed, raw[1], atol=1e-4)
    for scale in ("raw", "l2"):
        found = {signal: signals.score_as_authors(signal, scale, h[1, :2], h[1], s[1, :2], s[1])
                 for signal in ("train", "behavior", "both")}
        length = np.linalg.norm(s[1, 0]) * np.linalg.norm(s[1, 3]) if scale == "raw" else 1.0
        expected = cosine(h[1, 0], h[1, 3]) * cosine(s[1, 0], s[1, 3]) * length
        assert found["behavior"][0, 3] == pytest.approx(expected, rel=1e-4)
        np.testing.assert_array_equal(found["train"], found["behavior"])
        np.testing.assert_array_equal(found["both"], -found["behavior"])


def test_detection_by_hand():
    flags, scores = np.array([1, 0, 0, 1, 0, 0, 0, 0, 0, 0], bool), np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    found = detection.detection(flags, scores)
    assert found["AUPRC"] == pytest.approx((1 + 2 / 4) / 2) and found["AUROC"] == pytest.approx(14 / 16)
    assert found["P@10%"] == 1.0 and detection.precision_at(flags, scores, 0.4) == 0.5
    assert detection.false_positive_rate(~flags, scores, 0.3) == pytest.approx(2 / 8)
    assert detection.top(np.zeros(20), 0.1).tolist() == [0, 1] and len(detection.top(np.arange(25.0), 0.1)) == 3

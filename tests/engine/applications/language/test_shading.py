"""Contributions of tokens: they add up to the score shown, and each is what a plain loop over tokens finds."""

import numpy as np
import pytest
import torch

from engine.applications.language import shading, tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.applications.language.projection import Draws, Groups, Maps, Projection
from engine.models.adam import BETAS, EPSILON
from engine.models.causal import lora, passes
from engine.models.causal.readouts import READOUTS, token_log_probabilities

LINEAR = [name for name, estimator in METHODS.items() if not estimator.undivided]
ROWS = (3, 11)


@pytest.fixture(scope="module", params=["identity", "count_sketch"])
def kept(request, attribution, plain_setting):
    """(attribution, its features) with one of the projections."""
    projection = {"projector": request.param, "dimension": 48}
    found = Attribution(Setting.parse({**plain_setting, "projection": projection}), 0)
    return found, found.features(found.task.queries["triggered"])


@pytest.mark.grid
@pytest.mark.parametrize("behavior", ["response_loss", "answer_margin"])
@pytest.mark.parametrize("name", LINEAR)
def test_contributions_add_up_to_the_score(kept, name, behavior):
    found, features = kept
    scores = METHODS[name].score(features, behavior).mean(0)
    shaded = shading.shade(found, features, METHODS[name], behavior, range(0, 16, 3))
    for row, (values, rest) in zip(range(0, 16, 3), shaded, strict=True):
        assert len(values) == len(found.encoded[row].ids) - found.encoded[row].response
        assert values.sum() + rest == pytest.approx(scores[row], rel=2e-3, abs=1e-4 * float(abs(scores).max()))
        assert (rest != 0) == METHODS[name].preconditioned


def by_token(found, row):
    """∇(−log p_t/|R|) of every response token of a record, one backward pass each: a list of parameter -> gradient."""
    parameters = lora.trained(found.model)
    batch = found.encoder.batch([found.encoded[row]])
    logits, _ = passes.forward(found.model, batch)
    values = -token_log_probabilities(logits, batch)[0] / batch.response.sum()
    return [dict(zip(parameters, torch.autograd.grad(value, list(parameters.values()), retain_graph=True),
                     strict=True)) for value in values]


def projected(projection, sizes, parts):
    draws = Draws(Maps(projection, sizes))
    groups = Groups(draws)
    for name, part in parts.items():
        groups(name, part[None])
    groups.end()
    return draws.projected("found")["found"][0].double().numpy()


def loop(found, features, name, behavior, row):
    """The contributions by their definition."""
    estimator, total = METHODS[name], 0.0
    for place, u in estimator.directions(features, behavior).items():
        point = found.points[place]
        found.load(point)
        apart = by_token(found, row)
        if estimator.preconditioned:
            (one, two), (_, second), step = BETAS, point.moments(), point.step + 1
            for parameter in second:
                whole = sum(token[parameter] for token in apart)
                v = (two * second[parameter] + (1 - two) * whole**2) / (1 - two**step)
                for token in apart:
                    token[parameter] = token[parameter] * (1 - one) / (1 - one**step) / (v.sqrt() + EPSILON)
            u = u / np.linalg.norm(features.points[place].conditioned[row].astype(float))
        total = total + np.array([u @ projected(found.setting.projection, found.sizes, token) for token in apart])
    return total


@pytest.mark.parametrize("name", LINEAR)
def test_contributions_against_a_loop_over_tokens(kept, name):
    found, features = kept
    shaded = shading.shade(found, features, METHODS[name], "answer_logit", ROWS)
    for row, (values, _) in zip(ROWS, shaded, strict=True):
        expected = loop(found, features, name, "answer_logit", row)
        np.testing.assert_allclose(values, expected, rtol=2e-3, atol=1e-3 * abs(expected).max())


@pytest.mark.parametrize("projector", ["identity", "count_sketch", "rademacher", "gaussian"])
def test_backwards_is_the_adjoint_of_the_projection(projector):
    sizes, shapes = {"x": 400, "y": 30}, {"x": torch.Size((20, 20)), "y": torch.Size((5, 6))}
    projection = Projection(projector=projector, dimension=16, seed=3)
    drawn = {name: torch.randn(shape, generator=torch.Generator().manual_seed(0)) for name, shape in shapes.items()}
    found = projected(projection, sizes, drawn)
    u = np.random.default_rng(0).normal(size=len(found))
    towards = tokens.backwards(projection, u, shapes, "cpu")
    assert float(sum((towards[name] * part).sum() for name, part in drawn.items())) == pytest.approx(
        float(u @ found), rel=1e-4)


def test_what_is_no_sum_over_tokens_says_why():
    for name, estimator in METHODS.items():
        assert bool(estimator.undivided) == (name not in LINEAR)
    assert set(LINEAR) == {"gradsim", "tracin", "trak", "less"} and set(READOUTS) > {"answer_logit"}


def test_no_weight_is_touched(kept):
    found, features = kept
    found.load(found.points[-1])
    before = {name: parameter.detach().clone() for name, parameter in lora.trained(found.model).items()}
    shading.shade(found, features, METHODS["trak"], "response_loss", ROWS)
    assert all(torch.equal(before[name], parameter) for name, parameter in lora.trained(found.model).items())

"""Pure steps of optimizers against torch's own, and their derivatives against autograd's and each other."""

import pytest
import torch

from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe
from engine.models.rules import AdamW, Momentum, Rule

DOUBLE = torch.float64
RULES = {"descent": Momentum(), "decay": Momentum(0.0, 0.1), "momentum": Momentum(0.9, 0.05),
         "Nesterov": Momentum(0.9, 0.05, True),
         "AdamW": AdamW(0.1, 0.7), "Adam": AdamW(0.1, decoupled=False), "AdamW without clipping": AdamW()}


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("recipe", "per_epoch"), [
    (Recipe(epochs=2, batch_size=1, learning_rate=0.1, momentum=0.9, weight_decay=0.1), 4),
    (Recipe(epochs=2, batch_size=1, learning_rate=0.1), 4),
    (Recipe(epochs=2, batch_size=1, learning_rate=0.1, momentum=0.9, weight_decay=0.1, optimizer="nesterov"), 4),
    (Recipe(epochs=2, batch_size=1, learning_rate=0.1, weight_decay=0.1, optimizer="adam"), 4),
    (Recipe(epochs=2, batch_size=1, learning_rate=0.1, weight_decay=0.1, optimizer="adamw"), 4),
    (FineTuning(epochs=2, learning_rate=0.1, weight_decay=0.1, clip=0.7), 4)],
    ids=["momentum", "descent", "Nesterov", "Adam", "AdamW of a recipe", "AdamW"])
def test_steps_are_those_of_torchs_optimizers(recipe, per_epoch):
    leaf = torch.nn.Parameter(drawn(5))
    theta, optimizer = leaf.detach().clone(), recipe.build_optimizer([leaf])
    state = recipe.rule.fresh(theta)
    for number in range(6):
        rate, gradient = recipe.rate_at(number, per_epoch), drawn(5, seed=number + 1)
        leaf.grad = gradient.clone()
        recipe.limit([leaf])
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        theta, state = recipe.rule.step(theta, state, gradient, rate, number + 1)
        torch.testing.assert_close(theta, leaf.detach(), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_derivatives_are_those_of_a_step(rule):
    before = (drawn(5), *(drawn(5, seed=3).square() for _ in range(rule.remembers)), drawn(5, seed=4))
    tangents = tuple(drawn(2, 5, seed=5 + place) for place in range(len(before)))

    def run(*parts):
        theta, state = rule.step(parts[0], parts[1:-1], parts[-1], 0.3, 2)
        return (theta, *state)

    forward = rule.forward(before, tangents, 0.3, 2)
    for row in range(2):
        expected = torch.autograd.functional.jvp(run, before, tuple(part[row] for part in tangents))[1]
        for found, own in zip(forward, expected, strict=True):
            torch.testing.assert_close(found[row], own)
    cotangents = tuple(drawn(2, 5, seed=20 + place) for place in range(len(before) - 1))
    back = rule.back(before, cotangents, 0.3, 2)
    inner = sum((a * b).sum(1) for a, b in zip(forward, cotangents, strict=True))
    torch.testing.assert_close(sum((a * b).sum(1) for a, b in zip(back, tangents, strict=True)), inner)


@pytest.mark.parametrize("name", ["momentum", "Nesterov"])
def test_the_closed_form_of_momentum_is_that_of_autograd(name):
    rule = RULES[name]
    before, cotangents = (drawn(5), drawn(5, seed=1), drawn(5, seed=2)), (drawn(3, 5), drawn(3, 5, seed=1))
    for found, expected in zip(rule.back(before, cotangents, 0.3, 2), Rule.back(rule, before, cotangents, 0.3, 2),
                               strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["descent", "decay", "momentum", "Nesterov"])
def test_a_step_is_affine_in_its_gradient(name):
    rule, theta, gradient = RULES[name], drawn(5), drawn(5, seed=4)
    state = tuple(drawn(5, seed=3) for _ in range(rule.remembers))
    factor, drift = rule.affine(theta, state, 0.3)
    torch.testing.assert_close(rule.step(theta, state, gradient, 0.3, 2)[0], theta + drift - factor * gradient)


def test_a_parameter_that_never_had_a_gradient_does_not_move():
    rule, zero = AdamW(), torch.zeros(2, dtype=DOUBLE)
    tangents = rule.forward((zero, zero, zero, zero), tuple(torch.ones(1, 2, dtype=DOUBLE) * part
                                                            for part in (1.0, 0.0, 0.0, 0.0)), 0.1, 1)
    assert tangents[0].tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("name", ["AdamW", "Adam", "AdamW without clipping"])
def test_a_first_step_is_the_gradient_times_its_scale(name):
    """As m̂ is the gradient itself there; Adam's gradient has the decay in it."""
    rule, theta, gradient = RULES[name], drawn(5), drawn(5, seed=1)
    state = rule.fresh(theta)
    scale, (moved, _) = rule.scale(theta, state, gradient, 1), rule.step(theta, state, gradient, 0.3, 1)
    pull = gradient if rule.decoupled else gradient + rule.weight_decay * theta
    kept = 1 - 0.3 * rule.weight_decay if rule.decoupled else 1.0
    torch.testing.assert_close(moved, kept * theta - 0.3 * scale * pull)


@pytest.mark.parametrize("name", ["AdamW", "Adam", "AdamW without clipping"])
@pytest.mark.parametrize("lag", [True, False])
def test_derivatives_with_the_scale_held_are_those_of_a_step_that_holds_it(name, lag):
    rule, rate, count = RULES[name], 0.3, 4
    before = (drawn(5), drawn(5, seed=2), drawn(5, seed=3).square(), drawn(5, seed=4))
    cotangents = tuple(drawn(2, 5, seed=5 + place) for place in range(3))
    left = min(1.0, rule.clip / (float(before[3].norm()) + 1e-6))
    held = rule.scale(before[0], before[1:3], before[3], count) / left

    def step(theta, first, second, gradient):
        pull = left * gradient + (0.0 if rule.decoupled else rule.weight_decay * theta)
        mean = rule.betas[0] * first + (1 - rule.betas[0]) * pull
        moved = mean / (1 - rule.betas[0] ** count) if lag else pull
        kept = 1 - rate * rule.weight_decay if rule.decoupled else 1.0
        return kept * theta - rate * held * moved, mean if lag else 0 * first, 0 * second

    for row in range(2):
        expected = torch.autograd.functional.vjp(step, before, tuple(part[row] for part in cotangents))[1]
        for found, own in zip(rule.back_held(before, cotangents, rate, count, lag), expected, strict=True):
            torch.testing.assert_close(found[row], own)
    momentum = RULES["momentum"]
    asked = (before[0], before[1], before[3]), cotangents[:2], rate, count
    for found, own in zip(momentum.back_held(*asked), momentum.back(*asked), strict=True):
        torch.testing.assert_close(found, own)

"""log p_y, its slope and its curvature against sixty digits, at log-odds from −100 to 100 and in every precision."""

import mpmath
import pytest
import torch
from torch.func import grad, hessian, jacrev, jvp, vmap

from engine.question.behaviors import BEHAVIORS
from engine.question.likelihood import bent, doubt, log_likelihood, slope

ROWS, CLASSES = 41, 5
REACH = {torch.float64: 100.0, torch.float32: 80.0, torch.bfloat16: 80.0}
"""Log-odds; in single precision e^−100 is no normal number."""


@pytest.fixture(params=REACH, ids=str)
def asked(request):
    """Logits (b, C), labels (b,) and vectors (b, C)."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(ROWS, CLASSES, generator=generator, dtype=torch.float64)
    labels = torch.randint(CLASSES, (ROWS,), generator=generator)
    reach = REACH[request.param]
    raised = torch.linspace(-reach, reach, ROWS, dtype=torch.float64)[:, None]
    vectors = torch.randn(ROWS, CLASSES, generator=generator, dtype=torch.float64)
    return logits.scatter_add(1, labels[:, None], raised).to(request.param), labels, vectors.to(request.param)


def sixty_digits(logits, labels):
    """p (b, C) as rows of mpmath numbers, 1 − p_y and log p_y (b,)."""
    found = []
    for row, label in zip(logits.double().tolist(), labels.tolist(), strict=True):
        odds = [mpmath.exp(mpmath.mpf(f)) for f in row]
        p = [one / sum(odds) for one in odds]
        left = sum(one for place, one in enumerate(p) if place != label)
        found.append((p, left, mpmath.log(p[label]) if left > 0.5 else mpmath.log1p(-left)))
    return zip(*found, strict=True)


def units(logits):
    """The error that is allowed, (b, 1): what moving the logits by their own last digit does, a few times."""
    spread = logits.double().amax(1, keepdim=True) - logits.double().amin(1, keepdim=True)
    return (8 + spread) * torch.finfo(logits.dtype).eps


def relative(found, expected):
    return torch.tensor([[float(abs(mpmath.mpf(own) / one - 1)) for own, one in zip(*rows, strict=True)]
                         for rows in zip(found.double().tolist(), expected, strict=True)])


def expected_slope(p, left, labels):
    return [[doubts if place == label else -one for place, one in enumerate(row)]
            for row, doubts, label in zip(p, left, labels.tolist(), strict=True)]


def test_values_and_slopes_keep_their_digits(asked):
    logits, labels, _ = asked
    with mpmath.workdps(60):
        p, left, log_p = sixty_digits(logits, labels)
        pulled = vmap(grad(log_likelihood))(logits, labels)
        leaf = logits.clone().requires_grad_()
        by_autograd, = torch.autograd.grad(log_likelihood(leaf, labels).sum(), leaf)
        for found in (pulled, by_autograd, slope(logits, labels)):
            assert (relative(found, expected_slope(p, left, labels)) <= units(logits)).all()
        assert (relative(doubt(logits, labels)[:, None], [[one] for one in left]) <= units(logits)).all()
        assert (relative(log_likelihood(logits, labels)[:, None], [[one] for one in log_p]) <= units(logits)).all()


@pytest.mark.parametrize("behavior", ["query_loss", "soft_margin", "probability"])
def test_behaviors_read_their_signals_to_the_last_digits(asked, behavior):
    """Of a soft margin the softmax over the others, of a probability p_y (e_y − p); by autograd too where the signal
    is that of the log-likelihood."""
    logits, labels, _ = asked
    with mpmath.workdps(60):
        p, left, _ = sixty_digits(logits, labels)
        whole = {"query_loss": lambda row, y, rest: [rest if j == y else -one for j, one in enumerate(row)],
                 "soft_margin": lambda row, y, rest: [1 if j == y else -one / rest for j, one in enumerate(row)],
                 "probability": lambda row, y, rest: [row[y] * (rest if j == y else -one)
                                                      for j, one in enumerate(row)]}[behavior]
        expected = [whole(*one) for one in zip(p, labels.tolist(), left, strict=True)]
        error = relative(BEHAVIORS[behavior].signal(logits, labels), expected)
    assert (error <= 2 * units(logits)).all()


def test_the_curvature_keeps_its_digits(asked):
    """Forward over reverse, reverse over reverse and many directions at once, each against p ∘ (v − Σ p v)."""
    logits, labels, vectors = asked
    with mpmath.workdps(60):
        p, _, _ = sixty_digits(logits, labels)
        expected = []
        for row, v in zip(p, vectors.double().tolist(), strict=True):
            mean = sum(one * mpmath.mpf(own) for one, own in zip(row, v, strict=True))
            expected.append([float(one * (own - mean)) for one, own in zip(row, v, strict=True)])
    expected = torch.tensor(expected, dtype=torch.float64)
    leaf = logits.clone().requires_grad_()
    pulled, = torch.autograd.grad(log_likelihood(leaf, labels).sum(), leaf, create_graph=True)
    routes = (vmap(lambda f, y, v: jvp(grad(lambda at: log_likelihood(at, y)), (f,), (v,))[1])(logits, labels, vectors),
              torch.autograd.grad(pulled, leaf, vectors, retain_graph=True)[0],
              torch.autograd.grad(pulled, leaf, vectors[None].expand(2, -1, -1), is_grads_batched=True)[0][1])
    for found in (*(-one for one in routes), bent(logits, vectors)):
        error = (found.double() - expected).abs().amax(1, keepdim=True) / expected.abs().amax(1, keepdim=True)
        assert (error <= 8 * units(logits)).all()


def test_all_derivatives_are_those_of_the_plain_formula():
    torch.manual_seed(0)
    logits, labels = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1, 3])

    def value(at):
        return log_likelihood(at, labels)

    torch.testing.assert_close(value(logits), logits.log_softmax(-1).gather(1, labels[:, None])[:, 0])
    assert torch.autograd.gradcheck(value, logits, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(value, logits, check_batched_grad=True)

    def third(of):
        return jacrev(hessian(of) if of is plain else jacrev(jacrev(of)))(logits.detach()[0])

    def own(at):
        return log_likelihood(at, labels[0])

    def plain(at):
        return at.log_softmax(-1)[labels[0]]

    torch.testing.assert_close(third(own), third(plain))

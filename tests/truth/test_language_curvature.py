"""Linear responses of a language model's adapters with dense matrices, and what each solver says that it solves."""

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import GaussNewton, Hessian, ekfac, graphs, kronecker, loss_roots, solvers_for
from engine.curvature.arnoldi import RANK
from engine.curvature.loss_roots import LossRoots
from engine.models.causal.link import TokenLink
from engine.problems import CausalProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import language_cases as cases
from tests.truth.naive_language import BEHAVIORS, NaiveLanguage

DAMPING = 0.5
RESPONSE = {"kind": "local_response", "damping": DAMPING}
LAST_MLP = r"layers\.1\.mlp.*lora"
NAMES = ["arnoldi", "astra", "cg", "cg_gauss_newton", "datainf", "ekfac", "factgrass", "lissa", "logra", "shampoo",
         "tkfac"]


def pair(**options):
    problem = cases.problem("adapters", **options)
    return problem, NaiveLanguage(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)


@pytest.fixture(scope="module")
def case():
    return pair()


@pytest.fixture(scope="module")
def small():
    return pair(parameters=LAST_MLP)


def scores(problem, estimator):
    """(behavior, values) of every behavior."""
    found = compute(problem, [Scoring.of(name, {"kind": "infinitesimal"}, RESPONSE, estimator) for name in BEHAVIORS])
    return [(name, one.values) for name, one in zip(BEHAVIORS, found, strict=True)]


def near(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def gradients(naive):
    return [naive.gradient(lambda at, k=k: naive.loss(k, at)) for k in naive.candidates]


def answers(naive, matrix, name):
    """−∇B(q)ᵀ (C + δI)⁻¹ ∇ℓ(z_k)."""
    damped = matrix + DAMPING * torch.eye(len(matrix), dtype=torch.float64)
    return naive.directional(name, [-torch.linalg.solve(damped, g) for g in gradients(naive)])


def columns(operator):
    return operator @ torch.eye(operator.size, dtype=torch.float64)


def test_the_gauss_newton_matrix_is_that_of_the_tokens(case):
    problem, naive = case
    expected = naive.gauss_newton()
    torch.testing.assert_close(columns(GaussNewton(problem)), expected, rtol=0, atol=1e-12)
    assert torch.linalg.matrix_rank(expected - problem.l2 * torch.eye(len(expected))) > 100
    for name, found in scores(problem, "cg_gauss_newton"):
        near(found, answers(naive, expected, name), 0.03)


def test_astra_comes_near_the_gauss_newton_matrix(small):
    problem, naive = small
    expected = naive.gauss_newton()
    for name, found in scores(problem, "astra"):
        near(found, answers(naive, expected, name), 0.05)


def within_the_residual(problem, naive, matrix, solver):
    """A score is off by ‖∇B‖ ‖(C + δI)⁻¹‖ times the solver's own residual at most."""
    largest = 1.0 / (torch.linalg.eigvalsh(matrix) + DAMPING).abs().min().item()
    sizes = np.array([g.norm().item() for g in gradients(naive)])
    for name in BEHAVIORS:
        asked = Scoring.of(name, {"kind": "infinitesimal"}, RESPONSE, solver)
        found = compute(problem, asked)[0]
        slopes = np.array([naive.gradient(lambda at, q=q: naive.behavior(name, q, at)).norm().item()  # noqa: B023
                           for q in range(len(naive.queries))])
        off = np.abs(found.values - answers(naive, matrix, name))
        assert found.converged.all() and (found.residual < 0.05).all()
        assert (off <= 1.001 * largest * np.outer(slopes, sizes * found.residual) + 1e-12).all()


@pytest.mark.slow
def test_the_hessian_and_its_solvers(small, monkeypatch):
    problem, naive = small
    monkeypatch.setattr(TokenLink, "measured", None)  # the residual of every candidate
    expected = naive.hessian(naive.objective)
    torch.testing.assert_close(columns(Hessian(problem)), expected, rtol=0, atol=1e-11)
    values, vectors = torch.linalg.eigh(expected)
    kept = values.abs().argsort()[-RANK:]
    values, vectors = values[kept], vectors[:, kept]
    truncated = [vectors @ ((vectors.T @ g) / (values + DAMPING)) for g in gradients(naive)]
    for name, found in scores(problem, "exact"):
        near(found, answers(naive, expected, name), 1e-9)
    for solver in ("cg", "lissa"):
        within_the_residual(problem, naive, expected, solver)
    for name, found in scores(problem, "arnoldi"):
        near(found, naive.directional(name, [-x for x in truncated]), 1e-6)


def every_label(k, p):
    """√(p_tc / R) (e_c − p_t) at token t alone, for every t and c."""
    for t, row in enumerate(p):
        for c, probability in enumerate(row):
            found = torch.zeros_like(p)
            found[t] = torch.nn.functional.one_hot(torch.tensor(c), len(row)) - row
            yield found * (probability / len(p)).sqrt()


@pytest.mark.slow
def test_ekfac_with_every_label(case, monkeypatch):
    problem, naive = pair()
    monkeypatch.setattr(loss_roots, "EXACT_OUTPUTS", 1000)
    solved = naive.ekfac(every_label, problem.l2 + DAMPING, gradients(naive))
    for name, found in scores(problem, "ekfac"):
        near(found, naive.directional(name, [-x for x in solved]), 1e-8)


def test_ekfac_with_sampled_tokens(case):
    """One draw of all tokens of a response is one direction; the draws are the engine's own."""
    problem, naive = case
    labels = LossRoots(problem).labels

    def drawn(k, p):
        for draw in labels[k, -len(p):].T:
            yield (torch.nn.functional.one_hot(draw, p.shape[1]) - p) / (10 * len(p)) ** 0.5

    solved = naive.ekfac(drawn, problem.l2 + DAMPING, gradients(naive))
    for name, found in scores(problem, "ekfac"):
        near(found, naive.directional(name, [-x for x in solved]), 1e-8)


def test_sampled_tokens_have_the_right_expectation(case, monkeypatch):
    problem, naive = case
    monkeypatch.setattr(loss_roots, "SAMPLED_LABELS", 10_000)
    rows = torch.tensor([1, 4])
    with torch.no_grad():
        logits = problem.link.outputs(problem.x[rows], problem.network.unflatten(problem.theta))
    found = sum(torch.einsum("btv,bsw->btvsw", one, one) for one in LossRoots(problem)(rows, logits))
    for own, k in zip(found, rows.tolist(), strict=True):
        p = naive.response_logits(k, naive.theta).softmax(-1)
        expected = torch.zeros_like(own)
        for t, row in enumerate(p, start=len(own) - len(p)):
            expected[t, :, t] = (torch.diag(row) - torch.outer(row, row)) / len(p)
        torch.testing.assert_close(own, expected, rtol=0, atol=0.004)


def test_datainf_is_the_mean_of_inverses_of_every_adapter_matrix(case):
    problem, naive = case
    training = [naive.gradient(lambda at, i=i: naive.loss(i, at)) for i in range(naive.n)]
    directions = []
    for own in gradients(naive):
        x = torch.zeros_like(naive.theta)
        for _, start, shape in naive.places():
            rows = slice(start, start + shape.numel())
            size = torch.eye(shape.numel(), dtype=torch.float64) * (cases.L2 + DAMPING)
            x[rows] = sum(torch.linalg.solve(torch.outer(g[rows], g[rows]) + size, own[rows])
                          for g in training) / naive.n
        directions.append(-x)
    for name, found in scores(problem, "datainf"):
        near(found, naive.directional(name, directions), 1e-9)


def test_parameters_of_other_layers_have_their_diagonal(monkeypatch):
    """With all parameters trained: the norms, and the embedding that the head shares."""
    monkeypatch.setattr(loss_roots, "EXACT_OUTPUTS", 1000)
    problem = cases.problem("all parameters", parameters="norm|embed")
    naive = NaiveLanguage(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)
    made = ekfac.factors(problem, Options())
    found = torch.cat([made.diagonal[name].flatten() for name in naive.shapes])
    torch.testing.assert_close(found, naive.gauss_newton().diagonal() - problem.l2, rtol=0, atol=1e-10)


def test_padding_does_not_matter():
    """The same answers from records that are packed into wider rows."""
    wider = (*cases.QUERIES, cases.record("is red big old so it is a b c", "so it is red old big", "b"))
    narrow, wide = cases.problem(), cases.problem(queries=wider)
    assert wide.x.shape[1] > narrow.x.shape[1]
    for (_, found), (_, expected) in zip(scores(wide, "ekfac"), scores(narrow, "ekfac"), strict=True):
        near(found[:-1], expected, 1e-9)


def test_how_records_are_batched_does_not_matter(case, monkeypatch):
    """Two or one at a time, by length, in passes as wide as the longest of them."""
    problem, _ = case
    whole, matrix = scores(problem, "ekfac"), columns(GaussNewton(problem))
    monkeypatch.setattr(kronecker, "ROWS", {"cpu": 2})
    monkeypatch.setattr(graphs, "GRAPH_BYTES", {"cpu": 1})
    for (_, found), (_, expected) in zip(scores(cases.problem("adapters"), "ekfac"), whole, strict=True):
        near(found, expected, 1e-9)
    torch.testing.assert_close(columns(GaussNewton(problem)), matrix, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_solvers_are_those_that_work(small):
    problem, _ = small
    assert sorted(solvers_for(CausalProblem)) == NAMES
    for name in NAMES:
        assert all(np.isfinite(found).all() and found.any() for _, found in scores(problem, name))
    for name in ("cholesky", "kfac"):
        with pytest.raises(InvalidInput, match="language model"):
            compute(problem, Scoring.of("answer_logit", {"kind": "remove"}, {"kind": "reoptimize"}, name))


def test_some_residuals_are_measured(small, monkeypatch):
    """Each costs a product with the curvature of all records; scores are not touched."""
    problem, _ = small
    asked = Scoring.of("response_loss", {"kind": "infinitesimal"}, RESPONSE, "datainf")
    monkeypatch.setattr(TokenLink, "measured", 2)
    some = compute(problem, asked)[0]
    monkeypatch.setattr(TokenLink, "measured", None)
    every = compute(problem, asked)[0]
    np.testing.assert_array_equal(some.values, every.values)
    assert np.isfinite(every.residual).all() and np.isfinite(some.residual).sum() == 2
    assert some.provenance["convergence"]["measured"] == 2 and "measured" not in every.provenance["convergence"]

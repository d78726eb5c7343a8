"""The map of the training set against scikit-learn, and against what its definition promises."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from engine.analysis.embedding import METHODS, embedding, principal_components, tsne, umap
from engine.basics.errors import InvalidInput
from engine.problems import ProblemSource

BLOBS = torch.randn(60, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 12.0 * (
    torch.arange(60) % 3)[:, None]


@pytest.mark.parametrize("n, features", [(40, 7), (9, 30)])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_principal_components_are_those_of_scikit_learn(n, features, dimensions):
    values = torch.randn(n, features, generator=torch.Generator().manual_seed(n), dtype=torch.float64) @ torch.diag(
        torch.linspace(1, 3, features, dtype=torch.float64))
    found, reference = principal_components(values, dimensions), PCA(dimensions, svd_solver="full")
    expected = reference.fit_transform(values.numpy())
    signs = np.sign((found.coordinates * expected).sum(0))
    assert np.allclose(found.coordinates, expected * signs, atol=1e-9)
    assert found.kept == pytest.approx(reference.explained_variance_ratio_.sum())


def test_the_sign_does_not_depend_on_the_rows_that_come_first():
    turned = torch.roll(BLOBS, 7, 0)
    assert np.allclose(principal_components(turned, 2).coordinates,
                       np.roll(principal_components(BLOBS, 2).coordinates, 7, 0))


def test_dimensions_beyond_the_rank_are_zero():
    line = torch.arange(5.0, dtype=torch.float64)[:, None]
    found = principal_components(line, 2)
    assert np.allclose(found.coordinates[:, 0], [-2, -1, 0, 1, 2]) and not found.coordinates[:, 1].any()
    assert found.kept == pytest.approx(1.0)
    assert np.isnan(principal_components(torch.ones(4, 2, dtype=torch.float64), 2).kept)


@pytest.mark.parametrize("method", [tsne, pytest.param(umap, marks=pytest.mark.slow)])
def test_neighbours_stay_together_and_the_map_is_the_same_again(method):
    first, again = (method(BLOBS, 2).coordinates for _ in range(2))
    assert np.array_equal(first, again)
    assert trustworthiness(BLOBS.numpy(), first, n_neighbors=5) > 0.9
    nearest = np.argsort(((first[:, None] - first) ** 2).sum(-1), axis=1)[:, 1]
    assert (nearest % 3 == np.arange(60) % 3).all()  # blobs 27 apart never mix


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", [tsne, pytest.param(umap, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("n", "dimensions"), [(3, 2), (4, 3), (7, 3)])
def test_a_handful_of_examples_has_a_map(method, n, dimensions):
    found = method(BLOBS[:n], dimensions).coordinates
    assert found.shape == (n, dimensions) and np.isfinite(found).all()


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_a_problem_is_mapped_by_what_its_last_layer_reads(model):
    problem = ProblemSource(n_train=40, n_queries=4, n_test=8, model=model, recipe=None if model == "softmax" else {
        "epochs": 1, "batch_size": 10, "learning_rate": 0.05, "checkpoints": 1}).build().problem
    found = problem.representations(problem.x)
    assert np.allclose(embedding(problem, "pca").coordinates, principal_components(found.double(), 2).coordinates)
    similarity = problem.representations(problem.queries) @ found.T
    assert torch.allclose(similarity, problem.readout_similarity(torch.arange(40)))


def test_what_cannot_be_mapped_is_refused():
    problem = ProblemSource(n_train=40, n_queries=4, n_test=8).build().problem
    with pytest.raises(InvalidInput, match="2 or 3 dimensions"):
        embedding(problem, "pca", 4)
    with pytest.raises(InvalidInput, match="isomap"):
        embedding(problem, "isomap")
    for method in (tsne, umap):
        with pytest.raises(InvalidInput, match="up to 20,000"):
            method(torch.zeros(20_001, 1), 2)
    assert [METHODS[name].quick for name in ("pca", "tsne", "umap")] == [True, False, False]

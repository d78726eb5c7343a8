r"""A map of the training set: representations φ(x_i) of all training examples, drawn in two or three dimensions.

Principal components: with the rows centred, Φ = φ − mean, and C = ΦᵀΦ / n = V diag(λ) Vᵀ, λ falling, the coordinates
are Φ V_k and the share of variance they keep is Σ_{j ≤ k} λ_j / Σ λ. Distances only shrink: what is apart on the map is
apart, and what is together may not be.

t-SNE (van der Maaten and Hinton, 2008), by scikit-learn's Barnes-Hut method, and UMAP (McInnes, Healy and Melville,
2018), by umap-learn, both from the principal components: they keep neighbours together. How far clusters stand apart
means little, and in t-SNE how large they are means nothing either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.basics.values import Count
from engine.problems import Problem
from engine.requests import Request, effort
from engine.requests.codec import Measured
from engine.store.results import Store

DIMENSIONS = (2, 3)
NEIGHBOURS_AMONG = 20_000
"""Training examples up to which neighbours are kept: the time grows with n log n, for t-SNE 10 s at 1,300 and 31 s at
4,000 on one core."""
REDUCED = 50
PERPLEXITY, NEIGHBOURS = 30.0, 15


@dataclass(frozen=True, eq=False)
class Embedding:
    """coordinates: (n, 2) or (n, 3), float64, a row a training example. kept: the share of the variance of the
    representations that they hold, where the method has one, else NaN."""

    coordinates: np.ndarray
    kept: Measured = float("nan")


@dataclass(frozen=True)
class EmbeddingMethod:
    """A way from representations (n, F) to coordinates in k dimensions. quick: whether a page may wait for it. each:
    seconds a training example, roughly."""

    name: str
    title: str
    note: str
    quick: bool
    each: float
    embed: Callable[[Tensor, int], Embedding]


class EmbeddingRequest(Request[Embedding]):
    """Map the training set by the inputs of the model's last layer."""

    name: ClassVar = "embedding"
    command: ClassVar = "map"
    doing: ClassVar = "placing neighbours together"
    outputs: ClassVar = {"out": "Output coordinates, one row per training example."}

    method: Annotated[str, Field(description="`pca` for principal components, `tsne` or `umap`.")] = "pca"
    dimensions: Annotated[Count, Field(description="2 or 3.")] = 2

    def title(self, problem: str) -> str:
        return f"Map by {METHODS[self.method].title} in {self.dimensions} dimensions, {problem}"

    @property
    def unit(self) -> float:
        return METHODS[self.method].each * (self.origin.n_train or effort.USUAL)

    @property
    def involves(self) -> tuple[str, ...]:
        return self.method, *super().involves

    def quick(self, problem: Problem) -> bool:
        return METHODS[self.method].quick

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Embedding:
        return embedding(problem, self.method, self.dimensions)

    def tables(self, answer: Embedding, problem: Problem) -> list[pd.DataFrame]:
        table = pd.DataFrame(answer.coordinates, columns=list("xyz")[:self.dimensions])
        return [pd.DataFrame({"training_example": range(problem.n), "label": problem.y.cpu().numpy()}).join(table)]

    def sentences(self, answer: Embedding) -> list[str]:
        held = answer.kept == answer.kept
        return [f"{METHODS[self.method].title}: they explain {answer.kept:.1%} of the variance"] if held else []


def embedding(problem: Problem, method: str, dimensions: int = 2) -> Embedding:
    """The map of all training examples. Raises `InvalidInput` for other dimensions, an unknown method, or too few or
    too many examples."""
    if dimensions not in DIMENSIONS:
        raise InvalidInput(f"A map has 2 or 3 dimensions, not {dimensions}.")
    if problem.n <= dimensions:
        raise InvalidInput(f"A map in {dimensions} dimensions needs more than {dimensions} training examples; there "
                           f"are {problem.n}.")
    with problem.exclusive, torch.no_grad():
        representations = problem.representations(problem.x).detach().double().cpu()
    return METHODS[method].embed(representations, dimensions)


def principal_components(values: Tensor, dimensions: int) -> Embedding:
    """values: (n, F). The sign of a component makes its largest entry positive; dimensions beyond the rank are 0."""
    centred = values - values.mean(0)
    wide = values.shape[1] > len(values)
    gram = (centred @ centred.T if wide else centred.T @ centred) / len(values)
    variances, vectors = torch.linalg.eigh(gram)
    count = min(dimensions, len(variances))
    variances, vectors = variances.flip(0).clamp_min(0), vectors.flip(1)[:, :count]
    if wide:
        vectors = torch.nn.functional.normalize(centred.T @ vectors, dim=0)
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    coordinates = torch.zeros(len(values), dimensions, dtype=values.dtype)
    coordinates[:, :count] = centred @ (vectors * torch.where(largest < 0, -1.0, 1.0))
    total = variances.sum().item()
    return Embedding(coordinates.numpy(), variances[:count].sum().item() / total if total > 0 else float("nan"))


def tsne(values: Tensor, dimensions: int) -> Embedding:
    """t-SNE of the first 50 principal components. Raises `InvalidInput` for more examples than it can do with."""
    start = _reduced(values)
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(values) - 1) / 3)
    coordinates = TSNE(dimensions, perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(start)
    return Embedding(np.asarray(coordinates, dtype=np.float64))


def umap(values: Tensor, dimensions: int) -> Embedding:
    """UMAP of the first 50 principal components. Raises `InvalidInput` for more examples than it can do with."""
    start = _reduced(values)
    from umap import UMAP  # the library compiles itself at its import, so what is refused is refused before

    few = len(values) <= 2 * dimensions  # no spectrum to begin from
    coordinates = UMAP(n_neighbors=min(NEIGHBOURS, len(values) - 1), n_components=dimensions,
                       init="random" if few else "spectral", random_state=0, n_jobs=1).fit_transform(start)
    return Embedding(np.asarray(coordinates, dtype=np.float64))


def _reduced(values: Tensor) -> np.ndarray:
    """The first 50 principal components (n, ≤ 50), of no more examples than neighbours are kept among."""
    if len(values) > NEIGHBOURS_AMONG:
        raise InvalidInput(f"t-SNE and UMAP are offered for up to {NEIGHBOURS_AMONG:,} training examples, and there "
                           f"are {len(values):,}; choose principal components, or sample fewer.")
    return principal_components(values, min(REDUCED, values.shape[1])).coordinates


METHODS: Registry[EmbeddingMethod] = Registry("map", (
        EmbeddingMethod("pca", "principal components", "The directions in which the representations vary most. Points "
                        "far apart on the map are far apart in the representation; points close together may not "
                        "be.", True, 1e-5, principal_components),
        EmbeddingMethod("tsne", "t-SNE", "Neighbours stay together; cluster sizes and distances between clusters are "
                                         "not meaningful.", False, 8e-3, tsne),
        EmbeddingMethod("umap", "UMAP", "Neighbours stay together; distances between clusters mean little.",
                        False, 8e-3, umap)))

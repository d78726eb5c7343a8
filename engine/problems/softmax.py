r"""The softmax-regression problem: training set, queries, candidates and the fitted factual model θ_D.

Step-type responses need only the query–candidate kernel K(q, k) = x_qᵀx_k (plus 1 with an
intercept), because every update of z_k lies along x_k. The local response needs the Hessian.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models import softmax
from engine.problems.problem import Problem, pick_device


class SoftmaxProblem(Problem):
    """Softmax regression on arrays, in float64, on one device.

    x_train (n, d), y_train (n,), x_query (m, d), y_query (m,), candidates (k,) indices into the
    training set (default: all n). `l2` is λ of (λ/2)‖W‖²; an intercept is not regularised. Nothing
    is trained before it is needed. Check a user's arrays with `engine.data.from_arrays` first.

    Raises `InvalidInput` for an unknown device, a bad l2, or more classes than `classes`.
    """

    kind, noun, convex, linear = "softmax", "softmax regression", True, True
    live_seconds, live_device = 4.0, "cpu"  # small float64 problems answer no sooner on a GPU

    def __init__(self, x_train, y_train, x_query, y_query, candidates=None, *, l2: float = 1e-4,
                 intercept: bool = False, classes: int | None = None, device: str = "cpu") -> None:
        if not 0 < l2 < float("inf"):
            raise InvalidInput(f"l2 is {l2}; give a positive number such as 1e-4, so that the optimum is unique.")
        self.device = pick_device(device)
        self.l2, self.intercept = float(l2), bool(intercept)
        self.y = self._labels(y_train)
        self.query_labels = self._labels(y_query)
        self.x = self._features(x_train)
        self.queries = self._features(x_query)
        self.classes = classes or int(self.y.max()) + 1
        if int(torch.cat([self.y, self.query_labels]).max()) >= self.classes:
            raise InvalidInput(f"A label lies outside 0…{self.classes - 1}; number the classes from 0.")
        chosen = range(len(self.y)) if candidates is None else candidates
        self.candidates = torch.as_tensor(np.array(chosen, dtype=np.int64)).to(self.device)

    @classmethod
    def from_arrays(cls, arrays, **options) -> SoftmaxProblem:
        """From checked `engine.data.Arrays` (a user's npz) or an `engine.data.Sample` (a drawn pool)."""
        return cls(arrays.x_train, arrays.y_train, arrays.x_query, arrays.y_query, arrays.candidates,
                   classes=arrays.n_classes, **options)

    def _features(self, features) -> Tensor:
        x = torch.as_tensor(np.array(features, dtype=np.float64)).to(self.device)
        return torch.cat([x, x.new_ones(len(x), 1)], 1) if self.intercept else x

    @property
    def dimension(self) -> int:
        """Features counted with the intercept."""
        return self.x.shape[1]

    @property
    def parameters(self) -> int:
        return self.dimension * self.classes

    @cached_property
    def penalty(self) -> Tensor:
        """λ_j of each input feature (D,): l2, and 0 for the intercept."""
        penalty = self.x.new_full((self.dimension,), self.l2)
        if self.intercept:
            penalty[-1] = 0.0
        return penalty

    @cached_property
    def fit(self) -> softmax.Fit:
        """The factual optimum; trained on first use."""
        return softmax.fit(self.x, self.y, self.classes, self.penalty)

    @property
    def weights(self) -> Tensor:
        """θ_D, shape (D, C)."""
        return self.fit.weights

    @cached_property
    def query_logits(self) -> Tensor:
        """f(q; θ_D), shape (m, C)."""
        return self.queries @ self.weights

    @cached_property
    def probabilities(self) -> Tensor:
        """p(x_i; θ_D) of every training example, shape (n, C)."""
        return (self.x @ self.weights).softmax(-1)

    def kernel(self, candidates: Tensor) -> Tensor:
        """K(q, k) = x_qᵀ x_k, shape (m, b)."""
        return self.queries @ self.x[candidates].T

    def training_signal(self, candidates: Tensor) -> Tensor:
        """s_ℓ(z_k) = ∂ℓ/∂f = p − e_y at θ_D, shape (b, C)."""
        signal = self.probabilities[candidates].clone()
        signal[torch.arange(len(candidates), device=self.device), self.y[candidates]] -= 1.0
        return signal

    @property
    def has_dense_hessian(self) -> bool:
        return self.parameters <= softmax.DENSE_LIMIT

    @cached_property
    def hessian(self) -> Tensor:
        """∇²L_D(θ_D), shape (D·C, D·C). Raises `InvalidInput` where it would be too large to hold."""
        if not self.has_dense_hessian:
            raise InvalidInput(
                f"The dense Hessian of {self.parameters:,} parameters is too large; use the estimator `cg`, or fewer "
                f"features (at most {softmax.DENSE_LIMIT:,} parameters)."
            )
        return softmax.hessian(self.probabilities, self.x, self.penalty)

    def pinned_hessian(self, damping: float = 0.0) -> Tensor:
        """H + damping·I, positive definite also with an unregularised intercept."""
        pinned = self.hessian.clone()
        pinned.diagonal().add_(damping)
        return softmax.pin_intercept(pinned, self.classes) if self.intercept else pinned

    def cholesky(self, damping: float = 0.0) -> Tensor:
        """L with LLᵀ = H + damping·I; the last damping's factor is kept."""
        return self.memo("cholesky", lambda: softmax.factor(self.pinned_hessian(damping)), damping)

    @property
    def sizes(self) -> dict[str, int]:
        return {"features": self.dimension, "classes": self.classes}

    @property
    def facts(self) -> dict[str, float | bool]:
        """What a manifest says of the model."""
        return {"l2": self.l2, "intercept": self.intercept, "factual_gradient_norm": self.fit.gradient_norm}

    def accuracy(self, x=None, y=None) -> float:
        """The share classified correctly: of the queries, or of (x, y) given as arrays."""
        logits = self.query_logits if x is None else self._features(x) @ self.weights
        labels = self.query_labels if y is None else self._labels(y)
        return (logits.argmax(-1) == labels).double().mean().item()

    @property
    def described(self) -> str:
        return f"softmax:{self.l2!r}:{self.intercept}:{self.classes}"

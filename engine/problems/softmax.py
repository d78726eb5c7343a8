r"""The softmax-regression problem: training set, queries, candidates and the fitted factual model θ_D.

Step-type responses need only the query–candidate kernel K(q, k) = x_qᵀx_k (plus 1 with an
intercept), because every update of z_k lies along x_k. The local response needs the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.fractions import steps_at
from engine.basics.options import Options
from engine.basics.values import short
from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.data import Arrays, Sample
from engine.gradients.checkpoint import Checkpoint
from engine.gradients.response import LAST_DIGITS, LogitTerm
from engine.models import softmax
from engine.models.altered import Altered
from engine.models.knobs import Knob
from engine.models.linear_solvers import by_factor
from engine.models.softmax_many import Sets, fit_many, fits_dense
from engine.problems.candidates import Arraylike, Examples, Shared, Units
from engine.problems.problem import Problem, pick_device
from engine.question.likelihood import slope, slope_at
from engine.question.processes import Replay, Trajectory


class SoftmaxProblem(Problem):
    """Softmax regression on arrays, in float64, on one device.

    x_train (n, d), y_train (n,), x_query (m, d), y_query (m,), candidates (k,) indices into the
    training set (default: all n). `l2` is λ of (λ/2)‖W‖²; an intercept is not regularised. Nothing
    is trained before it is needed. Check a user's arrays with `engine.data.from_arrays` first. outside, shared: given
    by `holding` alone, with inputs that are features as another problem holds them.

    Raises `InvalidInput` for an unknown device, a bad l2, or more classes than `classes`.
    """

    kind, noun, convex, linear = "softmax", "softmax regression", True, True
    live_seconds, live_device = 4.0, "cpu"  # small float64 problems answer no sooner on a GPU
    offers = frozenset({"gradients", "training", "labels"})
    curvatures = (SoftmaxHessian,)

    precision: ClassVar[str] = "float64"

    def __init__(self, x_train: Arraylike, y_train: Arraylike, x_query: Arraylike, y_query: Arraylike,
                 candidates: Arraylike | Iterable[int] | None = None, outside: Units | None = None, *, l2: float = 1e-4,
                 intercept: bool = False, classes: int | None = None, device: str = "cpu",
                 shared: Shared | None = None) -> None:
        if not 0 < l2 < float("inf"):
            raise InvalidInput(f"l2 is {l2}; give a positive number such as 1e-4, so that the optimum is unique.")
        self.device = pick_device(device)
        self.l2, self.intercept = float(l2), bool(intercept)
        y, labels = self._labels(y_train), self._labels(y_query)
        held = torch.as_tensor if shared else self._inputs
        x, queries = held(x_train), held(x_query)
        chosen = self._candidates(candidates, len(y)) if shared is None else torch.as_tensor(candidates)
        super().__init__(Examples(x, y, queries, labels, chosen, outside), shared)
        self._classes = classes or int(self.y.max()) + 1
        if int(torch.cat([self.y, self.query_labels]).max()) >= self.classes:
            raise InvalidInput(f"A label lies outside 0…{self.classes - 1}; number the classes from 0.")

    @classmethod
    def from_arrays(cls, arrays: Arrays | Sample, **options: Any) -> SoftmaxProblem:
        """From checked `engine.data.Arrays` (a user's npz) or an `engine.data.Sample` (a drawn pool)."""
        return cls(arrays.x_train, arrays.y_train, arrays.x_query, arrays.y_query, arrays.candidates,
                   classes=arrays.n_classes, **options)

    def holding(self, examples: Examples, shared: Shared) -> SoftmaxProblem:
        return SoftmaxProblem(*examples, l2=self.l2, intercept=self.intercept, classes=self.classes,
                              device=str(self.device), shared=shared)

    def _inputs(self, x: Arraylike) -> Tensor:
        """Features with, where there is an intercept, a last column of ones."""
        held = torch.as_tensor(np.array(x, dtype=np.float64)).to(self.device)
        return torch.cat([held, held.new_ones(len(held), 1)], 1) if self.intercept else held

    @property
    def classes(self) -> int:
        return self._classes

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

    @property
    def fit(self) -> softmax.Fit:
        """The factual optimum; trained on first use."""
        return self.of_model("fit", lambda: softmax.fit(self.x, self.y, self.classes, self.penalty))

    @property
    def weights(self) -> Tensor:
        """θ_D, shape (D, C)."""
        return self.fit.weights

    @property
    def theta(self) -> Tensor:
        """θ_D as (P,), in the order (feature, class)."""
        return self.weights.flatten()

    def outputs(self, x: Tensor, theta: Tensor | None = None) -> Tensor:
        return x @ (self.weights if theta is None else theta.view(self.dimension, self.classes))

    @property
    def query_logits(self) -> Tensor:
        return self.memo("query_logits", lambda: self.outputs(self.queries))

    def unit_probabilities(self, rows: Tensor) -> Tensor:
        """softmax f(x_k; θ_D) of examples `rows` (b,) that may be candidates, shape (b, C)."""
        return self.outputs(self.units(rows).x).softmax(-1) if self.adds(rows) else self.probabilities[rows]

    def double(self) -> SoftmaxProblem:
        return self

    def kernel(self, rows: Tensor) -> Tensor:
        """K(q, k) = x_qᵀ x_k of training examples `rows` (b,), shape (m, b)."""
        return self.queries @ self.units(rows).x.T

    def kernel_noise(self, rows: Tensor, theta: Tensor | None, weight: float, signal: Tensor) -> Tensor:
        """How far rounding may move weight · K(q, k) s of signals (b, C) at θ: (m, b), as K is off by ε‖x_q‖‖x_k‖ and s
        by twice what rounding moves the candidate's logits."""
        weights = self.weights if theta is None else theta.view(self.dimension, self.classes)
        lengths, size = self.units(rows).x.norm(dim=1), signal.abs().amax(1)
        digits = LAST_DIGITS * torch.finfo(signal.dtype).eps
        off = digits * (1.0 + 2.0 * lengths * weights.norm(dim=0).max())
        return abs(weight) * self.queries.norm(dim=1)[:, None] * (lengths * size * off)

    def gradients(self, rows: Tensor, options: Options, point: Checkpoint | None = None) -> KernelGradients:
        return KernelGradients(self, rows, None if point is None else point.theta)

    def representations(self, x: Tensor) -> Tensor:
        """x itself: the logits are a linear readout of it."""
        return x

    def training_signal(self, rows: Tensor) -> Tensor:
        """s_ℓ(z_k) = p − e_y at θ_D, shape (b, C)."""
        return -slope_at(self.unit_probabilities(rows), self.units(rows).y)

    def jacobian(self, x: Tensor) -> Tensor:
        """Of f = Wᵀx, x (D,): row c holds x in the places of W's column c; (C, D·C)."""
        return torch.kron(x, torch.eye(self.classes, dtype=x.dtype, device=x.device).flatten()).view(
            self.dimension, self.classes, self.classes).permute(1, 0, 2).flatten(1)

    def checkpoints_of(self, process: Trajectory) -> Sequence[tuple[Checkpoint, float]]:
        """After every `every` full-batch gradient steps of size η on L_D, from zero, or after the fractions of them.

        The run without intervention; what it visits depends on η, so that η is also the weight of each checkpoint,
        as in TracIn.
        """

        def build() -> list[tuple[Checkpoint, float]]:
            weights, checkpoints = self.x.new_zeros(self.dimension, self.classes), []
            total = process.checkpoints * process.every
            ends = steps_at(process.fractions, total) or range(process.every, total + 1, process.every)
            for step in range(1, ends[-1] + 1):
                weights = weights - process.eta * softmax.gradient(weights, self.x, self.y, self.penalty)
                if step in ends:
                    checkpoints.append((Checkpoint(weights.flatten(), process.eta), process.eta))
            return checkpoints

        return self.memo("checkpoints", build, process)

    def retrained_outputs(self, altered: Altered, options: Options | None = None, later: int = 0) -> Tensor:
        """At the optimum, whatever the seed."""
        return self.queries @ self._retrained(altered, options or Options())

    def _retrained(self, altered: Altered, options: Options) -> Tensor:
        """The optima W (J, D, C). Raises `InvalidInput` where one is not reached."""
        weights = altered.weights.to(self.x)
        labels = self.y.expand(weights.shape) if altered.labels is None else altered.labels
        sets = Sets(self.x, labels, weights / altered.denominators(weights)[:, None], self.classes, self.penalty)
        if fits_dense(sets, options.budget):
            weights_of_sets, norms = fit_many(sets, self.weights, options.budget, options.check, options.progress)
        else:
            weights_of_sets = self.x.new_empty(len(sets), self.dimension, self.classes)
            norms = self.x.new_full((len(sets),), torch.inf)
        for index in (norms >= softmax.GRADIENT_TOLERANCE).nonzero()[:, 0].tolist():
            options.check()
            counted = sets.shares[index].nonzero()[:, 0]
            weights_of_sets[index] = 0.0 if not len(counted) else softmax.fit(
                self.x[counted], labels[index, counted], self.classes, self.penalty,
                shares=sets.shares[index, counted]).weights
            options.progress((index + 1) / len(sets))
        return weights_of_sets

    def knobs(self, process: Replay) -> tuple[Knob, ...]:
        return (Knob("learning rate", short(process.eta), "a smaller η"), Knob("batch size", f"all {self.n:,}"),
                Knob("steps", f"{process.steps:,}"))

    @property
    def has_dense_hessian(self) -> bool:
        return self.parameters <= softmax.DENSE_LIMIT

    @property
    def hessian(self) -> Tensor:
        """∇²L_D(θ_D), shape (D·C, D·C), kept where building it again would cost as much as what is done with it:
        up to twice as many parameters as training examples. Raises `InvalidInput` where it would be too large to
        hold."""
        if not self.has_dense_hessian:
            raise InvalidInput(
                f"The dense Hessian of {self.parameters:,} parameters is too large; use the estimator `cg`, or fewer "
                f"features (at most {softmax.DENSE_LIMIT:,} parameters)."
            )
        return self.of_model("hessian", self._build_hessian) if self._keeps_hessian else self._build_hessian()

    def pinned_hessian(self, damping: float = 0.0) -> Tensor:
        """H + damping·I, positive definite also with an unregularised intercept."""
        pinned = self.hessian.clone() if self._keeps_hessian else self.hessian
        pinned.diagonal().add_(damping)
        return softmax.pin_intercept(pinned, self.classes) if self.intercept else pinned

    @property
    def curvature_bytes(self) -> int:
        """The Cholesky factor and the inverse in float32, and the Hessian where it is kept."""
        return (20 if self._keeps_hessian else 12) * self.parameters**2 if self.has_dense_hessian else 0

    @property
    def _keeps_hessian(self) -> bool:
        return self.parameters <= 2 * self.n

    def _build_hessian(self) -> Tensor:
        return softmax.hessian(self.probabilities, self.x, self.penalty)

    def factored_response(self, damping: float) -> Callable[[Tensor], Tensor] | None:
        if not self.has_dense_hessian:
            return None
        return lambda rows: by_factor(self.cholesky(damping), rows.T).T

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

    @property
    def described(self) -> str:
        return f"softmax:{self.l2!r}:{self.intercept}:{self.classes}"


class KernelGradients:
    """The gradient store of softmax regression at θ (default θ_D): ⟨∇B(q), ∇ℓ(z_k)⟩ = K(q, k) ⟨s_B(q), s_ℓ(z_k)⟩."""

    def __init__(self, problem: SoftmaxProblem, rows: Tensor, theta: Tensor | None = None) -> None:
        self.problem, self.rows, self.theta = problem, rows, theta

    def norms(self) -> Tensor:
        """‖x_k‖ ‖p_k − e_y‖ at θ_D, (b,)."""
        return self.problem.units(self.rows).x.norm(dim=1) * self.problem.training_signal(self.rows).norm(dim=1)

    def term(self, weight: float, *, normalised: bool = False, preconditioned: bool = False, divided: bool = False
             ) -> LogitTerm:
        """As a change of logits, weight · K(q, k) s_ℓ(z_k), of which rounding has a bound."""
        if normalised or preconditioned or divided:
            raise InvalidInput("The gradients of softmax regression are read as they are; use `first_order`.")
        problem, rows, theta = self.problem, self.rows, self.theta
        x, y = problem.units(rows)
        signal = -slope(problem.outputs(x, theta), y)
        change = weight * problem.kernel(rows)[:, :, None] * signal
        return LogitTerm(change, problem.outputs(problem.queries, theta), linear=True,
                         noise=problem.kernel_noise(rows, theta, weight, signal))

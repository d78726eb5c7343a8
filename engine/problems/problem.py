"""What every kind of problem is: a factual model with its data, and the typed protocol that estimators rely on."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from engine.basics.errors import InvalidInput
from engine.basics.footprint import footprint
from engine.basics.options import Options
from engine.curvature.operator import Operator
from engine.gradients.checkpoint import Checkpoint
from engine.gradients.response import LogitTerm, Term
from engine.gradients.store import GradientStore
from engine.models.altered import Altered
from engine.models.causal.row_texts import RowTexts
from engine.models.knobs import Knob
from engine.problems.candidates import Arraylike, Candidates
from engine.question.behavior import Behavior, Reads
from engine.question.behaviors import reading
from engine.question.processes import Replay, Trajectory
from engine.question.specification import Specification

T = TypeVar("T")


class Problem(Candidates):
    """A factual model with its data, and what it can answer.

    x (n, …), y (n,): the training examples, one unit a row. queries (m, …), query_labels (m,). candidates (k,): which
    units are scored, training examples or not (`engine.problems.candidates`). All on `device`. `noun` is what a
    sentence calls such a model, `reads` what its outputs are.

    What a kind of problem says of itself: `convex`, whether the objective has one optimum, at which all training
    ends; `linear`, whether logits are linear in the parameters; `stored_checkpoints`, whether a trajectory visits what
    training kept, whatever its η and `every`; `live_seconds`, how long a reader waits for scores at
    once, and `live_device`, where they are computed then, as `pick_device` reads it; `offers`, what
    its estimators may need: `gradients` of losses and behaviors, `sums` (gradients of sums over queries, and of losses
    along directions), `training` (a model whose parameters can be moved, and trained again), `features` (the
    representation that a last linear layer of class logits reads), `last_layer` (the linear layer that the outputs or
    the tokens' logits are of), `representations` (what similarities compare), `tangents` (gradients of single outputs
    by parameters), `margins` (examples as events of a probability), `labels` (classes of examples and queries),
    `moments` (an optimizer's, at checkpoints), `texts` (those of records);
    `curvatures`, the matrices of its objective that solvers can be given; `hessian_products`, whether many products
    with its Hessian take sensible time, and second derivatives of behaviors exist; `unoffered`, the kinds of
    interventions and processes that front ends leave out, because they have no answer for it, or none in sensible time.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]
    reads: ClassVar[Reads] = "classes"
    convex: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    stored_checkpoints: ClassVar[bool] = False
    live_seconds: ClassVar[float]
    live_device: ClassVar[str]
    offers: frozenset[str] = frozenset()
    curvatures: ClassVar[tuple[type[Operator], ...]] = ()
    hessian_products: ClassVar[bool] = True
    unoffered: ClassVar[frozenset[str]] = frozenset()

    checkpoints: Sequence[Checkpoint] = ()
    """That the training kept, where there was one."""
    texts: RowTexts | None = None
    """The records of its rows, where it reads tokens of known ones."""
    seed: int = 0
    """Of the training."""
    intercept: bool = False
    """Whether the last feature of every input is a one."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """P, the number of differentiated parameters."""

    @property
    @abstractmethod
    def theta(self) -> Tensor:
        """θ_D, shape (P,)."""

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """The model's sizes, for a manifest."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What else a manifest says of the factual model; computing it trains or checks the model."""

    @property
    @abstractmethod
    def described(self) -> str:
        """What, besides the data, the scores depend on: part of the fingerprint."""

    @abstractmethod
    def outputs(self, x: Tensor, theta: Tensor | None = None) -> Tensor:
        """f(x; θ) of inputs x (b, …) as the problem holds them, without gradients: (b, C). θ (P,), by default θ_D."""

    @property
    @abstractmethod
    def query_logits(self) -> Tensor:
        """f(q; θ_D), shape (m, C)."""

    @property
    def probabilities(self) -> Tensor:
        """softmax f(x_i; θ_D) of all training examples, shape (n, C)."""
        with self.exclusive:
            return self.of_model("probabilities", lambda: self.outputs(self.x).softmax(-1))

    @abstractmethod
    def training_signal(self, rows: Tensor) -> Tensor:
        """s_ℓ(z_k) = ∂ℓ/∂f at θ_D of training examples `rows` (b,): (b, C)."""

    @abstractmethod
    def jacobian(self, x: Tensor) -> Tensor:
        """J = ∂f/∂θ at θ_D of one input x (…): (C, P)."""

    @abstractmethod
    def gradients(self, rows: Tensor, options: Options, point: Checkpoint | None = None) -> GradientStore:
        """Of training examples `rows` (b,) and all queries, at a checkpoint, by default at θ_D."""

    @classmethod
    def refusal(cls, specification: Specification) -> str:
        """Why no problem of the class has an answer to it, as a sentence; empty where one may."""
        return ""

    def readout_similarity(self, rows: Tensor, normalised: bool = False) -> Tensor:
        """⟨φ(q), φ(x_k)⟩, φ as `representations` gives it, of all queries and training examples `rows`: (m, b).

        normalised: their cosine. Raises `InvalidInput` for a model whose outputs are no linear readout.
        """
        scaled = normalize if normalised else torch.as_tensor
        return scaled(self.representations(self.queries)) @ scaled(self.representations(self.units(rows).x)).T

    @abstractmethod
    def representations(self, x: Tensor) -> Tensor:
        """φ(x) (b, F) of inputs x (b, …) as the problem holds them: what the last linear layer reads."""

    @abstractmethod
    def checkpoints_of(self, process: Trajectory) -> Sequence[tuple[Checkpoint, float]]:
        """The checkpoints that a trajectory visits, with the step size η_t at each.

        Raises `InvalidInput` where the training run has fewer.
        """

    @property
    def trained_by(self) -> str:
        """A sentence on the training that `retrain` repeats; empty where training ends at the one optimum anyway."""
        return ""

    @property
    def replays_batches(self) -> bool:
        """Whether training it again repeats the recorded batches of all of its examples, whatever the seed."""
        return False

    def knobs(self, process: Replay) -> tuple[Knob, ...]:
        """What of its training matters for how smoothly the end moves."""
        return ()

    @property
    def has_dense_hessian(self) -> bool:
        """Whether its Hessian can be held as a matrix, to be factored."""
        return False

    @property
    def curvature_bytes(self) -> int:
        """What the factored curvature will take in memory; 0 where none is held."""
        return 0

    def factored_response(self, damping: float) -> Callable[[Tensor], Tensor] | None:
        """Rows v (b, P) -> (H + damping·I)⁻¹ v, where a factor of the Hessian can be held; else None."""
        return None

    @abstractmethod
    def double(self) -> Problem:
        """The same problem in float64."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """The floating-point numbers that its parameters are: `float32` or `float64`."""

    def for_differences(self, precision: str) -> Problem:
        """The problem that differences of nearly equal numbers are taken on: in float64, unless another is asked for.

        precision: `auto`, `float64`, or `float32` for the problem as it is.
        """
        return self if precision == "float32" else self.double()

    @abstractmethod
    def retrained_outputs(self, altered: Altered, options: Options | None = None, later: int = 0) -> Tensor:
        """f(q) of models trained from scratch on J altered training sets: (J, m, C); not finite where one diverged.

        later: how many seeds after the problem's own. Raises `InvalidInput` where it is not known how the model was
        trained.
        """

    @property
    def gradient_bytes(self) -> int:
        """What one candidate's gradient takes where solvers hold it whole."""
        return 0

    @property
    def nbytes(self) -> int:
        """What it holds in memory: its data, and what was computed of it and kept so far."""
        return footprint(self)

    @property
    def exclusive(self) -> AbstractContextManager:
        """Held while scores are computed, where a model must not be used by two threads at once."""
        return nullcontext()

    def check_behavior(self, behavior: Behavior) -> None:
        """Raises `InvalidInput` for a behavior that cannot be read off the outputs for the queries."""
        if behavior.reads != self.reads:
            fits = ", ".join(f"`{name}`" for name in reading(self.reads))
            raise InvalidInput(f"The behavior `{behavior.name}` is not read off {self.noun}; use one of {fits}.")

    @property
    def ids(self) -> tuple[Sequence[str], Sequence[str]]:
        """What the training examples and the queries are called in their source; empty where they have no names, or
        two have the same."""
        return (), ()

    def asking(self, behaviors: Sequence[Behavior]) -> tuple[Problem, list[Behavior]]:
        """The problem whose outputs these behaviors can be read off, with the behaviors as they read them there.

        Raises `InvalidInput` where a query lacks what one of them reads.
        """
        return self, list(behaviors)

    def prepare(self) -> None:
        """Compute what every answer begins with: the training, and what the model puts out for data and queries."""
        self.facts, self.probabilities, self.query_logits  # noqa: B018 - trains

    def raised(self) -> Tensor:
        """e_y (m, C): the output of each query that the label-free loss −f_w raises, its own class."""
        return one_hot(self.query_labels, self.classes).to(self.query_logits.dtype)

    def raised_by(self, amounts: Tensor) -> Term:
        """The change of the outputs of every query by amounts (m, b) where the label-free loss raises them."""
        return LogitTerm(amounts[:, :, None] * self.raised().to(amounts.dtype)[:, None], self.query_logits)

    def random_scores(self, rows: Tensor, seed: int) -> Tensor:
        """Normal numbers (m, b) for all queries and training examples `rows` (b,): each example has its own stream,
        so that its numbers do not depend on which others are scored."""
        columns = [np.random.Generator(np.random.Philox(key=[seed, row])).standard_normal(len(self.queries))
                   for row in rows.tolist()]
        return torch.from_numpy(np.stack(columns, 1)).to(self.device)

    def check_raised(self, behavior: Behavior) -> None:  # noqa: B027 - any behavior of classes can be
        """Raises `InvalidInput` for a behavior that cannot be told from what the label-free loss raises."""

    def check_label(self, label: int) -> None:
        """Raises `InvalidInput` for a relabelling to a class that does not exist."""
        if label >= self.classes:
            raise InvalidInput(f"There is no class {label} to relabel to; use 0 to {self.classes - 1}.")

    def accuracy(self, x: Arraylike | None = None, y: Arraylike | None = None) -> float:
        """The share classified correctly: of the queries, or of (x, y) given as arrays."""
        logits = self.query_logits if x is None else self.outputs(self._inputs(x))
        labels = self.query_labels if y is None else self._labels(y)
        return (logits.argmax(-1) == labels).double().mean().item()

    def memo(self, key: str, build: Callable[[], T], version: Hashable = None) -> T:
        """What `build()` made for `key`, made again only when `version` changes: what solvers share."""
        return self.shared.queries.memo(key, build, version)

    def holds(self, key: str) -> bool:
        """Whether `memo` has made something for `key`."""
        return self.shared.queries.holds(key)

    def of_model(self, key: str, build: Callable[[], T]) -> T:
        """The same for what the queries do not enter."""
        return self.shared.model.memo(key, build)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over model, data and candidates: what a stored result is tied to."""
        if self.outside is None:
            return _digest(self.described, *self.examples.tensors)
        *held, candidates = self.examples.tensors
        trained = self.memo("trained on", lambda: _digest(self.described, *held), self.described)
        return _digest(trained, candidates, *self.outside)


def _digest(text: str, *tensors: Tensor) -> str:
    digest = hashlib.sha256(text.encode())
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def pick_device(name: str) -> torch.device:
    """`auto` takes CUDA where there is one, else the CPU. Raises `InvalidInput` for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    known = {"cpu", *(["cuda"] if torch.cuda.is_available() else ()),
             *(f"cuda:{number}" for number in range(torch.cuda.device_count()))}
    if name in known:
        return torch.device(name)
    raise InvalidInput(f"The device `{name}` is not available; use `cpu` or `auto`.")

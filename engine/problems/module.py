r"""The problem of any differentiable classifier: a torch module with its data, loss and selected parameters.

The factual objective is L_D(θ) = (1/n) Σ_i ℓ(z_i; θ) + (λ/2)‖θ‖² over the selected parameters θ, with everything
else in the module frozen. Nothing assumes that θ_D is a stationary point of it: the norm of ∇L_D(θ_D) is part of
every manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.basics.options import Options
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.hessian import Hessian
from engine.curvature.operator import Operator
from engine.curvature.shifts import Shift, decay_of, each_entry, times
from engine.gradients.checkpoint import Checkpoint, visited
from engine.gradients.store import NetworkEvents, NetworkGradients
from engine.models.alone import check_alone
from engine.models.altered import Altered
from engine.models.double import keep_double
from engine.models.knobs import Knob, of_parts
from engine.models.link import ClassLink, Link
from engine.models.losses import Loss, check_loss, differentiable, per_example_cross_entropy
from engine.models.network import ALL, LAST_BLOCK, LAST_LAYER, Network
from engine.models.numbers import number_kind
from engine.models.recipe import TrainingRecipe
from engine.models.train_many import convolves, outputs_of_many, stands_alone
from engine.models.training import Diverged, Training, replay
from engine.problems.candidates import Arraylike, Examples, Shared, Units
from engine.problems.memory import ProblemMemory
from engine.problems.problem import Problem, pick_device
from engine.problems.rounding import rounded
from engine.problems.tried import tried
from engine.question.class_behaviors import soft_margin_signal
from engine.question.likelihood import doubt
from engine.question.processes import Replay, Trajectory

DTYPES = {"float32": torch.float32, "float64": torch.float64}
BATCH = 512


class ModuleProblem(Problem):
    """A module that maps inputs (b, …) to class logits (b, C), in evaluation mode, on one device.

    x_train (n, …) float, y_train (n,), x_query (m, …), y_query (m,), candidates (k,) indices into the training
    set (default: all n). module: copied; a `Network` is taken as it is, with its own selection and precision, as
    `holding` gives it, with what is `outside`. parameters: which parameters count, as `Network` reads it.
    loss: (logits (b, C), labels (b,)) -> (b,), per example. l2: λ, or that of each parameter by name (0 without one).
    checkpoints: of the training run, in its order, for `trajectory`. recipe, build () -> untrained module, and seed:
    how it was trained, for `retrain`; see `engine.models.training`.

    Raises `InvalidInput` for a device that is not there, no selected parameters, shapes that do not match, more
    labels than classes, or logits or losses that are not finite.
    """

    kind, noun, stored_checkpoints = "module", "a neural network", True
    live_seconds, live_device = 2.0, "auto"
    offers = frozenset({"gradients", "sums", "training", "labels", "features", "last_layer", "representations",
                        "margins", "tangents"})
    curvatures: ClassVar[tuple[type[Operator], ...]] = (Hessian, GaussNewton)
    stacks: ClassVar[bool] = True
    """Whether a map over stacked weights is faster than one model after the other."""

    def __init__(self, module: nn.Module | Network, x_train: Arraylike, y_train: Arraylike, x_query: Arraylike,
                 y_query: Arraylike, candidates: Arraylike | Iterable[int] | None = None, outside: Units | None = None,
                 *, parameters: str | Sequence[str] = ALL, loss: Loss = per_example_cross_entropy,
                 l2: float | Mapping[str, float] = 0.0, checkpoints: Sequence[Checkpoint] = (),
                 recipe: TrainingRecipe | None = None, build: Callable[[], nn.Module] | None = None, seed: int = 0,
                 device: str = "cpu", dtype: str = "float32", shared: Shared | None = None) -> None:
        if dtype not in DTYPES:
            raise InvalidInput(f"The precision `{dtype}` is not known; use {' or '.join(DTYPES)}.")
        self.device = pick_device(device)
        self.network = module if isinstance(module, Network) else Network(module, parameters, device=self.device,
                                                                          dtype=DTYPES[dtype])
        self.loss, self.recipe, self.build, self.seed = loss, recipe, build, seed
        self.decay = decay_of(l2, self.network.names)
        self.offers = type(self).offers | (recipe.offers if recipe else frozenset())
        self.checkpoints, self.shared = tuple(checkpoints), shared or Shared(ProblemMemory(), ProblemMemory())
        y = self._labels(y_train)
        chosen = self._candidates(candidates, len(y)) if shared is None else torch.as_tensor(candidates)
        inputs, queries = self._inputs(x_train), self._inputs(x_query)
        outside = outside and Units(self._inputs(outside.x), outside.y)
        super().__init__(Examples(inputs, y, queries, self._labels(y_query), chosen, outside), self.shared)
        given = () if isinstance(module, Network) else module.parameters()
        self.rounded = self.of_model("rounded", lambda: rounded(
            [("inputs", (x_train, x_query)), ("model's parameters", given)], self.network.dtype))
        if self.network.dtype == torch.float64:
            keep_double(self.network.module, self.queries[:2])
        self._classes = self.of_model("classes", self._checked_classes)
        if not isinstance(module, Network):
            check_alone(self.network.module, torch.cat([self.queries[:4], self.x[:4].to(self.queries)]))
        self.of_model("selection", self._check_selection)

    def keep_checkpoints(self, states: Sequence[tuple[Mapping[str, Tensor], float]]) -> None:
        """Set the training run's checkpoints from state dicts, with Adam's moments where they hold them, and learning
        rates, in the order of training.

        Only the selected parameters are taken: everything else stays as in the factual model.
        """
        vars(self).pop("fingerprint", None)
        self.checkpoints = tuple(Checkpoint.of(state, rate, self.network) for state, rate in states)

    def holding(self, examples: Examples, shared: Shared) -> ModuleProblem:
        return type(self)(self.network, *examples, **self._settings, shared=shared)

    @property
    def _settings(self) -> dict[str, Any]:
        """What it was made with, besides its network and examples."""
        return {"loss": self.loss, "l2": self.decay, "checkpoints": self.checkpoints, "recipe": self.recipe,
                "build": self.build, "seed": self.seed, "device": str(self.device)}

    def with_labels(self, rows: Tensor, label: int) -> ModuleProblem:
        """The same model on training data in which `rows` carry `label`; only for what is computed of those rows."""
        y = self.y.clone()
        y[rows] = label
        return self.holding(self.examples._replace(y=y), Shared(ProblemMemory(), ProblemMemory()))

    def with_network(self, network: Network) -> ModuleProblem:
        """The same data with another network in place of the factual one: nothing that was computed of it is shared."""
        return type(self)(network, *self.examples, **self._settings, shared=Shared(ProblemMemory(), ProblemMemory()))

    def with_training_seed(self, seed: int) -> ModuleProblem:
        """The same model and data, trained again with another seed where training is asked for."""
        return type(self)(self.network, *self.examples, **{**self._settings, "seed": seed})

    def double(self) -> ModuleProblem:
        """The same problem in float64, kept beside this one."""
        if self.network.dtype == torch.float64:
            return self
        return self.memo("double", self._double).with_candidates_of(self)

    def _double(self) -> ModuleProblem:
        return self.with_module(self.network.module, self.trained_examples, dtype="float64",
                                checkpoints=[point.double() for point in self.checkpoints])

    def with_module(self, module: nn.Module, examples: Examples, **changed: Any) -> ModuleProblem:
        """Another module and other examples, everything else alike but for what is `changed`; without checkpoints."""
        settings = {**self._settings, "checkpoints": (), "parameters": self.network.selection, "dtype": self.precision}
        return type(self)(module, *examples, **{**settings, **changed})

    def _inputs(self, x: Arraylike) -> Tensor:
        """On the device, in the kind of numbers that the module takes."""
        held = x if isinstance(x, Tensor) else torch.as_tensor(np.require(x, requirements="W"))
        dtype = self.of_model(f"inputs of {held.dtype}", lambda: number_kind(
            self.network.module, held[:2].to(self.device), self.network.dtype))
        return held.to(device=self.device, dtype=dtype)

    def _checked_classes(self) -> int:
        """C, as the model's logits for two queries show it."""
        self._check_lengths()
        outputs = tried(self.network, self.queries[:2])
        self._check_labels(outputs.shape[1])
        check_loss(self.loss, outputs, self.query_labels[:2])
        return outputs.shape[1]

    def _check_lengths(self) -> None:
        for x, y, name in ((self.x, self.y, "training"), (self.queries, self.query_labels, "query")):
            if len(x) != len(y) or len(y) == 0:
                raise InvalidInput(f"There are {len(x):,} {name} inputs and {len(y):,} {name} labels; give "
                                   "one label per input, and at least one.")
        if self.queries.shape[1:] != self.x.shape[1:]:
            raise InvalidInput(f"Training inputs have the shape {tuple(self.x.shape[1:])} and queries "
                               f"{tuple(self.queries.shape[1:])}; give both the same.")

    def _check_labels(self, classes: int) -> None:
        if (least := int(min(self.y.min(), self.query_labels.min()))) < 0:
            raise InvalidInput(f"There is the label {least}; number the classes from 0, and leave out examples that "
                               "have none.")
        top = int(max(self.y.max(), self.query_labels.max()))
        if top >= classes:
            raise InvalidInput(f"The labels go up to {top}, but the model has {classes} classes; use a model with "
                               f"at least {top + 1} outputs, and number the classes from 0.")

    def _check_selection(self) -> None:
        """Raises `InvalidInput` where `last_layer` or `last_block`, which go by the order in which a module registers
        its parts, leave out the layer that the logits come from."""
        if self.network.selection not in (LAST_LAYER, LAST_BLOCK):
            return
        try:
            head = self.network.head(self.queries)
        except InvalidInput:  # no such layer is known; the names are taken as they come
            return
        own = dict(self.network.module.named_parameters())
        if not any(own[name] is head.weight for name in self.network.names):
            raise InvalidInput(f"The selection `{self.network.selection}` takes the last registered layer, but the "
                               "model's logits come from a different layer; name the parameters by a regular "
                               "expression, such as `^head\\.`.")

    @property
    def classes(self) -> int:
        return self._classes

    @property
    def parameters(self) -> int:
        """P, the number of differentiated parameters."""
        return self.network.size

    @property
    def theta(self) -> Tensor:
        """θ_D, shape (P,)."""
        return self.network.theta

    @property
    def link(self) -> Link:
        """What the loss is a convex function of: the logits."""
        return ClassLink(self.network, self.loss)

    def outputs(self, x: Tensor, theta: Tensor | None = None) -> Tensor:
        return self.network.predict(x, theta, BATCH)

    @property
    def query_logits(self) -> Tensor:
        """f(q; θ_D), shape (m, C). Raises `InvalidInput` where one is not finite."""
        return self.memo("query_logits", self._query_logits)

    def _query_logits(self) -> Tensor:
        logits = self.outputs(self.queries)
        if not logits.isfinite().all():
            raise InvalidInput("The model returns logits that are not finite for some queries; check its weights and "
                               "the scale of the inputs.")
        return logits

    @property
    def gradient_bytes(self) -> int:
        return self.parameters * self.theta.element_size()

    @property
    def exclusive(self) -> AbstractContextManager:
        return self.network.lock

    def training_signal(self, rows: Tensor) -> Tensor:
        """s_ℓ(z_k) = ∂ℓ/∂f at the logits of `rows` (b,): shape (b, C)."""
        return self.loss_signal(self.outputs(self.units(rows).x), self.units(rows).y)

    def loss_signal(self, logits: Tensor, labels: Tensor) -> Tensor:
        """∂ℓ/∂f (b, C) at given logits (b, C) and labels (b,)."""
        leaf = logits.detach().requires_grad_(True)
        with torch.enable_grad():
            return torch.autograd.grad(differentiable(self.loss)(leaf, labels).sum(), leaf)[0]

    def jacobian(self, x: Tensor) -> Tensor:
        """∂f/∂θ of one input, one reverse pass a class: (C, P)."""
        network = self.network
        values = {name: value.requires_grad_(True) for name, value in network.unflatten(self.theta.clone()).items()}
        with torch.enable_grad():
            logits = network.at(x[None], values)[0]
            rows = [torch.autograd.grad(logit, list(values.values()), retain_graph=True, materialize_grads=True)
                    for logit in logits]
        return torch.stack([network.flatten(dict(zip(values, row, strict=True))) for row in rows])

    def gradients(self, rows: Tensor, options: Options, point: Checkpoint | None = None) -> NetworkGradients:
        return NetworkGradients(self, rows, options, point)

    def events(self, rows: Tensor, projector: str, dimension: int, options: Options) -> NetworkEvents:
        """Training examples as events of a probability, see `margins`, with projected gradients."""
        return NetworkEvents(self, rows, projector, dimension, options)

    def representations(self, x: Tensor) -> Tensor:
        """φ(x) (b, F): what the last layer reads, with a 1 appended where it has a bias."""
        return self.network.features(x)

    def checkpoints_of(self, process: Trajectory) -> Sequence[tuple[Checkpoint, float]]:
        """Of the checkpoints that the training run kept those that `visited` has, with step sizes η·lr_t / max lr of
        the run.

        `process.every` belongs to problems that are trained for the purpose.
        """
        rates = [point.learning_rate for point in self.checkpoints]
        weights = visited(process, rates, self.recipe, len(self.x))
        top = max(rates) if process.weights == "recipe" else max(weight for _, weight in weights)
        points = [self.checkpoints[index] for index, _ in weights]
        return [(replace(point, theta=point.theta.to(self.theta)), process.eta * weight / top)
                for point, (_, weight) in zip(points, weights, strict=True)]

    def margins(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Of training examples seen as events of probability p: ∂ log(p/(1 − p))/∂f (b, C), and 1 − p (b,).

        The event is the example's label; see `engine.estimators.trak`.
        """
        logits, labels = self.network.predict(self.x[rows]), self.y[rows]
        return soft_margin_signal(logits, labels), doubt(logits, labels)

    @property
    def raised_labels(self) -> Tensor:
        """Which output the label-free loss raises for each query, (m,): its class."""
        return self.query_labels

    def single_output(self, label: Tensor, x: Tensor) -> tuple[ModuleProblem, Tensor, Tensor]:
        """Where f_y of inputs x (b, …) is read, y = `label` of `raised_labels`: a problem, its inputs, which output."""
        return self, x, label

    @property
    def head(self) -> str:
        """The name of the linear layer whose output the logits are. Raises `InvalidInput` where there is none."""
        layer = self.network.head(self.queries)
        return next(name for name, own in self.network.module.named_modules() if own is layer)

    def training(self) -> tuple[TrainingRecipe, Callable[[], nn.Module]]:
        """How the model was trained: recipe, and what builds it untrained. Raises `InvalidInput` where unknown."""
        if self.recipe is None or self.build is None:
            raise InvalidInput("It is unknown how this model was trained, so it cannot be retrained; "
                               "give its `recipe` (in Python its `build` too), or use the process `local_search`.")
        return self.recipe, self.build

    @property
    def replays_batches(self) -> bool:
        return self.training()[0].knows_its_end

    def knobs(self, process: Replay) -> tuple[Knob, ...]:
        return *self.training()[0].knobs, *of_parts(self.network.module)

    @property
    def trained_by(self) -> str:
        return self.recipe.sentence if self.recipe else ""

    def retrained_outputs(self, altered: Altered, options: Options | None = None, later: int = 0) -> Tensor:
        """From scratch by the problem's recipe: all at once where that is faster and gives the same, else one by one.
        """
        recipe, build = self.training()
        options = options or Options()
        training = Training(build, self.x, self.y, recipe.model_copy(update={"checkpoints": 0}), self.seed + later,
                            loss=self.loss, dtype=self.network.dtype, exact=True)
        self.of_model("verified", partial(training.verify, options.check))
        if len(altered) > 1 and self.of_model("trained together", partial(self._together, training)):
            return outputs_of_many(training, altered, self.queries, options.check, options.progress)
        return torch.cat([self._outputs_of_one(training, one, options.stage(index, len(altered)))
                          for index, one in enumerate(altered.split(1))])

    def _together(self, training: Training) -> bool:
        module = self.network.module
        fast = self.stacks and training.recipe.stacks and not (self.device.type == "cpu" and convolves(module))
        return fast and not training.passes(module).narrow and stands_alone(module, self.x[:3])

    def _outputs_of_one(self, training: Training, altered: Altered, options: Options) -> Tensor:
        labels = self.y if altered.labels is None else altered.labels[0]
        own = replace(training, y=labels, weights=altered.weights[0].to(training.precision),
                      normalization=altered.normalization)
        try:
            module = replay(own, check=options.check, progress=options.progress).module
        except Diverged:
            return self.query_logits.new_full((1, len(self.queries), self.classes), torch.nan)
        with torch.no_grad():
            return torch.cat([module(batch) for batch in self.queries.split(BATCH)])[None]

    @property
    def l2(self) -> Shift:
        """λ of the penalty: one number, or one an entry of θ (P,)."""
        return self.of_model("l2", lambda: each_entry(self.decay, self.network))

    @property
    def factual(self) -> tuple[float, Tensor]:
        """(L_D(θ_D), ∇L_D(θ_D) (P,)), in one pass over the training data."""
        return self.of_model("factual", self._factual)

    def _factual(self) -> tuple[float, Tensor]:
        network, value, gradient = self.network, 0.0, torch.zeros_like(self.theta)
        # a leaf a parameter: through one flat vector, each of many tensors would pass a gradient of size P back
        leaves = {name: loss.clone().requires_grad_(True) for name, loss in network.unflatten(self.theta).items()}
        for rows in torch.arange(self.n, device=self.device).split(BATCH):
            loss = differentiable(self.loss)(network.at(self.x[rows], leaves), self.y[rows]).sum() / self.n
            slopes = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
            gradient += network.flatten(dict(zip(leaves, slopes, strict=True)))
            value += loss.item()
        if not np.isfinite(value):
            raise InvalidInput("The training loss is not finite; check the model's weights, the inputs and the loss.")
        penalty = 0.5 * times(self.l2, self.theta.double().square()).sum().item()
        return value + penalty, gradient + times(self.l2, self.theta)

    @property
    def sizes(self) -> dict[str, int]:
        return {"parameters": self.parameters, "classes": self.classes}

    @property
    def precision(self) -> str:
        return str(self.network.dtype)[6:]

    @property
    def facts(self) -> dict[str, Any]:
        loss, gradient = self.factual
        recipe = {} if self.recipe is None else {"recipe": self.recipe.model_dump(mode="json")}
        return {**recipe, "l2": self.decay, "selection": self.network.selection, "precision": self.precision,
                "factual_loss": loss, "factual_gradient_norm": gradient.double().norm().item(),
                "model": self.network.fingerprint, **({"rounded": list(self.rounded)} if self.rounded else {})}

    @property
    def described(self) -> str:
        recipe = "" if self.recipe is None else f"{self.recipe.canonical_json}:{self.seed}"
        path = fingerprint([(point.theta, float(point.learning_rate)) for point in self.checkpoints])
        return f"module:{self.network.fingerprint}:{self.decay!r}:{fingerprint(self.loss)}:{recipe}:{path}"

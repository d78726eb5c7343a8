"""Where a search for noisy labels comes from: data, noise, trusted set and model, as a value."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from torch import Tensor

from engine import data
from engine.applications.noisy_labels import limits
from engine.applications.noisy_labels.channels import standardised
from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.folds import check_folds, fold_of
from engine.applications.noisy_labels.learners import Learner, TrainingTask, learner
from engine.applications.noisy_labels.origin import IN_TURN, VERIFIED, check_origin, in_turn_sentence, origin_sentence
from engine.applications.noisy_labels.refitting import Refitting
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Number, Seed, Value
from engine.data import corruption, uploads
from engine.data.corruption import Flags
from engine.data.splits import whole
from engine.models.catalogue import OWNED, build_model
from engine.models.cifar_forms import LAST_BLOCKS
from engine.models.network import LAST_BLOCK
from engine.models.recipe import Recipe
from engine.problems.families.family import NUMERICS
from engine.problems.families.inputs import as_inputs, average_pool, input_shape
from engine.problems.module import ModuleProblem
from engine.problems.problem import pick_device
from engine.problems.trained import weights_file

SMALL_RECIPE = Recipe(epochs=15, batch_size=64, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4)
NOISE = 0.2
"""The fraction of corrupted labels in a registered dataset by default; of a user's own data it is none."""
HELD_OUT_FOLDS = 3
"""Folds that models leave out beside a trusted set."""


class NoisySource(Value):
    """A training set whose labels are searched, with its trusted set and the model that judges.

    n_train, n_test: sizes, by default all there is. trusted: verified examples of every class. pool: pixels are
    averaged over pool × pool squares. noise: the fraction of labels made wrong, in [0, 1), by default 0.2, and 0 for a
    user's own data; with 0 the labels stay as they came, and flags are those that the data bring, if any. mask: seed
    of draw, trusted set and noise, fixed over training seeds. split: seed of draw and trusted set in place of it, so
    that the mask names positions, where other examples stand. standardised: whether inputs are less the mean of their
    channel over the training set, in units of its spread. seed: of the training. selection: the parameters that scores
    read, by default the last block and the head. model: a network of `engine.models.catalogue`, trained by
    `recipe`; or `pretrained`, logistic regression on pretrained features of pictures and texts, or `logistic`, on
    features as they are, for both of which the recipe says nothing.

    The trusted set of a registered dataset is drawn from its training split, which counts as verified; that of a
    user's own data from the test split that they bring, whose rest measures accuracy. Where they bring none, `draw`
    refuses, or takes a part of the labels in doubt if `trusted_from` says so. With "cross-validation" there is no
    trusted set: every label is searched, those of a drawn test split too, by `folds` models of which each leaves one
    part of the labels out and measures with it (`engine.applications.noisy_labels.in_turn`).
    """

    dataset: str = "digits"
    n_train: Annotated[Count, Field(ge=2)] | None = None
    n_test: Annotated[Count, Field(ge=1)] | None = None
    trusted: Annotated[Count, Field(ge=1)] = 20
    pool: Annotated[Count, Field(ge=1, le=64)] = 1
    noise: Annotated[Number, Field(ge=0, lt=1)] = NOISE
    trusted_from: Literal["verified", "labels in doubt", "cross-validation"] = VERIFIED
    folds: Annotated[Count, Field(ge=2, le=10)] = 4
    mask: Annotated[Count, Field(ge=0)] = 0
    split: Annotated[Count, Field(ge=0)] | None = None
    standardised: bool = False
    model: str = "cnn"
    selection: str = LAST_BLOCK
    recipe: Recipe = SMALL_RECIPE
    seed: Seed = 0

    @model_validator(mode="before")
    @classmethod
    def _own_labels_stay(cls, given: Any) -> Any:
        """Nothing makes labels of a user's own data wrong unless it is asked for."""
        if isinstance(given, Mapping) and uploads.is_upload(str(given.get("dataset", ""))):
            return {"noise": 0.0, **given}
        return given

    @model_serializer(mode="wrap")
    def _without_the_usual(self, serialize: SerializerFunctionWrapHandler) -> dict:
        """What came later is written only if it is not the usual: digests stay what they were."""
        fields = serialize(self)
        usual = {"trusted_from": self.trusted_from == VERIFIED, "folds": not self.in_turn,
                 "split": self.split is None, "standardised": not self.standardised}
        return {key: value for key, value in fields.items() if not usual.get(key, False)}

    @property
    def stated(self) -> dict[str, Any]:
        """What has to be said of it, as plain data: all that is not the default for its dataset."""
        fields = {key: value for key, value in self.model_dump(mode="json", exclude_defaults=True).items()
                  if key != "noise"}
        return fields if self.noise == (0.0 if self.is_own else NOISE) else {**fields, "noise": self.noise}

    @property
    def learner(self) -> Learner:
        """How its model reads data and is trained."""
        return learner(self.model)

    @property
    def is_own(self) -> bool:
        """Whether the data are a user's own."""
        return uploads.is_upload(self.dataset)

    @property
    def in_turn(self) -> bool:
        """Whether no label is trusted, and each part of them is held out in turn."""
        return self.trusted_from == IN_TURN

    @property
    def held_out_folds(self) -> int:
        """How many models leave one fold out each."""
        return self.folds if self.in_turn else HELD_OUT_FOLDS

    def fold_of(self, y: np.ndarray) -> np.ndarray:
        """The fold (n,) that is left out with each example, by its label y (n,)."""
        return fold_of(y, self.held_out_folds, self.mask if self.in_turn else self.seed)

    def draw(self) -> NoisyData:
        """The data alone; nothing is trained. Raises `InvalidInput` or `MissingData` with what to do."""
        dataset, own = data.load(self.dataset), self.is_own
        check_origin(dataset, own, self.trusted_from)
        if self.in_turn:
            return self._draw_in_turn(whole(dataset) if dataset.test_from_train else dataset)
        verified = dataset.y_test if own else dataset.y_train
        seed = self.mask if self.split is None else self.split
        trusted, rest = corruption.trusted_rows(verified, dataset.n_classes, self.trusted, seed)
        pool = np.random.default_rng([seed, 3]).permutation(len(dataset.y_train)) if own else rest
        train = pool[:limits.size("n_train", self.n_train, len(pool), "training examples outside the trusted set")]
        test = rest if own else np.random.default_rng([self.mask, 4]).permutation(len(dataset.y_test))
        test = test[:limits.size("n_test", self.n_test, len(test), "test examples outside the trusted set")]
        observed, planted = corruption.symmetric_noise(dataset.y_train[train], dataset.n_classes, self.noise, self.mask)
        flags = corruption.flags_of(planted if self.noise else None, dataset.flags, train)
        split = "test" if own else "train"
        x, trusted_x, x_test = self._inputs(dataset, ("train", train), (split, trusted), ("test", test))
        evidence = Evidence(x, observed, trusted_x, verified[trusted], dataset.n_classes)
        if own:
            evidence.check_apart()
        return NoisyData(self, dataset, evidence, flags, x_test, dataset.y_test[test], train, trusted, split, test)

    def _draw_in_turn(self, dataset: data.Dataset) -> NoisyData:
        """All labels as what is searched and as what measures, which the folds then part."""
        order = np.random.default_rng([self.mask, 3]).permutation(len(dataset.y_train))
        order = order[np.bincount(dataset.y_train)[dataset.y_train[order]] > 1]  # a lone example can be held to nothing
        rows = order[:limits.size("n_train", self.n_train, len(order), "training examples")]
        observed, planted = corruption.symmetric_noise(dataset.y_train[rows], dataset.n_classes, self.noise, self.mask)
        check_folds(observed, self.folds, dataset.class_names)
        flags = corruption.flags_of(planted if self.noise else None, dataset.flags, rows)
        test = np.arange(len(dataset.y_test))[:self.n_test]
        x, x_test = self._inputs(dataset, ("train", rows), ("test", test))
        return NoisyData(self, dataset, Evidence(x, observed, x, observed, dataset.n_classes), flags, x_test,
                         dataset.y_test[test], rows, rows, "train", test)

    def _inputs(self, dataset: data.Dataset, *parts: tuple[str, np.ndarray]) -> list[np.ndarray]:
        """Inputs of rows of a split each, the first of which is what is trained on."""
        inputs = [self._pixels(dataset, *part) for part in parts]
        return standardised(inputs) if self.standardised else inputs

    def _pixels(self, dataset: data.Dataset, split: str, rows: np.ndarray) -> np.ndarray:
        """float32 inputs (b, *shape) of rows of a split, a few thousand at a time in float64."""
        shape = input_shape(self.model, dataset, self.pool)
        out = np.empty((len(rows), *shape), dtype=np.float32)
        for start in range(0, len(rows), 4096):
            x = dataset.features(split, rows[start:start + 4096])
            if self.pool > 1:
                x = average_pool(x, dataset.image_shape, self.pool)
            out[start:start + 4096] = as_inputs(self.model, dataset, self.pool, x)
        return out

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the trained weights: nothing of how they are read."""
        return {**self.model_dump(mode="json", exclude={"selection", "n_test"}), "kind": "noisy_labels",
                "contents": self.contents, "numerics": NUMERICS}

    @property
    def contents(self) -> dict[str, str]:
        """What the names of the dataset and of a model of one's own stand for on this machine, as digests; empty where
        it is not here."""
        own = {"model": OWNED[self.model].code} if self.model in OWNED else {}
        return {"data": data.content(self.dataset), **own, **self.learner.contents}

    @property
    def is_trained(self) -> bool:
        """Whether the weights are on disk."""
        return weights_file(self.identity).is_file()


@dataclass(frozen=True, eq=False)
class NoisyData:
    """A drawn source: evidence for scorers, flags (None where nobody knows) and a test set for evaluation.

    rows (n,): of the dataset's training split. trusted_rows (m,): of its split `trusted_split`. test_rows (t,): of its
    test split. held_out: the fold that these data leave out of training and measure with; None for all of them, which
    `complete` are where there is one. planted: the digest of labels that were made wrong for a trial.
    """

    source: NoisySource
    dataset: data.Dataset
    evidence: Evidence
    flags: Flags | None
    x_test: np.ndarray
    y_test: np.ndarray
    rows: np.ndarray
    trusted_rows: np.ndarray
    trusted_split: str
    test_rows: np.ndarray
    held_out: int | None = None
    complete: NoisyData | None = None
    planted: str = ""

    @cached_property
    def fold_of(self) -> np.ndarray:
        """The fold (n,) of every training example."""
        return self.source.fold_of(self.evidence.y)

    def without(self, fold: int) -> NoisyData:
        """The data without a fold, which becomes what the scores refer to and what accuracy is measured on."""
        held = self.fold_of == fold
        x, y = self.evidence.x, self.evidence.y
        return dataclasses.replace(
            self, evidence=Evidence(x[~held], y[~held], x[held], y[held], self.evidence.classes), flags=None,
            x_test=x[held], y_test=y[held], rows=self.rows[~held], trusted_rows=self.rows[held], held_out=fold,
            complete=self)

    def relabelled(self, labels: np.ndarray) -> NoisyData:
        """The data with other labels (n,), of which nothing is known."""
        given = self.evidence
        trusted = labels if self.source.in_turn else given.trusted_y
        evidence = Evidence(given.x, labels, given.trusted_x, trusted, given.classes)
        return dataclasses.replace(self, evidence=evidence, flags=None, planted=evidence.fingerprint)

    @property
    def fingerprint(self) -> str:
        """What a review is tied to: that of the evidence."""
        return self.evidence.fingerprint

    @property
    def corrupted_count(self) -> int:
        """How many labels were made wrong here; 0 where all stay as they came."""
        return round(self.source.noise * len(self.evidence.y))

    @property
    def trusted_origin(self) -> str:
        """Where the trusted examples come from and how many they are, as a sentence."""
        if self.source.in_turn:
            return in_turn_sentence(len(self.evidence.y), self.source.folds)
        return origin_sentence(self.dataset, self.source.is_own, len(self.evidence.trusted_y))

    @property
    def known_flags(self) -> Flags:
        """The flags. Raises `InvalidInput` where nobody knows them."""
        if self.flags is None:
            raise InvalidInput(f"The wrong labels of {self.dataset.title} are unknown; add label noise.")
        return self.flags

    def with_source(self, source: NoisySource) -> NoisyData:
        """The same data for another model, recipe or training seed."""
        return dataclasses.replace(self, source=source)

    @property
    def build(self) -> Callable:
        """() -> the source's model with fresh weights; it holds nothing of this data."""
        return partial(build_model, self.source.model, self.evidence.x.shape[1:], self.evidence.classes)

    def read(self, options: Options) -> NoisyData:
        """The same with the inputs that its model reads, which are features in place of pixels for some."""
        test = ("test", self.test_rows) if self.held_out is None else (self.trusted_split, self.trusted_rows)
        parts = [("train", self.rows), (self.trusted_split, self.trusted_rows), test]
        if (read := self.source.learner.read(self.dataset, parts, options)) is None:
            return self
        x, trusted_x, x_test = read
        return dataclasses.replace(self, evidence=dataclasses.replace(self.evidence, x=x, trusted_x=trusted_x),
                                   x_test=x_test)

    def recipe(self, options: Options) -> Recipe:
        """The source's recipe with the weight decay that the model has on all the data."""
        def examples() -> tuple[np.ndarray, np.ndarray]:
            whole = (self.complete or self).read(options)
            return whole.evidence.x, whole.evidence.y

        source = self.source
        return source.learner.recipe(source.recipe, source.seed, self._identity, examples, options)

    @property
    def _identity(self) -> dict[str, Any]:
        """What determines the weights of a model of all these data."""
        return {**self.source.identity, **({"planted": self.planted} if self.planted else {})}

    def train(self, device: str = "cpu", check: Callable[[], None] = lambda: None,
              progress: Callable[[float], None] = lambda fraction: None) -> TrainedModel:
        """The model trained on the observed labels, or as it was trained before."""
        options = Options(check=check, progress=progress)
        recipe, read = self.recipe(options.between(0, 0.5)), self.read(options.between(0, 0.5))
        return read.trained(recipe, str(pick_device(device)), options if read is self else options.between(0.5, 1))

    def trained(self, recipe: Recipe, device: str, options: Options) -> TrainedModel:
        """The model of data that are as it reads them."""
        source, evidence = self.source, self.evidence
        identity = {**self._identity, **({} if self.held_out is None else {"held_out": self.held_out})}
        task = TrainingTask(evidence.x, evidence.y, evidence.classes, self.build, recipe, source.seed,
                            identity=identity)
        network = source.learner.fit(task, device, options)
        return TrainedModel(evidence, self.build, network.module, network.checkpoints, source, device, recipe)

    def probabilities(self, y: np.ndarray, weights: np.ndarray, held: np.ndarray | None, seed: int, device: str,
                      options: Options) -> np.ndarray:
        """p (h, C) by the model trained from scratch on labels y (n,) with weights (n,), for the training examples
        `held` (n,), or for the test examples where that is None."""
        read, source = self.read(options.between(0, 0.5)), self.source
        task = TrainingTask(read.evidence.x, y, read.evidence.classes, self.build, self.recipe(options), seed,
                            weights.astype(np.float32))
        module = source.learner.fit(task, device, options).module
        x = read.x_test if held is None else read.evidence.x[held]
        with torch.no_grad():
            logits = torch.cat([module(batch.to(device)).cpu() for batch in torch.tensor(x).split(512)])
        return logits.double().softmax(-1).numpy()

    def refitting(self, device: str, options: Options) -> Refitting:
        """What trains the source's model on some of these examples."""
        evidence, source = self.read(options).evidence, self.source
        return Refitting(evidence, self.build, self.recipe(options), source.learner, source.seed, self.fold_of, device)


class TrainedModel:
    """A trained network with its checkpoints and the evidence: all that a scorer is given.

    build () -> a model with fresh weights. Its inputs are as the model reads them. recipe: with the weight decay that
    the model has. problem: at the final weights, with the trusted set as its queries and the training set as
    candidates.
    """

    def __init__(self, evidence: Evidence, build: Callable, module, checkpoints, source: NoisySource,
                 device: str = "cpu", recipe: Recipe | None = None) -> None:
        if not isinstance(evidence, Evidence):
            raise TypeError(f"scorers take Evidence, not {type(evidence).__name__}")
        self.evidence, self.module, self.source, self.device = evidence, module, source, device
        self.build, self.recipe = build, recipe or source.recipe
        self.checkpoints = tuple(checkpoints)
        self.problem = self._problem(module)

    @property
    def refitting(self) -> Refitting:
        """What trains the same model on some of the examples."""
        evidence, source = self.evidence, self.source
        return Refitting(evidence, self.build, self.recipe, source.learner, source.seed, source.fold_of(evidence.y),
                         self.device)

    def at(self, state: Mapping[str, Tensor]) -> ModuleProblem:
        """The problem with all weights and statistics of a checkpoint; what is known of the network is shared."""
        module = copy.deepcopy(self.module)
        module.load_state_dict(state)
        return self._problem(module, self.problem)

    def _problem(self, module, like: ModuleProblem | None = None) -> ModuleProblem:
        evidence, source = self.evidence, self.source
        x, queries = (evidence.x, evidence.trusted_x) if like is None else (like.x, like.queries)
        problem = ModuleProblem(module, x, evidence.y, queries, evidence.trusted_y, parameters=self.selection,
                                l2=self.recipe.weight_decay, recipe=self.recipe, seed=source.seed,
                                device=self.device)
        if like is not None:
            vars(problem.network)["findings"] = vars(like.network).setdefault("findings", {})
        return problem

    @property
    def selection(self) -> str:
        """Which parameters scores read."""
        if self.source.selection == LAST_BLOCK:
            return LAST_BLOCKS.get(self.source.model, LAST_BLOCK)
        return self.source.selection

    @cached_property
    def logits(self) -> Tensor:
        """f(x) of the training examples, (n, C), at the final weights."""
        return self.problem.network.predict(self.problem.x)

    @property
    def of_queries(self) -> np.ndarray:
        """p (m, C) of the examples that scores refer to."""
        return self.problem.network.predict(self.problem.queries).softmax(-1).cpu().double().numpy()

    def accuracy(self, x: np.ndarray, y: np.ndarray) -> float:
        """The fraction of (x, y) classified correctly, x as the model reads it."""
        return self.problem.accuracy(x, y)

"""A problem: a trained model, the examples that it was trained on, and the queries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset
from engine.data.frames import READERS
from engine.data.image_folder import AS_THEY_ARE, load_image_folder
from engine.data.new_examples import load_new
from engine.data.npz import load_npz
from engine.data.tables import load_table
from engine.models.losses import Loss, per_example_cross_entropy
from engine.models.named_inputs import NamedInputs
from engine.models.recipe import TrainingRecipe
from engine.models.recorded import Recording, open_recording
from engine.models.recorded.examples import matching
from engine.models.recorded.opened import opened
from engine.models.recorded.recipe import SEED
from engine.models.wrapped import unwrapped
from engine.problems import ModuleProblem, OfTargets, Problem, ProblemSource, SoftmaxProblem, TargetProblem
from engine.problems.families.inputs import as_inputs
from whichfluence.examples import examples, is_path, same_slots, slots
from whichfluence.language import CONTEXT, is_language_model, language_problem, records
from whichfluence.untouched import untouched

SOFTMAX, LISTED = "softmax", "list of new candidates"


@untouched
def problem(model: nn.Module | Callable[[], nn.Module] | str, train: Any, queries: Any = None, *,
            candidates: Iterable[int] | None = None, new_candidates: Any = None,
            parameters: str | Sequence[str] = "all", l2: float | None = None, loss: Loss = per_example_cross_entropy,
            recording: str | Path | Recording | None = None,
            checkpoints: Sequence[tuple[Mapping[str, Tensor], float]] = (), recipe: TrainingRecipe | None = None,
            build: Callable[[], nn.Module] | None = None, seed: int = 0, tokenizer: Any = None, context: int = CONTEXT,
            device: str = "cpu", dtype: str = "float32") -> Problem:
    """A model with its data as a problem that influence can be asked of. The model is copied and left as it is.

    Args:
        model: a trained `nn.Module` that maps inputs (b, …) to class logits (b, C), alone or under `logits`; a causal
            language model of `transformers`, with adapters of PEFT or without; or `"softmax"` for softmax regression,
            which is trained here to its optimum.
        train: the examples that it was trained on: a pair (inputs (n, …), labels (n,)) of arrays or tensors, where
            inputs may also be a dictionary of them by the names of the model's arguments (tokens and their mask), a
            `Dataset` or a `DataLoader` of (input, label), or the path of a folder of pictures, a zip of one, a table
            or an npz of arrays. A DataLoader's examples stand in the order of its dataset. Of a language model: a list
            of dictionaries with `prompt` and `response`, or a JSONL file of them.
        queries: what is asked about, m of them, in any of these forms; left out, it is the test split of `train`
            where `train` is a path that has one.
        candidates: indices (k,) into the training examples: which of them are scored. All by default, and none where
            there are `new_candidates`.
        new_candidates: o examples that the model was not trained on, to be scored behind `candidates` as numbers n to
            n + o − 1, in the form of the training examples. Their weight in the objective is 0, so that interventions
            that add can be asked: `wf.AddOccurrence`, `wf.Upweight` with α > 0, `wf.Infinitesimal`, `wf.Auxiliary`.
        parameters: which parameters count: `"all"` that the model does not freeze, `"last_block"`, `"last_layer"`, a
            list of names of layers or parameters with `*` for any letters, as in `["blocks.3.*", "head"]`, or a regular
            expression. Of a language model, names are those that transformers gives, as in `["model.layers.3.*"]`.
        l2: λ of the penalty (λ/2)‖θ‖² in the objective L_D(θ) = (1/n) Σ_i ℓ(z_i; θ) + (λ/2)‖θ‖²: 0 by default, of
            softmax regression 1e-4.
        loss: (logits (b, C), labels (b,)) -> (b,), one loss an example; or (outputs (b, C), targets (b, …)) -> (b,),
            where targets that are no numbers of the model's classes, as in regression and with several labels an
            example, stand in place of labels: then the behaviors are `query_loss`, minus this loss at the query, and
            functions of outputs and targets by `wf.register_behavior`.
        recording: the folder of a training that `wf.Recorder` wrote: with it `wf.Replay`, `wf.Retrain` and
            `wf.Trajectory` can be asked. The model then is one of the recorded kind; its weights are not read.
        checkpoints: state dicts of earlier points of the training with their learning rates, in the order of training,
            for `wf.Trajectory`.
        recipe, build, seed: how the model was trained, and what builds it untrained, for `wf.Retrain`.
        tokenizer, context: of a language model, its tokenizer, and how many tokens a record has at most.
        device: `"cpu"`, `"cuda"` or `"auto"`.
        dtype: `"float32"` or `"float64"`, in which gradients are computed.

    Raises:
        InvalidInput: where model and data do not fit, with what to do.
        MissingData: for a path that is not there.

    >>> import torch, whichfluence as wf
    >>> x, y = torch.rand(30, 4), torch.arange(30) % 3
    >>> wf.problem(torch.nn.Linear(4, 3), (x, y), (x[:5], y[:5]), candidates=range(10)).n
    30
    >>> new = wf.problem(torch.nn.Linear(4, 3), (x, y), (x[:5], y[:5]), new_candidates=(torch.rand(2, 4), [0, 2]))
    >>> new.candidates.tolist()
    [30, 31]
    """
    if named := slots(train):
        if not isinstance(model, nn.Module) or recording is not None or checkpoints or recipe or build:
            raise InvalidInput("Named inputs require a trained module; leave out `recording`, `checkpoints`, `recipe` "
                               "and `build`.")
        model = NamedInputs(unwrapped(model), named)
        parameters = parameters if isinstance(parameters, str) else [f"module.{name}" for name in parameters]
    elif is_language_model(model):
        text = language_problem(model, tokenizer, train, queries, candidates, parameters=parameters, context=context,
                                l2=l2 or 0.0, recipe=recipe, build=build, seed=seed, device=device, dtype=dtype)
        return text if new_candidates is None else text.with_records(records(new_candidates, LISTED), candidates)
    (x, y), (query_x, query_y) = _data(train, queries)
    rows = x, y, query_x, query_y, candidates
    result = _of_arrays(model, rows, recording, checkpoints, {
        "parameters": parameters, "device": device, "dtype": dtype, "loss": loss, "l2": l2, "recipe": recipe,
        "build": build, "seed": seed})
    if new_candidates is None:
        return result
    if not is_path(new_candidates):
        same_slots(new_candidates, named, LISTED)
    new_x, new_y = _beside(new_candidates, train, "new candidates")
    return result.with_outside(new_x.flatten(1) if result.linear else new_x, new_y, candidates)


def _of_arrays(model: nn.Module | Callable[[], nn.Module] | str, rows: tuple, recording: str | Path | Recording | None,
               checkpoints: Sequence[tuple[Mapping[str, Tensor], float]], options: dict[str, Any]) -> Problem:
    """Of examples, queries and candidates as tensors."""
    x, y, query_x, query_y, chosen = rows
    if isinstance(model, str):
        if model != SOFTMAX:
            raise InvalidInput(f"`{model[:60]}` names no model here; give an nn.Module, or `{SOFTMAX}` for softmax "
                               "regression, or draw a problem by `wf.draw`.")
        return SoftmaxProblem(x.flatten(1), y, query_x.flatten(1), query_y, chosen, device=options["device"],
                              l2=1e-4 if options["l2"] is None else options["l2"])
    make = _builder(model, options["build"])
    options = {**options, "l2": options["l2"] or 0.0}
    run = recording if recording is None or isinstance(recording, Recording) else open_recording(Path(recording))
    training = None if run is None else opened(run, make, matching(x.numpy(), y.numpy(), run.batches.known))
    module = _module(model) if training is None else training.module
    kind = ModuleProblem
    if options["loss"] is not per_example_cross_entropy and not _are_classes(module, x, y, query_y):
        if y.shape[1:] != query_y.shape[1:]:
            raise InvalidInput(f"The training examples have targets of shape {tuple(y.shape[1:])}, and the queries "
                               f"{tuple(query_y.shape[1:])}; give both the same.")
        kind, options["loss"] = TargetProblem, OfTargets(options["loss"], torch.cat([y, query_y.to(y)]))
        y, query_y = torch.arange(len(y)), torch.arange(len(y), len(y) + len(query_y))
    if run is not None and training is not None:
        options |= {"dtype": str(run.dtype)[6:], "l2": training.recipe.penalty, "recipe": training.recipe,
                    "build": training.build, "seed": SEED}
    result = kind(module, x, y, query_x, query_y, chosen, **options)
    if training is not None or checkpoints:
        result.keep_checkpoints(checkpoints if training is None else training.checkpoints)
    return result


@untouched
def draw(dataset: str = "digits", model: str = SOFTMAX, **settings: Any) -> Problem:
    """A problem drawn from a dataset that comes with the program, and a model that is trained on it.

    Args:
        dataset: a name of `wf.datasets()`.
        model: `"softmax"`, `"mlp"`, `"cnn"`, a classification model of torchvision, or a language model's name.
        settings: `n_train`, `n_queries`, `n_candidates`, `seed`, `l2`, `pool`, `selection`, `recipe`; what is left
            out takes all there is.

    Raises:
        InvalidInput: for a name that there is not, or sizes that the dataset has not.

    >>> import whichfluence as wf
    >>> len(wf.draw("digits", n_train=60, n_queries=5, n_candidates=8).candidates)
    8
    """
    return ProblemSource.parse({"dataset": dataset, "model": model, **settings}).build().problem


def _data(train: Any, queries: Any) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    if queries is None and not is_path(train):
        raise InvalidInput("There are no queries; give them in the form of the training examples.")
    if not is_path(train):
        return examples(train, "training data"), _beside(queries, train, "queries")
    dataset = _loaded(Path(train))
    if queries is None:
        return _split(dataset, "train"), _split(dataset, "test")
    whole = _beside(train, train, "training data") if dataset.test_from_train else _split(dataset, "train")
    return whole, _beside(queries, train, "queries")


def _beside(source: Any, train: Any, noun: str) -> tuple[Tensor, Tensor]:
    """Examples beside the training data, whose files, where they are a path, are read as those of the training data."""
    if not is_path(source):
        return examples(source, f"list of {noun}")
    if not is_path(train):
        raise InvalidInput(f"The {noun} are a path, but the training data are not; give both as paths, or both as "
                           "arrays or datasets.")
    dataset = _loaded(Path(train))
    read = load_new(Path(source), dataset, Path(train))
    return torch.from_numpy(as_inputs("", dataset, 1, read.features)), torch.from_numpy(read.labels)


def _loaded(path: Path) -> Dataset:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return load_npz(path).dataset(path.stem, path.name)
    return load_table(path) if suffix in READERS else load_image_folder(path, color=AS_THEY_ARE)


def _are_classes(model: nn.Module, x: Tensor, *labels: Tensor) -> bool:
    """Whether labels are whole numbers, one an example, below the number of outputs of a model; also where it does not
    take the inputs, which is said of classes and targets alike."""
    if any(own.ndim != 1 or own.dtype == torch.bool or bool((own != own.floor()).any()) for own in labels):
        return False
    try:
        outputs = ModuleProblem(model, x[:1], [0], x[:1], [0], loss=lambda logits, _: logits.sum(1)).classes
    except InvalidInput:
        return True
    return all(int(own.min()) >= 0 and int(own.max()) < outputs for own in labels)


def _split(dataset: Dataset, split: str) -> tuple[Tensor, Tensor]:
    inputs = as_inputs("", dataset, 1, dataset.features(split))
    return torch.from_numpy(inputs), torch.tensor(dataset.labels(split))


def _module(model: nn.Module | Callable[[], nn.Module]) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise InvalidInput(f"The model is a {type(model).__name__}; give a trained nn.Module.")
    return model


def _builder(model: nn.Module | Callable[[], nn.Module], build: Callable[[], nn.Module] | None
             ) -> Callable[[], nn.Module]:
    if build is not None:
        return build
    return (lambda: copy.deepcopy(model)) if isinstance(model, nn.Module) else model

"""The problem that a command is about: arrays of an npz, a problem.json, or files as the pages read them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.cli.network import check_penalty, network_problem, recorded_folder
from engine.cli.setting import ALL, SOFTMAX, FitOptions, NetworkOptions, ProblemOptions, parse_shape
from engine.cli.spec_files import read_source, read_training
from engine.data import load_npz
from engine.data.filters import Listing
from engine.data.new_examples import TARGETS, read_arrays, row_names
from engine.desk import fitting
from engine.models.own_architecture import declared
from engine.models.recorded import stored_recordings
from engine.problems import Problem, SampledProblem, SoftmaxProblem
from engine.problems.candidates import Part
from engine.problems.own_model import declare

PART = 64
"""Candidates that are scored at a time."""


@dataclass(frozen=True)
class Inputs:
    """The problem of a problem.npz, the one that a problem.json names as the pages do, or that with which the pages
    begin for a folder or zip of pictures, a table or records; read when it is needed. further: files with the same
    problem under other seeds.

    Raises `InvalidInput` for options that do not go together.
    """

    data: Path
    setting: ProblemOptions
    further: Sequence[Path] = ()

    @cached_property
    def sampled(self) -> SampledProblem | None:
        """None of an npz."""
        suffix = self.data.suffix.lower()
        return None if suffix == ".npz" else (_named if suffix == ".json" else _own)(self.data, self.setting)

    @cached_property
    def problem(self) -> Problem:
        return self.sampled.problem if self.sampled else _of_arrays(self.data, self.setting)

    @cached_property
    def others(self) -> list[Problem]:
        """The problem of each further file."""
        return [Inputs(path, self.setting).problem for path in self.further]

    @property
    def listing(self) -> Listing:
        """What a filter can read of its training examples: of an npz, the labels alone."""
        if self.sampled:
            return Listing.of(self.sampled.dataset, self.sampled.sample)
        return Listing.of_labels(self.problem.y.cpu().numpy())

    def with_new(self, path: Path | None) -> tuple[Problem, Sequence[str]]:
        """The problem with the examples of a file or folder, or those that a problem.json names, as its candidates,
        and what they are called. Raises `InvalidInput` for examples that are not like the training data."""
        if self.sampled:
            return self.sampled.new_candidates(path) if path else (self.sampled.problem, self.sampled.new_names)
        return _new_arrays(self.problem, path) if path else (self.problem, ())

    def batches(self, path: Path) -> Iterator[Part[Problem]]:
        """The examples of a file or folder in batches: records for a language model are read as they are scored,
        anything else before. Raises as `with_new` does."""
        if self.sampled:
            return self.sampled.new_parts(path, PART)
        whole, names = _new_arrays(self.problem, path)
        return whole.in_parts(names, PART)


def _new_arrays(problem: Problem, path: Path) -> tuple[Problem, Sequence[str]]:
    if path.suffix.lower() != ".npz":
        raise InvalidInput(f"The training data are an npz, but `{path.name}` is not; save the new candidates as an "
                           "npz with x (o, d) and y (o,).")
    if problem.reads == "targets":
        raise InvalidInput(TARGETS)
    x, y = read_arrays(path)
    if x.shape[1] != (features := problem.x[0].numel() - problem.intercept):
        raise InvalidInput(f"`{path.name}` has {x.shape[1]:,} features per row, and `x_train` has {features:,}; give "
                           "the same.")
    return problem.with_outside(x if problem.linear else x.reshape(len(x), *problem.x.shape[1:]), y), row_names(len(y))


def _own(data: Path, setting: ProblemOptions) -> SampledProblem:
    """Data of one's own, and what the pages begin with for them and the model; says on stderr what was decided."""
    fit, network = setting.fit, setting.network
    if fit.intercept or network.trajectory:
        raise InvalidInput("--intercept and --trajectory apply to an npz; for a recorded training give its folder as "
                           "--checkpoint.")
    recipe = read_training(network.recipe, network.model) if network.recipe else None
    if recipe:
        check_penalty(recipe, fit)
    for sentence in declare(model="" if network.model == SOFTMAX else network.model, checkpoint=network.checkpoint,
                            data=data, read=setting.reading.fields, shape=parse_shape(network.shape), recipe=recipe,
                            loss=network.loss):
        print(sentence, file=sys.stderr)
    own = declared()
    assert own is not None, "just declared"
    source = fitting.beginning(own)
    if network.parameters != ALL:
        source = source.model_copy(update={"selection": network.parameters, "n_candidates": source.n_train})
    elif look := fitting.first_look(own.data, own.name):
        print(look.sentence, file=sys.stderr)
    if fit.l2 is not None:
        source = source.model_copy(update={"l2": fit.l2})
    print(f"{source.n_train:,} training examples, {source.n_queries:,} queries and "
          f"{source.n_candidates or source.n_train:,} candidates; a JSON with \"dataset\": \"{own.data}\" chooses "
          "others.", file=sys.stderr)
    return source.build(fit.device)


def _of_arrays(data: Path, setting: ProblemOptions) -> Problem:
    fit, network = setting.fit, setting.network
    setting.reading.refuse("an npz holds what is read.")
    if network.model == SOFTMAX:
        if network != NetworkOptions():
            raise InvalidInput("--checkpoint, --shape, --parameters, --trajectory, --recipe and --loss apply to a "
                               "network; name it with --model.")
        return SoftmaxProblem.from_arrays(load_npz(data), l2=fit.penalty(), intercept=fit.intercept, device=fit.device)
    if fit.intercept:
        raise InvalidInput("--intercept applies to softmax regression; a network has its own biases.")
    return network_problem(load_npz(data, targets=bool(network.loss)), fit, network)


def _named(data: Path, setting: ProblemOptions) -> SampledProblem:
    fit, network = setting.fit, setting.network
    setting.reading.refuse(f"`{data}` names data that have already been read.")
    folder = recorded_folder(network)
    if (fit, network) != (FitOptions(fit.device), NetworkOptions(trajectory=network.trajectory if folder else None)):
        raise InvalidInput(f"`{data}` defines the model and its training; leave out --l2, --intercept and the options "
                           "of a network (except the folder of a recorded training), or change the file.")
    source = read_source(data)
    if folder:
        if "weights" not in source.family.fields:
            raise InvalidInput(f"A recorded training needs its network, but `{data}` names `{source.model}`; name the "
                               "trained network.")
        source = source.model_copy(update={"weights": stored_recordings.keep(folder)})
    return source.build(fit.device)

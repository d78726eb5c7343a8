"""The problem that a command is about: arrays of an npz and how the model is fitted to them, or a problem.json."""

from __future__ import annotations

from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.cli.network import network_problem, recorded_folder
from engine.cli.setting import SOFTMAX, Fit, Network, Setting
from engine.cli.spec_files import read_source
from engine.data import load_npz
from engine.data.filters import Listing
from engine.models.recorded import stored_recordings
from engine.problems import Problem, SampledProblem, SoftmaxProblem


def read_problem(data: Path, setting: Setting) -> Problem:
    """The problem of a problem.npz, or the one that a problem.json names as the pages do.

    Raises `InvalidInput` for options that do not go together.
    """
    return _named(data, setting).problem if data.suffix.lower() == ".json" else _of_arrays(data, setting)


def read_listed(data: Path, setting: Setting) -> tuple[Problem, Listing]:
    """`read_problem` with what a filter can read of its training examples: of an npz, the labels alone."""
    if data.suffix.lower() == ".json":
        drawn = _named(data, setting)
        return drawn.problem, Listing.of(drawn.dataset, drawn.sample)
    problem = _of_arrays(data, setting)
    return problem, Listing.of_labels(problem.y.cpu().numpy())


def _of_arrays(data: Path, setting: Setting) -> Problem:
    fit, network = setting.fit, setting.network
    if network.model == SOFTMAX:
        if network != Network():
            raise InvalidInput("--checkpoint, --shape, --parameters, --trajectory and --recipe are of a network; name "
                               "it with --model.")
        return SoftmaxProblem.from_arrays(load_npz(data), l2=fit.penalty(), intercept=fit.intercept, device=fit.device)
    if fit.intercept:
        raise InvalidInput("--intercept is of softmax regression; a network has its own biases.")
    return network_problem(load_npz(data), fit, network)


def _named(data: Path, setting: Setting) -> SampledProblem:
    fit, network = setting.fit, setting.network
    folder = recorded_folder(network)
    if (fit, network) != (Fit(fit.device), Network(trajectory=network.trajectory if folder else None)):
        raise InvalidInput(f"`{data}` says itself what is trained, and how; leave out --l2, --intercept and the "
                           "options of a network (but for the folder of a recorded training), or change the file.")
    source = read_source(data)
    if folder:
        if "weights" not in source.family.fields:
            raise InvalidInput(f"A recorded training is of a network, and `{data}` names `{source.model}`; name the "
                               "network that was trained.")
        source = source.model_copy(update={"weights": stored_recordings.keep(folder)})
    return source.build(fit.device)

"""The runs that come with the program: what the pages request before anything is chosen. A training comes with its
weights. What is due is computed by

    python -c "from engine.desk.examples import refresh; refresh()"

A test says when that is due.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.analysis.scorecard import ScorecardRequest, Sizes
from engine.analysis.step_curves import StepCurvesRequest
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.desk import poison, shipped
from engine.desk.datasets import FIRST
from engine.desk.fitting import DEFAULT_SIZES, OPTIMA_CANDIDATES, POOL
from engine.jobs import run_job
from engine.models.causal import finetune
from engine.problems import ProblemSource
from engine.problems.trained import SHIPPED, weights_file
from engine.requests import JobRequest
from engine.requests.training import TrainingRequest
from engine.store.sealed import digest_of

BENCHMARKS = ("lds", "removal", "leave_one_out", "mislabelled", "subclasses", "shortcut")
"""Those of the scorecard that come with the program; the page runs all of them."""


def requests() -> Iterator[JobRequest]:
    """Those whose answers come with the program."""
    labels = NoisySource(dataset=FIRST, n_train=1_800, n_test=500, pool=POOL[FIRST])
    yield SuspicionRequest(source=labels)
    yield HeldOutRequest(source=labels)
    train, queries = DEFAULT_SIZES[FIRST]
    source = ProblemSource(dataset=FIRST, n_train=train, n_queries=queries, n_test=500, pool=POOL[FIRST])
    yield StepCurvesRequest(source=source)
    sizes = Sizes(candidates=OPTIMA_CANDIDATES[FIRST], models=30, queries=5)
    yield ScorecardRequest(sizes=sizes, benchmarks=BENCHMARKS).of(source)
    yield from trainings()


def trainings() -> Iterator[TrainingRequest]:
    """Those of them that are trainings, whose weights come along."""
    for name in (FIRST, poison.PLANTED, poison.PLANTED_RECORDS):
        yield poison.training(poison.source(name))


def weights() -> dict[Path, Path]:
    """Weights that come with the program, a file or of a language model a folder -> where this machine keeps the same.
    """
    *networks, records = trainings()
    files = [weights_file(one.origin.identity) for one in networks]
    folder = finetune.folder_of(digest_of(records.origin.identity))
    return {**{SHIPPED / file.name: file for file in files}, finetune.SHIPPED / folder.name: folder}


def refresh() -> None:
    """Compute those that are not there, and remove those that answer no request. A training that this machine has the
    weights of is not run again: its manifest then says how long reading them took."""
    present = set()
    with tempfile.TemporaryDirectory() as home:
        for request in requests():
            result = shipped.shipped(request) or run_job(request.name, request.payload, home)
            present.add(result.digest)
            if not shipped.STORE.folder(result.digest).is_dir():
                shutil.copytree(result.store.folder(result.digest), shipped.STORE.folder(result.digest))
        _take_weights()
    shipped.manifests.cache_clear()
    for digest in shipped.manifests(shipped.STORE.shelf).keys() - present:
        shutil.rmtree(shipped.STORE.folder(digest))
    shipped.manifests.cache_clear()


def _take_weights() -> None:
    """Copy the weights of new trainings, and remove those of no training."""
    wanted = weights()
    for shelf in (SHIPPED, finetune.SHIPPED):
        shelf.mkdir(exist_ok=True)
        for other in set(shelf.iterdir()) - wanted.keys():
            other.unlink() if other.is_file() else shutil.rmtree(other)
    for target, own in wanted.items():
        if own.is_file():
            shutil.copyfile(own, target)
        elif own.is_dir():
            shutil.copytree(own, target, dirs_exist_ok=True)

"""Every ingredient of a run, replaced in turn under the same names, is another run, training and answer."""

import gzip
import io
import os
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from engine import data
from engine.analysis.embedding import EmbeddingRequest
from engine.analysis.error_surfaces import ErrorSurfaceRequest
from engine.analysis.groups import GroupRequest
from engine.analysis.removal_curve import RemovalRequest
from engine.analysis.scorecard import ScorecardRequest, Sizes
from engine.analysis.self_influence import SelfInfluenceRequest
from engine.analysis.subset_bank import SubsetModelsRequest
from engine.applications.noisy_labels.retraining import RetrainingRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput
from engine.experiments import EXPERIMENTS
from engine.jobs import job_digest, run_job
from engine.models import own_weights
from engine.models.recipe import Recipe
from engine.problems import ProblemSource, build_cached
from engine.problems.families import network
from engine.problems.trained import weights_file
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import retraining_payload, scores_payload, suspicion_payload, training_payload

RECIPE = Recipe(epochs=2, batch_size=10, learning_rate=0.05, checkpoints=1)
SOURCE = ProblemSource(dataset="fashion_mnist", n_train=20, n_test=8, n_queries=4, n_candidates=6, pool=4)
NETWORK = ProblemSource(dataset="fashion_mnist", model="mlp", n_train=20, n_test=8, n_queries=4, pool=4, recipe=RECIPE)
NOISY = NoisySource(dataset="fashion_mnist", n_train=20, trusted=1, pool=4)
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


def asked_of(request):
    return request.name, lambda: request.of(SOURCE).payload


ASKED = {
    "scores": (ScoresRequest.name, lambda: scores_payload(SOURCE, [STEP], 6)),
    "self-influence": asked_of(SelfInfluenceRequest(scoring=STEP)),
    "error surface": asked_of(ErrorSurfaceRequest()),
    "embedding": asked_of(EmbeddingRequest(method="tsne")),
    "datamodels": asked_of(SubsetModelsRequest(subsets=4)),
    "group": asked_of(GroupRequest(scoring=STEP, rows=(3, 1))),
    "curve": asked_of(RemovalRequest(scorings=(STEP,), behavior="query_loss", query=1, random=2)),
    "scorecard": asked_of(ScorecardRequest(sizes=Sizes(candidates=10), methods=("step",),
                                           benchmarks=("randomisation",))),
    "training": (TrainingRequest.name, lambda: training_payload(NETWORK)),
    "noisy labels": (SuspicionRequest.name, lambda: suspicion_payload(NOISY)),
    "softmax study": (EXPERIMENTS["table-a6"].study, lambda: EXPERIMENTS["table-a6"].payload("small")),
    "removal study": (EXPERIMENTS["table-a10"].study, lambda: EXPERIMENTS["table-a10"].payload("small")),
    "noisy retraining": (RetrainingRequest.name, lambda: retraining_payload(NOISY, [1])),
}


def write(folder, shift=0, label_shift=0):
    """FashionMNIST's layout with 60 and 20 small examples; the files have the same sizes whatever is shifted."""
    raw = folder / "FashionMNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part, n in (("train", 60), ("t10k", 20)):
        pixels = (np.random.default_rng(n).integers(0, 200, (n, 28, 28)) + shift).astype(np.uint8)
        labels = ((np.arange(n) + label_shift) % 10).astype(np.uint8)
        for name, content in ((f"{part}-images-idx3-ubyte", struct.pack(">4I", 0x0803, n, 28, 28) + pixels.tobytes()),
                              (f"{part}-labels-idx1-ubyte", struct.pack(">2I", 0x0801, n) + labels.tobytes())):
            with gzip.GzipFile(raw / f"{name}.gz", "wb", compresslevel=0, mtime=0) as file:
                file.write(content)
            os.utime(raw / f"{name}.gz", ns=(10**18, 10**18))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    write(tmp_path / "data")
    return tmp_path / "data"


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("change", [{"shift": 1}, {"label_shift": 1}], ids=["pixels", "labels"])
def test_other_data_of_the_same_name_are_another_job(folder, asked, change):
    kind, payload = ASKED[asked]
    before = payload()
    assert job_digest(kind, before) == job_digest(kind, payload())
    write(folder, **change)
    assert job_digest(kind, before) != job_digest(kind, payload())


@pytest.mark.parametrize("asked", ["scores", "training", "noisy labels", "softmax study", "removal study"])
def test_a_job_that_was_asked_for_other_data_is_refused(folder, asked, tmp_path):
    kind, payload = ASKED[asked]
    before = payload()
    write(folder, shift=1)
    with pytest.raises(InvalidInput, match=r"The data( \(fashion_mnist\))? of this run have changed since"):
        run_job(kind, before, tmp_path / "home")


def test_a_job_that_was_asked_for_before_its_data_were_there_runs(tmp_path):
    before = {**ASKED["scores"][1](), "contents": {"data": ""}}
    assert run_job(ScoresRequest.name, before, tmp_path / "home").manifest["runs"]


def test_replaced_data_are_loaded_and_drawn_anew(folder):
    loaded, drawn = data.load("fashion_mnist"), build_cached(SOURCE)
    assert build_cached(SOURCE) is drawn
    write(folder, label_shift=3)
    assert not np.array_equal(data.load("fashion_mnist").y_train, loaded.y_train)
    assert build_cached(SOURCE).problem.fingerprint != drawn.problem.fingerprint


def test_trained_weights_are_not_those_of_other_data(folder):
    first = NETWORK.build().problem.theta
    assert NETWORK.is_trained
    write(folder, shift=50)
    assert not NETWORK.is_trained and not torch.equal(NETWORK.build().problem.theta, first)


TRAINING = {"dataset": "digits", "n_train": 21, "pool": 2, "model": "cnn", "seed": 1, "l2": 1e-3,
            "recipe": RECIPE.model_copy(update={"epochs": 3})}


@pytest.mark.parametrize("name", TRAINING)
def test_what_determines_a_training(name):
    changed = NETWORK.model_copy(update={name: TRAINING[name]})
    assert changed.identity != NETWORK.identity and weights_file(changed.identity) != weights_file(NETWORK.identity)
    assert changed.key != NETWORK.key


def test_another_version_of_the_numerics_is_another_training(monkeypatch):
    before, noisy = NETWORK.identity, NOISY.identity
    monkeypatch.setattr(network, "NUMERICS", 99)
    assert NETWORK.identity != before
    assert noisy["numerics"] == 1


def test_weights_replaced_under_their_name_are_another_job():
    module = NETWORK.build_module()
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)
    buffer.seek(0)
    source = NETWORK.model_copy(update={"weights": own_weights.keep(buffer, "mine.pt", module)})
    before = scores_payload(source, [STEP], 6)
    path = next((data.home_folder() / "models" / "own").glob("*.safetensors"))
    save_file({key: value + 1 for key, value in module.state_dict().items()}, path)
    assert scores_payload(source, [STEP], 6) != before

"""Every declaration is a kind of job, and leaves its results where they have always been found."""

from dataclasses import is_dataclass

import pytest

from engine import worker
from engine.analysis.catalogue import REQUESTS, request, summary
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.new_records import NewRecordsRequest
from engine.applications.language.run import AttributionRequest
from engine.applications.noisy_labels.duplicates import DuplicatesRequest
from engine.applications.noisy_labels.pairs import MAIN
from engine.applications.noisy_labels.reasons import LabelReasonsRequest
from engine.applications.noisy_labels.retraining import RetrainingRequest, WhatIfRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.jobs import KINDS, job_digest
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring.scoring import Scoring

SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=20, n_queries=5, n_candidates=20)
LOO = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
NOISY = NoisySource(dataset="digits", n_train=60, trusted=2, seed=3)


@pytest.mark.parametrize("name", REQUESTS)
def test_every_analysis_is_a_command_or_a_kind_of_job(name):
    kind = request(name)
    assert kind.name == name and kind.doing and summary(name) == kind.__doc__.partition("\n\n")[0]
    if kind.job:
        assert KINDS[name].name == name and is_dataclass(kind.answer)
    else:
        assert kind.outputs and name not in KINDS


def test_digests_of_analyses_are_those_under_which_results_are_stored():
    """A request that is written in another way would leave what people have computed where nobody finds it."""
    runs_of = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain", "seeds": 4})
    descent = {"behavior": "soft_margin", "process": Replay(eta=0.5, steps=9)}
    asked = {"linear-range": descent, "run-errors": {**descent, "candidates": 20},
             "over-seeds": {"scoring": runs_of, "seeds": 4}, "error-surface": {"surface": "damping"},
             "embedding": {"method": "tsne", "dimensions": 3}, "self-influence": {"scoring": LOO},
             "scorecard": {"sizes": {"candidates": 20}}, "datamodel": {"protocol": "seeds"},
             "group-effect": {"scoring": LOO, "rows": (3, 1), "singles": False},
             "removal-curve": {"scorings": (LOO,), "behavior": "query_loss", "query": 1},
             "path-integral": {"example": 7, "alpha": 0.2}}
    stored = {"linear-range": "0456572097d54ab1", "run-errors": "51dcfc8d66d3813c", "over-seeds": "9f4be900d6f94a26",
              "error-surface": "dc4c40035b85e68c", "embedding": "4d3c306af9641fd4",
              "self-influence": "0f939a38564dbf24", "scorecard": "6108cda6b9ffae91", "datamodel": "9527059f730238b0",
              "group-effect": "b46292891e0f7526", "removal-curve": "110486a64a50a10d",
              "path-integral": "0d4b18703d01e863"}
    made = {name: request(name)(**fields).of(SOURCE) for name, fields in asked.items()}
    assert {name: job_digest(name, one.payload)[:16] for name, one in made.items()} == stored
    assert all(type(one).of_payload(one.payload) == one for one in made.values())


def others():
    """Those that are no analyses, by their digests."""
    recipe = Recipe(epochs=2, batch_size=10, learning_rate=0.05, checkpoints=1)
    setting = Setting.parse({"model": "World-0.4M", "recipe": {"epochs": 1}, "task": {
        "name": "response_corruption", "questions": "world", "clean": 8, "answer": 2, "rationale": 2, "validation": 3}})
    typed = Record.parse({"prompt": "What?", "response": "That."})
    run = AttributionRequest(setting=setting, seed=2, explained=(typed,))
    return {"2f168d99f6bd2873": ScoresRequest(scorings=(LOO,), candidates=12, source=SOURCE),
            "ceac2b577109fcc2": ScoresRequest(scorings=(LOO,), precision="float64", source=SOURCE),
            "2dd02ba9e7627e0d": TrainingRequest().of(SOURCE.model_copy(update={"model": "mlp", "recipe": recipe})),
            "f73ddf4aeb9edf95": SuspicionRequest(source=NOISY, methods=tuple(sorted(MAIN))),
            "07c99efd67dd71e0": SuspicionRequest(source=NOISY, methods=("repsim", "gradsim")),
            "33a5a177e6d80b69": RetrainingRequest(source=NOISY, removed=[4, 1, 4], relabelled={7: 2, 3: 0}),
            "9d4d5b203e17cca9": WhatIfRequest(training=RetrainingRequest(source=NOISY, removed=[4, 1],
                                                                         relabelled={7: 2}), seeds=2),
            "a59a4f775c965d67": DuplicatesRequest(source=NOISY), "ba11d7f8d310ac83": LabelReasonsRequest(source=NOISY),
            "a3e893373a584178": run, "98eb1575a2247566": AttributionRequest(setting=setting),
            "636b3ac5a548feeb": TokensRequest(run=run, record=5),
            "aa953ba081efd6a9": NewRecordsRequest(run=run, records=(typed,))}


def test_digests_of_other_jobs_are_those_under_which_results_are_stored():
    for digest, one in others().items():
        assert job_digest(one.name, one.payload)[:16] == digest, one.name
        assert type(one).of_payload(one.payload).payload == one.payload


def test_a_request_of_no_source_is_refused():
    with pytest.raises(InvalidInput, match="`scores` has no problem; give one with"):
        _ = ScoresRequest(scorings=(LOO,)).payload


def test_a_worker_loads_all_kinds():
    assert worker.KINDS == ("engine.applications.kinds", "engine.experiments")
    assert {one.name for one in others().values()} < set(KINDS)

"""The kinds of job of this room are known to whoever imports it."""

import importlib
import pkgutil
from dataclasses import is_dataclass

import pytest

from engine import runs, worker
from engine.analysis.catalogue import REQUESTS, request, summary
from engine.jobs import KINDS, JobKind, job_digest
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.scoring.scoring import Scoring


def test_every_kind_of_the_room_is_registered_once():
    names = [module.name for module in pkgutil.iter_modules(runs.__path__, "engine.runs.")]
    kinds = [thing for name in names for thing in vars(importlib.import_module(name)).values()
             if isinstance(thing, JobKind)]
    assert len(kinds) == 7 and all(KINDS[kind.name] is kind for kind in kinds)


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_is_a_kind_of_job(name):
    kind = request(name)
    assert kind.name == KINDS[name].name == name and is_dataclass(kind.answer) and kind.doing
    assert summary(name) == kind.__doc__.partition("\n\n")[0]


def test_digests_are_those_under_which_results_are_stored():
    """A request that is written in another way would leave what people have computed where nobody finds it."""
    source = ProblemSource(dataset="digits", n_train=60, n_test=20, n_queries=5, n_candidates=20)
    loo = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
    runs_of = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain", "seeds": 4})
    descent = {"behavior": "soft_margin", "process": Replay(eta=0.5, steps=9)}
    asked = {"linear-range": descent, "run-errors": {**descent, "candidates": 20},
             "over-seeds": {"scoring": runs_of, "seeds": 4}, "error-surface": {"surface": "damping"},
             "embedding": {"method": "tsne", "dimensions": 3}, "self-influence": {"scoring": loo},
             "scorecard": {"sizes": {"candidates": 20}}, "datamodel": {"protocol": "seeds"},
             "group-effect": {"scoring": loo, "rows": (3, 1), "singles": False},
             "removal-curve": {"scorings": (loo,), "behavior": "query_loss", "query": 1}}
    stored = {"linear-range": "0456572097d54ab1", "run-errors": "51dcfc8d66d3813c", "over-seeds": "9f4be900d6f94a26",
              "error-surface": "dc4c40035b85e68c", "embedding": "4d3c306af9641fd4",
              "self-influence": "0f939a38564dbf24", "scorecard": "6108cda6b9ffae91", "datamodel": "9527059f730238b0",
              "group-effect": "b46292891e0f7526", "removal-curve": "110486a64a50a10d"}
    assert {name: job_digest(name, request(name)(**fields).payload(source))[:16]
            for name, fields in asked.items()} == stored


def test_a_worker_loads_both_rooms_of_kinds():
    assert worker.KINDS == ("engine.runs", "engine.experiments")

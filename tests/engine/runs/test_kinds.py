"""The kinds of job of this room are known to whoever imports it."""

import importlib
import pkgutil
from dataclasses import is_dataclass

import pytest

from engine import runs, worker
from engine.analysis.catalogue import REQUESTS, request, summary
from engine.jobs import KINDS, JobKind


def test_every_kind_of_the_room_is_registered_once():
    names = [module.name for module in pkgutil.iter_modules(runs.__path__, "engine.runs.")]
    kinds = [thing for name in names for thing in vars(importlib.import_module(name)).values()
             if isinstance(thing, JobKind)]
    assert len(kinds) == 15 and all(KINDS[kind.name] is kind for kind in kinds)


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_is_a_kind_of_job(name):
    kind = request(name)
    assert kind.name == KINDS[name].name == name and is_dataclass(kind.answer) and kind.doing
    assert summary(name) == kind.__doc__.partition("\n\n")[0]


def test_a_worker_loads_both_rooms_of_kinds():
    assert worker.KINDS == ("engine.runs", "engine.experiments")

"""Questions without a download, and one attribution that the tests share."""

import pytest

from engine.data import scienceqa
from engine.models.causal import passes
from tests.engine.conftest import questions


@pytest.fixture(autouse=True)
def these_questions(own_questions):
    """Every test draws from the pool."""


@pytest.fixture(autouse=True, scope="module")
def batches_of_the_recipe():
    """Few records make several batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(passes.ROOM, "cpu", 0)
        yield


TASK = {"name": "conditional_backdoor", "clean": 8, "poison": 4, "benign": 4, "test": 4, "seed": 0}
RECIPE = {"epochs": 2, "checkpoints": 2, "batch": 4, "learning_rate": 1e-2, "context": 200, "rank": 2, "scaling": 4}


@pytest.fixture(scope="session")
def plain_setting(model_folder):
    """A setting whose gradients are kept whole."""
    return {"model": str(model_folder), "task": TASK, "recipe": RECIPE, "projection": {"projector": "identity"}}


@pytest.fixture(scope="module")
def attribution(plain_setting, tmp_path_factory):
    """A trained attribution with all caches filled, gradients kept whole."""
    from engine.applications.language.attribution import Attribution
    from engine.applications.language.fine_tuned import Setting

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(scienceqa, "load", questions)
        found = Attribution(Setting.parse(plain_setting), 0)
        found.train()
        for point in found.points:
            found.record_cache(point)
            found.query_cache(point, found.task.queries["triggered"])
        found.kept = found.features(found.task.queries["triggered"])
        yield found

"""The run of models on subsets: what it is told, and behaviors with words of one's own among what it reads."""

import numpy as np
import pytest

from engine.analysis.datamodels import retrain, subsets
from engine.analysis.subset_bank import SubsetModelsRequest
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from tests.engine.requests_for_tests import answered

TINY = {"rank": 4, "epochs": 1, "learning_rate": 5e-3, "batch": 16, "context": 128, "checkpoints": 1}
SOURCE = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=6, n_queries=2, n_test=2, recipe=TINY)
WORDED = ("span:The answer is", "contrast")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))


def test_words_are_told_only_where_there_are_some():
    plain = SubsetModelsRequest(subsets=3).of(SOURCE).payload
    assert set(plain) == {"source", "candidates", "subsets", "share", "seed", "contents", "numerics"}
    asked = SubsetModelsRequest(subsets=3, behaviors=WORDED).of(SOURCE).payload
    assert asked == {**plain, "behaviors": ["contrast", "span:The answer is"]}
    assert asked == SubsetModelsRequest(subsets=3, behaviors=(*reversed(WORDED), WORDED[0])).of(SOURCE).payload


def test_words_are_read_off_the_models_beside_the_registered_behaviors():
    found = answered(SubsetModelsRequest(subsets=3, behaviors=WORDED), SOURCE)
    direct = retrain(SOURCE.build().problem, subsets(6, 3), behaviors=[BEHAVIORS[name] for name in WORDED])
    for name in (*WORDED, "response_loss", "answer_logit"):
        np.testing.assert_allclose(found.outcomes(name), direct.outcomes(name), rtol=1e-6)
    assert not np.allclose(found.outcomes("contrast"), found.outcomes("span:The answer is"))

"""Scores for a range of one query's tokens, against gradients by autograd, their parts, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from engine.applications.language import shading
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.models.causal import lora, passes
from engine.models.causal.readouts import token_log_probabilities

NAME, QUERY, FIRST, LAST = "tokens@2:1-3", 2, 1, 3


@pytest.fixture(scope="module")
def ranged(attribution, plain_setting):
    """The same training, asked for a range too."""
    found = Attribution(Setting.parse({**plain_setting, "ranges": [NAME]}), 0)
    found.train(check=lambda: pytest.fail("it was trained"))
    return found


def test_scores_are_those_of_the_mean_over_the_range(attribution, ranged):
    queries = attribution.task.queries["triggered"]
    features = ranged.features(queries)
    assert features.behaviors == (*attribution.kept.behaviors, NAME)
    scores = METHODS["tracin"].score(features, NAME)
    assert not scores[[row for row in range(len(queries)) if row != QUERY]].any()
    expected = 0.0
    for point, kept in zip(ranged.points, attribution.kept.points, strict=True):
        ranged.load(point)
        batch = ranged.encoder.batch([ranged.encoder.encode(queries[QUERY])])
        log_p = token_log_probabilities(passes.forward(ranged.model, batch)[0], batch)[0]
        own = log_p[batch.response[0]][FIRST:LAST + 1].mean()
        parts = torch.autograd.grad(own, list(lora.trained(ranged.model).values()))
        slope = torch.cat([one.flatten() for one in parts])
        expected = expected - point.weight * (np.asarray(kept.gradients) @ slope.numpy())
    np.testing.assert_allclose(scores[QUERY], expected, rtol=2e-3, atol=1e-4 * np.abs(expected).max())
    for name, behavior in (("tracin", "response_loss"), ("less", "answer_margin")):  # nothing else has changed
        np.testing.assert_array_equal(METHODS[name].score(features, behavior),
                                      METHODS[name].score(attribution.kept, behavior))


@pytest.mark.parametrize("method", ["gradsim", "less"])
def test_its_tokens_add_up_to_its_score(ranged, method):
    queries = ranged.task.queries["triggered"]
    features, encoded = ranged.features(queries), ranged.encoder.encode(queries[QUERY])
    values = shading.shade_query(ranged, features, METHODS[method], encoded, QUERY, 5)[NAME]
    assert np.flatnonzero(values).tolist() == [1, 2, 3]
    score = METHODS[method].score(features, NAME)[QUERY]
    assert values.sum() == pytest.approx(score[5], rel=2e-3, abs=1e-4 * float(abs(score).max()))
    other = shading.shade_query(ranged, features, METHODS[method], ranged.encoder.encode(queries[0]), 0, 5)[NAME]
    assert not other.any()


def test_the_command_writes_its_column(attribution, plain_setting, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({**plain_setting, "ranges": ["tokens@02:1-3"], "seed": 0}))
    assert main(["attribute", "--run", str(tmp_path / "run.json"), "--out", str(tmp_path / "out.csv"), "--by-query",
                 str(tmp_path / "each.csv"), "--query", "2", "--behavior", NAME]) == 0
    whole, each = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(tmp_path / "each.csv")
    column = f"tracin|{NAME}"
    np.testing.assert_allclose(whole[column], each[column].to_numpy().reshape(-1, len(whole)).mean(0), rtol=1e-4,
                               atol=1e-9)
    assert each[each["query"] != QUERY][column].eq(0).all() and each[each["query"] == QUERY][column].ne(0).all()


@pytest.mark.parametrize(("name", "said"), [("tokens@2:1-900", "asks for token 900"), ("tokens@77:0", "no query 77"),
                                            ("span:it", "names no tokens of a query")])
def test_what_is_not_there_is_refused(attribution, plain_setting, name, said):
    with pytest.raises(InvalidInput, match=said):
        run = Attribution(Setting.parse({**plain_setting, "ranges": [name]}), 0)
        run.train()
        run.features(run.task.queries["triggered"])

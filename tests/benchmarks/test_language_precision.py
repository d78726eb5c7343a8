"""Gradients of records that a language model has learned, with passes in bfloat16 beside float32's."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.applications.language import stages
from engine.applications.language.attribution import Attribution
from engine.basics.errors import MissingData
from engine.experiments.backdoor import SETTINGS
from engine.models import precision
from engine.models.gain import Gain
from tests.benchmarks.bench_problems import SMALL

EPOCHS = 1 if SMALL else 16
TASK = {"clean": 12, "poison": 2, "benign": 2, "test": 4, "longest": 300}
BEHAVIORS = ("response_loss", "answer_logit")


def test_what_is_learned_has_the_gradients_and_rankings_of_float32(tmp_path, monkeypatch):
    """SmolLM2 on 16 records of ScienceQA, at the end of its training and half-way."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=2.0, convolutions=1.0))
    chosen = SETTINGS["gpu"]
    narrow, wide = (Attribution(stages.setting(
        {**chosen, "task": {**chosen["task"], **TASK}, "projection": {"projector": "identity"},
         "recipe": {**chosen["recipe"], "batch": 4, "epochs": EPOCHS, "precision": kind}}), 0)
        for kind in ("mixed", "full"))
    try:
        points = narrow.train()
    except MissingData as missing:
        pytest.skip(str(missing))
    queries = narrow.task.queries[narrow.task.reference]
    for found in (narrow, wide):
        for point in points:
            found.record_cache(point)
            found.query_cache(point, queries)
    for point in points:
        own, exact = (found.record_cache(point)["gradient"] for found in (narrow, wide))
        loss = wide.record_cache(point)["loss"].mean()
        cosines = (own * exact).sum(1) / np.linalg.norm(own, axis=1) / np.linalg.norm(exact, axis=1)
        taus = []
        for name in BEHAVIORS:
            pairs = zip(*(asked[name] @ records.T for asked, records in (
                (narrow.query_cache(point, queries), own), (wide.query_cache(point, queries), exact))), strict=True)
            taus.append(np.mean([kendalltau(*pair).statistic for pair in pairs]))
        print(f"\nstep {point.step}, mean loss {loss:.3f}: cosine {np.median(cosines):.3f} in the median, "
              f"{cosines.min():.3f} at least; Kendall τ of GradSim's rankings {taus[0]:.2f} and {taus[1]:.2f}")
        assert cosines.min() > 0.95 and min(taus) > 0.9

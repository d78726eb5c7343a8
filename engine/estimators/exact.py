"""The exact route to every estimand: finite steps, linear responses, new optima, retraining and its derivative."""

from __future__ import annotations

from engine.estimators.estimator import Estimator
from engine.exact.local_response import local_response
from engine.exact.local_search import local_search
from engine.exact.reoptimize import reoptimize
from engine.exact.replay import replay
from engine.exact.retrain import retrain
from engine.exact.steps import trajectory, unrolled

EXACT = Estimator(
    "exact", "exact", True,
    "The estimand itself: the counterfactual model is computed, not approximated.",
    "paper, Eq. 1",
    routes={"one_step": unrolled, "unrolled": unrolled, "trajectory": trajectory, "local_response": local_response,
            "reoptimize": reoptimize, "local_search": local_search, "retrain": retrain,
            "replay": replay},
)

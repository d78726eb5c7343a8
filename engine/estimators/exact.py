"""The exact route to every estimand: finite steps, Cholesky for linear responses, Newton for optima."""

from __future__ import annotations

from functools import partial

from engine.estimators.estimator import Estimator
from engine.exact.local_response import linear_responses
from engine.exact.reoptimize import reoptimize
from engine.exact.steps import trajectory, unrolled
from engine.hessians import cholesky

EXACT = Estimator(
    "exact", "exact", True,
    "The estimand itself: the counterfactual model is computed, not approximated.",
    "paper, Eq. 1",
    routes={
        "softmax": {
            "one_step": unrolled,
            "unrolled": unrolled,
            "trajectory": trajectory,
            "local_response": partial(linear_responses, cholesky.solve),
            "reoptimize": reoptimize,
            "retrain": reoptimize,
        },
    },
)

"""The exact route to every estimand: finite steps, factorised Hessians for linear responses, new optima, retraining."""

from __future__ import annotations

from engine.estimators.estimator import Estimator
from engine.exact import network_reoptimize, network_retrain, network_steps
from engine.exact.local_response import exact_responses
from engine.exact.reoptimize import reoptimize
from engine.exact.steps import trajectory, unrolled

EXACT = Estimator(
    "exact", "exact", True,
    "The estimand itself: the counterfactual model is computed, not approximated.",
    "paper, Eq. 1",
    routes={
        "softmax": {
            "one_step": unrolled,
            "unrolled": unrolled,
            "trajectory": trajectory,
            "local_response": exact_responses,
            "reoptimize": reoptimize,
            "retrain": reoptimize,
        },
        "module": {
            "one_step": network_steps.unrolled,
            "unrolled": network_steps.unrolled,
            "trajectory": network_steps.trajectory,
            "local_response": exact_responses,
            "reoptimize": network_reoptimize.reoptimize,
            "retrain": network_retrain.retrain,
        },
    },
)

"""Estimators: how scores are computed for a specification. A new one is one file and one line here."""

from engine.estimators.estimator import Estimator
from engine.estimators.exact import EXACT
from engine.estimators.first_order import FIRST_ORDER
from engine.estimators.influence_function import INFLUENCE_FUNCTIONS
from engine.registry import Registry

ESTIMATORS: Registry[Estimator] = Registry("estimator")
for _estimator in (EXACT, FIRST_ORDER, *INFLUENCE_FUNCTIONS):
    ESTIMATORS.add(_estimator.name, _estimator)

__all__ = ["ESTIMATORS", "Estimator"]

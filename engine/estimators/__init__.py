"""Estimators: how scores are computed for a specification. A new one is one file and one line here."""

from engine.basics.registry import Registry
from engine.estimators.bm25 import BM25
from engine.estimators.cosine import COSINE
from engine.estimators.dvemb import DVEMB
from engine.estimators.estimator import Estimator
from engine.estimators.exact import EXACT
from engine.estimators.first_order import FIRST_ORDER
from engine.estimators.gradient_norm import GRADIENT_NORM
from engine.estimators.in_run import IN_RUN_SHAPLEY, TRACIN_RUN
from engine.estimators.influence_function import INFLUENCE_FUNCTIONS
from engine.estimators.less import LESS
from engine.estimators.ntk import NTK, NTK_LAST_LAYER
from engine.estimators.random import RANDOM
from engine.estimators.representer import REPRESENTER
from engine.estimators.source import SOURCE
from engine.estimators.trak import TRAK

ESTIMATORS: Registry[Estimator] = Registry("estimator")
for _estimator in (EXACT, FIRST_ORDER, COSINE, *INFLUENCE_FUNCTIONS, NTK, NTK_LAST_LAYER, REPRESENTER, TRAK, LESS,
                   SOURCE, DVEMB, TRACIN_RUN, IN_RUN_SHAPLEY, GRADIENT_NORM, BM25, RANDOM):
    ESTIMATORS.add(_estimator.name, _estimator)

__all__ = ["ESTIMATORS", "Estimator"]

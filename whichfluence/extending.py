"""What a plugin or a change of the program builds on: registries, and the classes of what they hold.

    from whichfluence.extending import DATASETS, Dataset, Source

See the guide *Contributing*.
"""

from engine.analysis.catalogue import register
from engine.data import DATASETS, Source
from engine.data.dataset import Dataset
from engine.estimators import ESTIMATORS
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.exact.steps import unrolled
from engine.gradients.response import LogitTerm
from engine.models.catalogue import MODELS
from engine.question.process import Eta, ProcessValue
from engine.question.processes import OneStep, register_process
from engine.requests import OfCandidates, Request

__all__ = ["DATASETS", "ESTIMATORS", "GRADIENTS", "MODELS", "Dataset", "Estimator", "Eta", "LogitTerm", "OfCandidates",
           "OneStep", "ProcessValue", "Request", "Source", "closed_form", "register", "register_process", "unrolled"]

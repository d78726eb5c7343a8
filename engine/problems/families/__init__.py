"""Families of models, by the names of models. A new one is one file and one line here."""

from engine.models.catalogue import MODELS, OWNED
from engine.models.causal.loading import is_causal
from engine.problems.families.causal import CausalFamily
from engine.problems.families.family import Family, Observer
from engine.problems.families.network import NetworkFamily
from engine.problems.families.softmax import SOFTMAX, SoftmaxFamily
from engine.problems.families.targets import TargetFamily

SOFTMAX_FAMILY, NETWORKS, TARGETS, CAUSAL = SoftmaxFamily(), NetworkFamily(), TargetFamily(), CausalFamily()


def family(model: str) -> Family:
    """The family of a model, by its name; what is no language model here is taken for a network."""
    if model == SOFTMAX:
        return SOFTMAX_FAMILY
    if model in OWNED and OWNED[model].loss:
        return TARGETS
    return NETWORKS if model in MODELS or not is_causal(model) else CAUSAL


__all__ = ["CAUSAL", "NETWORKS", "SOFTMAX", "SOFTMAX_FAMILY", "TARGETS", "Family", "Observer", "family"]

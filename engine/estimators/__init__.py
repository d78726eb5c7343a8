"""Estimators: how scores are computed for a specification. A new one is one file and one line here."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.basics.settings import Settings, parsed
from engine.estimators.adam import ADAM_UPDATES
from engine.estimators.bm25 import BM25
from engine.estimators.cosine import COSINE
from engine.estimators.cosine_last_layer import COSINE_LAST_LAYER
from engine.estimators.dvemb import DVEMB
from engine.estimators.estimator import Estimator
from engine.estimators.exact import EXACT
from engine.estimators.external import EXTERNAL
from engine.estimators.first_order import FIRST_ORDER
from engine.estimators.gradient_norm import GRADIENT_NORM
from engine.estimators.in_run import IN_RUN_SHAPLEY, TRACIN_RUN
from engine.estimators.influence_function import INFLUENCE_FUNCTIONS
from engine.estimators.knn_shapley import KNN_SHAPLEY, KNN_SHAPLEY_INPUTS
from engine.estimators.less import LESS
from engine.estimators.less_final import LESS_FINAL
from engine.estimators.ntk import NTK, NTK_LAST_LAYER
from engine.estimators.random import RANDOM
from engine.estimators.representer import REPRESENTER
from engine.estimators.second_moments import ADAFACTOR_NORMALISED, ADAM_NORMALISED
from engine.estimators.source import SOURCE
from engine.estimators.text_embedding import TEXT_EMBEDDING
from engine.estimators.trackstar import TRACKSTAR
from engine.estimators.trak import TRAK
from engine.estimators.trak_fisher import TRAK_FISHER

ESTIMATORS: Registry[Estimator] = Registry("estimator", (
    EXACT, FIRST_ORDER, COSINE, ADAM_NORMALISED, ADAFACTOR_NORMALISED, *INFLUENCE_FUNCTIONS, TRACKSTAR, NTK,
    NTK_LAST_LAYER, REPRESENTER, COSINE_LAST_LAYER, TRAK, TRAK_FISHER, LESS, LESS_FINAL, ADAM_UPDATES, SOURCE, DVEMB,
    TRACIN_RUN, IN_RUN_SHAPLEY, GRADIENT_NORM, KNN_SHAPLEY, KNN_SHAPLEY_INPUTS, BM25, TEXT_EMBEDDING, RANDOM))


@lru_cache(maxsize=1024)
def configured(text: str) -> Estimator:
    """The estimator of `lissa` or of `lissa;iterations=1000`. Raises `InvalidInput` for one, a setting, or a value
    that there is not."""
    name, given = parsed(text)
    estimator = _named(name)
    settings = settings_of(estimator, given)
    return estimator if settings is None or not settings.changed else estimator.configured(settings)


def _named(name: str) -> Estimator:
    """One of the list, or scores of another program, which no list offers."""
    return EXTERNAL if name == EXTERNAL.name else ESTIMATORS[name]


def settings_of(estimator: Estimator, given: Mapping[str, Any]) -> Settings | None:
    """Settings of an estimator out of plain data; None where it has none. Raises `InvalidInput`."""
    if estimator.settings is None:
        if given:
            raise InvalidInput(f"The estimator `{estimator.name}` has no settings; leave `{next(iter(given))}` out.")
        return None
    return estimator.settings.read(given, estimator.name)


def written(estimator: Any) -> Any:
    """The one text of an estimator with its settings, of that text in any order or of plain data such as
    {"name": "lissa", "iterations": 1000}; what is neither stays as it is. Raises as `configured` does."""
    if isinstance(estimator, Mapping) and isinstance(estimator.get("name"), str):
        name, given = estimator["name"], {key: value for key, value in estimator.items() if key != "name"}
    elif isinstance(estimator, str):
        name, given = parsed(estimator)
    else:
        return estimator
    settings = settings_of(_named(name), given)
    return name if settings is None or not settings.changed else f"{name};{settings.text}"


__all__ = ["ESTIMATORS", "Estimator", "configured", "settings_of", "written"]

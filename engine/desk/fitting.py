"""Which models are offered for which data, and the sizes that their comparisons begin with."""

from __future__ import annotations

import math

from engine import data
from engine.basics.errors import WhichfluenceError
from engine.desk import first_look as first_looks
from engine.desk.datasets import FIRST, limits
from engine.desk.first_look import FirstLook
from engine.models.catalogue import MODELS
from engine.models.causal import loading
from engine.models.causal.catalogue import EMBEDDED_MODEL, is_embedded
from engine.models.network import ALL as ALL_PARAMETERS
from engine.models.own_architecture import Declaration, declared
from engine.models.recipe import TrainingRecipe
from engine.problems.families import TARGETS, family
from engine.problems.source import SOFTMAX, ProblemSource

POOL = {"cifar10": 2, FIRST: 2}
"""Large pictures are averaged over squares of so many pixels, so that the Hessian of their softmax model fits, and the
answers come while one waits."""
LIVE = 800
"""Numbers a picture of a user's own may have for live answers: 28 × 28 in grey, or 16 × 16 in colour."""
OPTIMA_CANDIDATES = {"digits": 300, FIRST: 100, "fashion_mnist": 100}
DEFAULT_SIZES = {"digits": (1_297, 200), FIRST: (1_000, 100), "fashion_mnist": (2_000, 200)}
ALL = 10**9
USUAL_L2 = 1e-4
NETWORK_SIZES, NETWORK_CANDIDATES = (500, 100), {"mlp": 100}
EMBEDDED_SIZES, LANGUAGE_SIZES, LANGUAGE_CANDIDATES = (150, 20), (60, 10), 10


def first_data() -> str:
    """The data that every page begins with: those that the program was started with, else `FIRST`."""
    own = declared()
    return own.data if own and own.data else FIRST


def declared_for(dataset: str, model: str) -> Declaration | None:
    """What the program was started with, where it speaks of these data and this model."""
    own = declared()
    return own if own and (own.data, own.name) == (dataset, model) else None


def offered(dataset: str) -> list[str]:
    """The models that can be trained on a dataset, by its name; the first is the one to begin with."""
    texts, own = data.holds_records(dataset), declared()
    models = (sorted(loading.available(), key=lambda name: not is_embedded(name)) or [EMBEDDED_MODEL]) if texts else [
        SOFTMAX, *(name for name in MODELS if family(name) is not TARGETS)]
    if own and own.data == dataset:
        if own.loss:
            return [own.name]
        return [own.name, *(name for name in models if name != own.name)]
    return models


def fitting(dataset: str, model: str) -> str:
    """A model for a dataset: the one that is asked for, or what its data begin with where that is for other data."""
    models = offered(dataset)
    return models[0] if model in (SOFTMAX, *MODELS, *loading.available()) and model not in models else model


def sizes(dataset: str, model: str) -> tuple[int, int, int]:
    """(training examples, queries, candidates of processes that cost much) to begin with. A model that came with its
    weights was trained on all of its data, whose mean is its objective."""
    if look := first_look(dataset, model):
        return *_own_sizes(dataset, model), look.candidates
    if data.holds_records(dataset):
        return *(EMBEDDED_SIZES if is_embedded(model) else LANGUAGE_SIZES), LANGUAGE_CANDIDATES
    if model != SOFTMAX:
        return *NETWORK_SIZES, NETWORK_CANDIDATES.get(model, 30)
    return *DEFAULT_SIZES.get(dataset, (2_000, 200)), OPTIMA_CANDIDATES.get(dataset, 100)


def first_look(dataset: str, model: str) -> FirstLook | None:
    """What the first comparison of a network of one's own begins with; None for every other model."""
    own = declared_for(dataset, model)
    if own is None or model == SOFTMAX or data.holds_records(dataset):
        return None
    train, queries = (min(size, limit) for size, limit in zip(_own_sizes(dataset, model), limits(dataset), strict=True))
    return first_looks.first_look(own, train, queries)


def penalty(dataset: str, model: str) -> float:
    """λ to begin with: what the recipe of a declared model states, else the usual one."""
    own = declared_for(dataset, model)
    return USUAL_L2 if own is None or own.l2 is None else own.l2


def beginning(own: Declaration) -> ProblemSource:
    """The problem with which the pages begin for declared data and model."""
    train, queries, candidates = sizes(own.data, own.name)
    (most_train, most_queries), look = limits(own.data), first_look(own.data, own.name)
    train, queries = min(train, most_train), min(queries, most_queries)
    texts = data.holds_records(own.data)
    return ProblemSource(dataset=own.data, model=own.name, weights=own.weights, recipe=own.recipe, n_train=train,
                         n_queries=queries, n_test=queries if texts else min(most_queries, max(500, queries)),
                         n_candidates=None if own.name == SOFTMAX else min(candidates, train),
                         pool=pool(own.data, own.name), selection=look.parameters if look else ALL_PARAMETERS,
                         l2=USUAL_L2 if own.l2 is None else own.l2)


def _own_sizes(dataset: str, model: str) -> tuple[int, int]:
    own = declared_for(dataset, model)
    return (ALL if own and own.weights else NETWORK_SIZES[0]), NETWORK_SIZES[1]


def pool(name: str, model: str) -> int:
    """Over squares of how many pixels a side the pictures of a dataset are averaged; a model of one's own reads them as
    they are."""
    if declared_for(name, model) and model != SOFTMAX:
        return 1
    if name in data.DATASETS or data.holds_records(name) or not data.uploads.holds_pictures(name):
        return POOL.get(name, 1)
    try:
        shape = data.load(name).image_shape
    except WhichfluenceError:
        return 1
    return 1 if shape is None else live_pool(shape)


def pictures(dataset: str) -> bool:
    """Whether a dataset, by its name, holds pictures."""
    try:
        return data.load(dataset).image_shape is not None
    except WhichfluenceError:
        return False


def recipe(dataset: str, model: str) -> TrainingRecipe:
    """How a network, or a language model, is trained on a dataset where nobody says it. Raises as `ProblemSource`."""
    own = ProblemSource(dataset=dataset, model=model).training_recipe
    assert own is not None, "only softmax regression has none"
    return own


def live_pool(shape: tuple[int, ...]) -> int:
    """The smallest side of the squares after which pictures (h, w) or (h, w, 3) have `LIVE` numbers at most, or the
    largest that divides them and leaves eight pixels a side."""
    fitting = [1, *(pool for pool in range(2, min(shape[:2]) // 8 + 1) if shape[0] % pool == shape[1] % pool == 0)]
    return next((pool for pool in fitting if math.prod(shape) <= LIVE * pool**2), fitting[-1])

"""Estimators of influence in language models. A new one is one file and one line here."""

from collections.abc import Iterator

from engine.applications.language.estimators.baselines import GRADIENT_NORM, RANDOM, REPSIM
from engine.applications.language.estimators.estimator import LanguageEstimator
from engine.applications.language.estimators.gradsim import GRADSIM
from engine.applications.language.estimators.less import LESS
from engine.applications.language.estimators.tracin import TRACIN
from engine.applications.language.estimators.trak import TRAK
from engine.basics.registry import Registry

LANGUAGE_ESTIMATORS: Registry[LanguageEstimator] = Registry("language estimator")
for _estimator in (GRADIENT_NORM, REPSIM, RANDOM, GRADSIM, TRACIN, TRAK, LESS):
    LANGUAGE_ESTIMATORS.add(_estimator.name, _estimator)


def pairs(behaviors) -> Iterator[tuple[LanguageEstimator, str]]:
    """Every estimator with every behavior that it reads; those that read none have the behavior `none`."""
    for estimator in LANGUAGE_ESTIMATORS.values():
        for behavior in behaviors if estimator.behavioral else ("none",):
            yield estimator, behavior


__all__ = ["LANGUAGE_ESTIMATORS", "REPSIM", "LanguageEstimator", "pairs"]

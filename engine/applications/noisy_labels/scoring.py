r"""Every wanted method's suspicion (n,) of the training labels, larger for a label more likely wrong.

A method that implies a specification is suspicious where its oriented scores are low, put together over the trusted
examples:

    suspicion(k) = −A_q s(q, k)        A the mean, or over the trusted examples of k's own class

    GradSim   ⟨∇B̄, ∇ℓ_k⟩ at θ_D                        TracIn   Σ_t η_t ⟨∇B̄, ∇ℓ_k⟩ at the checkpoints θ_t
    LiSSA     ⟨(H + δI)⁻¹∇B̄, ∇ℓ_k⟩ at θ_D              RepSim   −cos(φ_k, μ_c)       NTK   −⟨φ̃_k, μ̃_c⟩

pooled before products are taken (`engine.scoring.pooled`), with η = 1, and of TracIn with the learning rates of the
run. The last checkpoint is θ_D, so that GradSim, LiSSA and TracIn's last term share their passes.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from torch import Tensor

from engine.applications.noisy_labels.augmented import augmented_scores
from engine.applications.noisy_labels.class_gradients import by_loss_gradient, by_unit_centroid
from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.network_readings import NetworkReadings
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, Pair
from engine.applications.noisy_labels.source import NoisySource, TrainedModel
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import unknown
from engine.problems.module import ModuleProblem
from engine.scoring.pooled import aggregated, pooled

AUGMENTED = "augmented"
SIMILARITIES, SOLVED = ("repsim", "ntk"), ("lissa", "lissa_power")
GRADIENTS = ("gradsim", "tracin", *SOLVED)
OF_CLASSES = {"repsim_unit": by_unit_centroid, "ntk_loss_gradients": by_loss_gradient}


def shuffled(source: NoisySource, count: int) -> np.ndarray:
    """A shuffled order as suspicion (n,), fixed by the source."""
    return np.random.default_rng([source.mask, source.seed, 5]).permutation(count).astype(np.float64)


def suspicions(model: TrainedModel, wanted: Collection[str], options: Options | None = None) -> dict[Pair, np.ndarray]:
    """(method, behavior) -> suspicion (n,) of every training example.

    wanted: names in `METHODS`, or `augmented` for RepSim with signals, by the unit centroid if that RepSim alone is
    wanted. Raises `InvalidInput` for another name.
    """
    options, known = options or Options(), {*METHODS, AUGMENTED}
    if other := sorted(set(wanted) - known):
        raise InvalidInput(unknown("method", other[0], sorted(known)))
    scores: dict[Pair, np.ndarray] = {}
    if "random" in wanted:
        scores[Pair(METHODS["random"].title)] = shuffled(model.source, len(model.evidence.y))
    scores |= detected(NetworkReadings(model, options), wanted)
    repsim = "repsim_unit" if "repsim_unit" in wanted and "repsim" not in wanted else "repsim"
    scores |= similarity_scores(model, [*wanted, *([repsim] if AUGMENTED in wanted else [])], options)
    augmented = augmented_scores(model, -scores[Pair(METHODS[repsim].title)]) if AUGMENTED in wanted else {}
    scores |= gradient_scores(model, wanted, options)
    ordered = {pair: scores[pair] for name, method in METHODS.items() if name in wanted for pair in method.pairs
               if pair in scores}
    return ordered | augmented


def detected(readings: Readings, wanted: Collection[str]) -> dict[Pair, np.ndarray]:
    """Of the wanted methods those that estimate no influence, but for those that read checkpoints where there are none.
    """
    detectors = [detector for name in METHODS if name in wanted and (detector := METHODS[name].detector)]
    return {Pair(detector.title): detector.suspicion(readings) for detector in detectors
            if not detector.on_the_way or len(readings.path)}


def similarity_scores(model: TrainedModel, wanted: Collection[str], options: Options) -> dict[Pair, np.ndarray]:
    """Of the wanted methods among `SIMILARITIES`, from one pass over the training set, and among `OF_CLASSES`."""
    of_classes = {Pair(METHODS[name].title): suspicion(model.problem).double().cpu().numpy()
                  for name, suspicion in OF_CLASSES.items() if name in wanted}
    methods = [METHODS[name] for name in SIMILARITIES if name in wanted]
    scorings = [method.named.implied(eta=1.0) for method in methods if method.named]
    over = METHODS["repsim"].over
    if not scorings or not over:
        return of_classes
    rows = aggregated(model.problem, scorings, over.aggregate(model.evidence), options)
    return {Pair(method.title): -row for method, row in zip(methods, rows, strict=True)} | of_classes


def gradient_scores(model: TrainedModel, wanted: Collection[str], options: Options) -> dict[Pair, np.ndarray]:
    """Of the wanted methods among `GRADIENTS`, for every trusted behavior."""
    wanted = [name for name in GRADIENTS if name in wanted]
    if not wanted:
        return {}
    earlier = model.checkpoints[:-1] if "tracin" in wanted else ()
    at_the_end = ["gradsim", *(name for name in SOLVED if name in wanted)]
    scores = _at(model.problem, at_the_end, options.stage(0, len(earlier) + 1))
    if "tracin" in wanted:
        total = (model.checkpoints[-1][1] if model.checkpoints else 1.0) * scores["gradsim"]
        for index, (state, rate) in enumerate(earlier):
            options.progress((index + 1) / (len(earlier) + 1))
            total += rate * _at(model.at(state), ["gradsim"], options)["gradsim"]
        scores["tracin"] = total
    return {Pair(METHODS[name].title, title): row.double().cpu().numpy()
            for name in wanted for title, row in zip(BEHAVIOR_TITLES.values(), scores[name], strict=True)}


def _at(problem: ModuleProblem, names: list[str], options: Options) -> dict[str, Tensor]:
    """name -> (behaviors, n), from one pass over the training set."""
    scorings = [method.implied(behavior, eta=1.0) for name in names if (method := METHODS[name].named)
                for behavior in BEHAVIOR_TITLES]
    scores = pooled(problem, scorings, [1.0] * len(problem.queries), options)
    return dict(zip(names, -scores.view(len(names), len(BEHAVIOR_TITLES), -1), strict=True))

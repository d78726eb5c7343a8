"""How a preset differs from the paper's, one line each, read off the settings of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.experiments.experiment import Experiment
from engine.models.catalogue import TITLES
from engine.models.causal.catalogue import model_title
from engine.models.causal.recipe import FineTuning

THE_PAPERS = "paper"
UNSEEN = ("numerics", "slice", "seed", "mask", "projector", "layers", "hardest", "methods")
"""Settings that change nothing that a reader would call a size."""
WORDS = {
    "n_train": "training examples", "n_test": "test examples", "n_queries": "queries", "n_candidates": "candidates",
    "trusted": "trusted examples of each class", "pool": "pixels averaged over squares with a side of",
    "dataset": "data", "noise": "fraction of wrong labels", "batch_size": "examples in a batch",
    "batch": "records in a batch", "learning_rate": "learning rate", "weight_decay": "weight decay",
    "searched n_train": "training examples of L-BFGS", "searched n_candidates": "candidates of L-BFGS",
    "searched alphas": "weights α of L-BFGS", "solved n_candidates": "candidates of the inverse Hessian",
    "removals": "rows retrained for",
    "clean": "clean records", "answer": "records with a wrong answer",
    "rationale": "records with a mismatched rationale", "poison": "poisoned records",
    "benign": "records with a benign trigger", "validation": "queries", "test": "queries of each kind",
    "longest": "longest question in characters", "context": "longest record in tokens",
    "backdoor": "conditional backdoor", "corruption": "response corruption",
    "dimension": "dimensions that a gradient is projected onto",
}
UNSAID = {"pool": 1, "precision": "full", "longest": "no limit", "questions": "scienceqa"}
"""What holds where a preset says nothing; of all other sizes it is all that there is."""
NESTED = ("searched", "solved", "backdoor", "corruption")


def differences(experiment: Experiment, preset: str) -> list[str]:
    """`training examples: 10,000; the paper: all`; empty for the paper's own scale, and where it has none.

    A setting that all sources of a table share is told once, and one that differs between them by its values in order.
    """
    if preset == THE_PAPERS or THE_PAPERS not in experiment.presets:
        return []
    ours, papers = (experiment.presets[name] for name in (preset, THE_PAPERS))
    a, b = ({"seeds": scale.seeds, **_settings(scale.settings)} for scale in (ours, papers))
    missing = [nested for nested in NESTED if nested in papers.settings and nested not in ours.settings]
    pairs = {key: (_said(key, a), _said(key, b)) for key in dict.fromkeys([*a, *b])
             if key.partition(" ")[0] not in missing}
    return [*(f"{WORDS[nested]}: left out" for nested in missing),
            *(f"{_word(key)}: {own}; the paper: {other}" for key, (own, other) in pairs.items() if own != other)]


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Setting -> value; of several sources one value where all agree, else all of them in order."""
    sources = [dict(_flat(source)) for source in settings.get("sources", ())]
    gathered = {key: tuple(source.get(key) for source in sources) for source in sources for key in source}
    rest = {key: value for key, value in settings.items() if key != "sources"}
    return {**{key: values[0] if len(set(values)) == 1 else values for key, values in gathered.items()}, **_flat(rest)}


def _flat(settings: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Every setting by its name, that of a nested part behind the part's own; a fine-tuning with all its defaults."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "recipe" and "task" in settings:
            value = FineTuning.parse(value).model_dump(mode="json")
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{key} " if key in NESTED else head)
        elif key not in UNSEEN and not (head and key == "model"):
            flat[head + key] = value
    return flat


def _word(key: str) -> str:
    head, _, last = key.rpartition(" ")
    return WORDS.get(key) or f"{f'{head}, ' if head else ''}{WORDS.get(last, last)}"


def _said(key: str, settings: Mapping[str, Any]) -> str:
    value = settings.get(key)
    values = value if isinstance(value, tuple) else (value,)
    return " / ".join(_one(key, one) for one in values)


def _one(key: str, value: Any) -> str:
    if value is None:
        return str(UNSAID.get(key) or UNSAID.get(key.rpartition(" ")[2], "all"))
    if isinstance(value, list):
        return " / ".join(map(str, value)) if key.endswith("alphas") else f"{len(value)}"
    if key.endswith("model"):
        return TITLES.get(value) or model_title(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)

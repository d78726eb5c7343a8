"""Which influence do you mean? Exact and approximate data influence under an explicit specification S = (B, P, T).

    import whichfluence as wf

    problem = wf.problem(model, train, queries, candidates=range(100))
    step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    scores = wf.influence(problem, {"one step": step, "first order": step.by("first_order")})
    print(wf.compare(scores))

What `__all__` lists is public. A name is loaded when it is first used: importing the package is quick, and changes
nothing in the program that imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import __version__
    from whichfluence.names import (
        AddOccurrence,
        Agreement,
        Auxiliary,
        Dashboard,
        FineTuning,
        Infinitesimal,
        InfinitesimalDuring,
        InvalidInput,
        LocalResponse,
        LocalSearch,
        MissingData,
        OneStep,
        Options,
        Problem,
        Recipe,
        Recorder,
        Relabel,
        Remove,
        Reoptimize,
        Replay,
        Retrain,
        Scores,
        Specification,
        Trajectory,
        Unrolled,
        Upweight,
        WhichfluenceError,
        analyse,
        analyses,
        behaviors,
        compare,
        dashboard,
        datasets,
        draw,
        estimators,
        explain,
        imported,
        influence,
        noisy_labels,
        problem,
        register_behavior,
        self_influence,
        stream,
    )

__all__ = [
    "AddOccurrence", "Agreement", "Auxiliary", "Dashboard", "FineTuning", "Infinitesimal", "InfinitesimalDuring",
    "InvalidInput", "LocalResponse", "LocalSearch", "MissingData", "OneStep", "Options", "Problem", "Recipe",
    "Recorder", "Relabel", "Remove", "Reoptimize", "Replay", "Retrain", "Scores", "Specification", "Trajectory",
    "Unrolled", "Upweight", "WhichfluenceError", "__version__", "analyse", "analyses", "behaviors", "compare",
    "dashboard", "datasets", "draw", "estimators", "explain", "imported", "influence", "noisy_labels", "problem",
    "register_behavior", "self_influence", "stream",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from whichfluence import names

    return getattr(names, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

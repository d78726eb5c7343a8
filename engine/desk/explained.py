"""Why two answers disagree: the exact scores along the way between them, asked for on every draw, and the measure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from engine.analysis.explanation import Chain, Explanation, Seed, chain, measure
from engine.basics.errors import InvalidInput
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.identities import ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def explained(desk: Desk, sources: Sequence[ProblemSource], sides: Sequence[Sequence[Scores]],
              candidates: int | None, key: Hashable = None) -> Explanation | Waiting:
    """Why A and B disagree; sides: the scores of both for each source. All that is missing is asked for at once.

    key: what determines sources, sides and candidates; with it a measure for which nothing failed is cached.
    """
    cached = desk.memory.get(("explanation", key)) if key is not None else None
    if cached is not None:
        return cached
    path = _path(desk, sources, sides)
    seeds, parts = [], []
    for source, (first, second) in zip(sources, sides, strict=True):
        exact, reasons = _exact(desk, source, path, candidates, source.problem_class.live_seconds / len(sources))
        if isinstance(exact, Waiting):
            parts.append((f"seed {source.seed}", exact))
        else:
            seeds.append(Seed(first, second, exact, reasons))
    if parts:
        title = f"Explanation of a difference on {sources[0].title}, {len(sources)} seeds"
        identity = [*(source.key for source in sources), *map(codes.encode, path.needed)]
        return desk.jobs.together(title, identity, parts, len(sources))
    explanation = measure(path, seeds)
    if key is not None and not any(seed.reasons for seed in seeds):
        desk.memory.put(("explanation", key), explanation)
    return explanation


def at_once(desk: Desk, sources: Sequence[ProblemSource], sides: Sequence[Sequence[Scores]], candidates: int | None,
            seconds: float) -> bool:
    """Whether `explained` answers within about so many seconds, as far as the cost of scores can be guessed."""
    needed = _path(desk, sources, sides).needed
    return all(desk.at_once(source, needed, candidates, seconds / len(sources)) for source in sources)


def _path(desk: Desk, sources: Sequence[ProblemSource], sides: Sequence[Sequence[Scores]]) -> Chain:
    """The way from A to B on these sources."""
    n = desk.sample(sources[0])[1].n
    a, b = (side.scoring for side in sides[0])
    return chain(a, b, n, ProblemFacts.of(sources[0].problem_class, sides[0][0].provenance["sizes"]["classes"]))


def _exact(desk: Desk, source: ProblemSource, path: Chain, candidates: int | None, live_seconds: float
           ) -> tuple[dict[Scoring, Scores] | Waiting, dict[Scoring, str]]:
    """The exact scores along the way; what cannot be computed is left out with its reason."""
    if not path.needed:
        return {}, {}
    together = _scores(desk, source, path.needed, candidates, live_seconds)
    if not isinstance(together, str):
        return (together if isinstance(together, Waiting) else dict(zip(path.needed, together, strict=True))), {}
    exact, reasons, waiting = {}, {}, None
    for scoring in path.needed:
        scores = _scores(desk, source, [scoring], candidates, live_seconds)
        if isinstance(scores, str):
            reasons[scoring] = scores
        elif isinstance(scores, Waiting):
            waiting = waiting or scores
        else:
            exact[scoring] = scores[0]
    return (exact, reasons) if waiting is None else (waiting, {})


def _scores(desk: Desk, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
            live_seconds: float) -> list[Scores] | Waiting | str:
    """The scores, what is being waited for, or why they cannot be had: the engine's own words, or its run's."""
    try:
        scores = desk.scores(source, scorings, candidates, live_seconds)
    except InvalidInput as error:
        return str(error)
    return desk.jobs.failure(scores, "their run failed.") or scores

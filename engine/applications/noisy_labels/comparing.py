"""Why two rankings of suspicious labels differ, derived from the specifications that their methods imply."""

from __future__ import annotations

from engine.applications.noisy_labels.pairs import Pair, label_method
from engine.basics.values import capital
from engine.question.specification import AXIS_NAMES
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import NO_SPECIFICATION, SAME, Verdict, verdict


def scoring_of(pair: Pair) -> Scoring | None:
    """The scoring that a ranking implies; None where it implies none."""
    method = label_method(pair)
    return method.scoring(pair.behavior) if method else None


def why(first: Pair, second: Pair) -> Verdict:
    """The verdict on two rankings: that on their scorings, told without sizes of steps, which change no ranking, and
    with what else parts them: over which trusted examples each is put together."""
    if first == second:
        return Verdict(SAME, (), "The same ranking", "Both are the same method with the same trusted behavior.")
    a, b = scoring_of(first), scoring_of(second)
    if a is None or b is None:
        return _unasked([pair for pair, scoring in ((first, a), (second, b)) if scoring is None])
    derived = verdict(a, b)
    changes = "; ".join(f"{AXIS_NAMES[axis]}: {a.plain_axis(axis)} against {b.plain_axis(axis)}"
                        for axis in derived.axes)
    said = [f"They answer different questions ({changes})." if changes else "They answer the same question.",
            *_approximate(a, b), *_put_together(first, second)]
    return Verdict(derived.kind, derived.axes, derived.headline, " ".join(said))


def _unasked(without: list[Pair]) -> Verdict:
    titles = " and ".join(pair.title for pair in without)
    implies = f"{titles} {'implies' if len(without) == 1 else 'imply'} no specification"
    methods = [method for pair in without if (method := label_method(pair))]
    reason = (f"{implies}, so their difference is neither approximation error nor specification mismatch.")
    return Verdict(NO_SPECIFICATION, (), f"No question to compare: {implies}",
                   " ".join((reason, *(f"{method.title}: {method.instead}" for method in methods))))


def _approximate(a: Scoring, b: Scoring) -> list[str]:
    titles = list(dict.fromkeys(one.route.title for one in (a, b) if not one.exact))
    if not titles:
        return []
    named = " and ".join(titles)
    return [f"{capital(named)} {'approximates' if len(titles) == 1 else 'approximate'} the answer."]


def _put_together(first: Pair, second: Pair) -> list[str]:
    """That the scores of the trusted examples become one suspicion in different ways, where they do."""
    overs = {method.title: method.over.title for pair in (first, second)
             if (method := label_method(pair)) and method.over}
    if len(set(overs.values())) < 2:
        return []
    aggregations = ", ".join(f"{over} for {title}" for title, over in overs.items())
    return [f"Their aggregation over trusted examples also differs: {aggregations}."]

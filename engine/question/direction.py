"""Every sentence, axis and column that carries the sign of a behavior's value, one function each; no other place.

B named *query loss* is minus the cross-entropy: a number of it is named by what rises with it, `Behavior.value_title`.
`tests/engine/question/test_direction.py` reads each of these with a number whose truth is known, and
`tests/house/test_direction.py` looks for such sentences elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.basics.values import capital
from engine.question.behavior import Behavior
from engine.question.specification import Specification

QUANTITY = "quantity"
"""The column of exported tables that says what their numbers with a sign are."""
OWN = "an example"


def change(behavior: Behavior) -> str:
    """Of an axis, or of a number: B after − B before."""
    return f"change of the {behavior.value_title}{_in_unit(behavior)}"


def rate(behavior: Behavior) -> str:
    """Of an axis, or of a number: dB/dα."""
    return f"rate of the {behavior.value_title}{_in_unit(behavior)} by the weight α"


def mean_rate(behavior: Behavior) -> str:
    """The same of the mean over queries."""
    return f"rate of the mean {behavior.value_title}{_in_unit(behavior)} by the weight α"


def changed(behavior: Behavior, value: float, written: str, before: float | None = None) -> str:
    """`changes the log-likelihood (minus the query loss) by +1.869, so the query loss falls from 1.869 to 0.0004`.

    written: the value in words. before: B before the change, where both ends are given.
    """
    return f"changes the {behavior.value_title} by {written}{_the_loss(behavior, value, before)}"


def scored(scoring: Specification) -> str:
    """What an oriented score is."""
    who = _who(scoring)
    return _what(scoring) + (f", by {who}" if who != OWN else "")


def scores(scoring: Specification, low: str, high: str) -> str:
    """What oriented scores are, and how far they reach."""
    return f"{scored(scoring)}, from {low} to {high}"


def scores_are(scoring: Specification) -> str:
    """The same as a sentence."""
    return f"Scores: {oriented(scoring)}."


def raises(behavior: Behavior, value: float) -> str:
    """What an example with such an oriented score does: `raises the log-likelihood, and so lowers the query loss`."""
    if value == 0:
        return f"neither raises nor lowers the {behavior.value_title}"
    text = f"{'raises' if value > 0 else 'lowers'} the {behavior.quantity or behavior.title}"
    return f"{text}, and so {'lowers' if value > 0 else 'raises'} the {behavior.minus}" if behavior.minus else text


def raise_most(behavior: Behavior) -> str:
    """Of the examples with the largest oriented scores at a query, in Markdown."""
    return f"raise the **{behavior.value_title}** of this query most"


def top(scorings: Sequence[Specification], count: int) -> str:
    """Heads the largest oriented scores under each of the scorings, of which none is a baseline."""
    return f"Top {count}: raise {_read(scorings)} most, or lower it least" if scorings else f"Top {count}"


def bottom(scorings: Sequence[Specification], count: int) -> str:
    """Heads the smallest ones."""
    return f"Bottom {count}: lower {_read(scorings)} most, or raise it least" if scorings else f"Bottom {count}"


def group(behavior: Behavior) -> str:
    """What the effect of a group is, which has no orientation."""
    return f"{capital(change(behavior))} at this query, by what is done to all of them; {_above_zero(behavior)}."


def group_spread(behavior: Behavior, queries: int, mean: str, most: int, value: float, written: str) -> str:
    """How large the effect of a group is over all queries. value, written: at the query `most`."""
    return (f"Over all {queries} queries the {behavior.value_title} changes by {mean} on average, up or down, and most "
            f"at query {most}: {written}{_the_loss(behavior, value)}.")


def removal(behavior: Behavior) -> str:
    """How to read a curve over removed examples."""
    return (f"Below zero: without them the {behavior.value_title} is lower, so together they supported the behavior. "
            "Above zero, they opposed the behavior.")


def area(behavior: Behavior, area: str, ends: str) -> str:
    """Both sides of Eq. 7."""
    return f"Area under the curve {area} = {change(behavior)} between the two optima {ends}"


def along_path(behavior: Behavior, query: int, row: int, first: str, last: str, alpha: str) -> str:
    """The rates along an upweighting path, for a reader who does not see the chart."""
    return (f"The rate of the {behavior.value_title} of query {query} while training example {row} gains weight: "
            f"{first} at the start, {last} at {alpha}; {_above_zero(behavior)} as the example gains weight.")


def moments(behavior: Behavior) -> str:
    """What the rates by an example's weight in parts of a training say."""
    return f"Above zero, more weight there raises the mean {behavior.value_title}: the example supports the behavior."


def colours(scoring: Specification, above: str, below: str, query: int) -> str:
    """What two colours of oriented scores say."""
    return (f"{above} supports the behavior at query {query}: {raises(scoring.readout, 1.0)}. {below} opposes it: "
            f"{raises(scoring.readout, -1.0)}")


def signal(behavior: Behavior) -> str:
    """What s_B is."""
    return f"How much the {behavior.value_title} at the query rises with each of the query's logits."


def ranked(behavior: Behavior | None, opposing: bool) -> str:
    """Which end of a ranking stands first. behavior: None for a ranking that reads none, and has no such ends."""
    if behavior is None:
        end = "smallest" if opposing else "largest"
        return f"Rank 1 has the {end} score, which reads no behavior and does not say what raises or lowers one."
    return (f"Rank 1 {'opposes' if opposing else 'supports'} the behavior most: it "
            f"{raises(behavior, -1.0 if opposing else 1.0)}.")


def larger(behavior: Behavior | None) -> str:
    """What larger scores of a method say, whatever their unit. behavior: None for one that reads none."""
    if behavior is None:
        return "it reads no behavior, so its sign does not say whether a record supports one"
    return f"the larger, the more a record {raises(behavior, 1.0)}"


def exported(scoring: Specification) -> str:
    """Of exported oriented scores, in every row of a table: what they are and what their sign says."""
    return f"{scored(scoring)}; positive supports"


def oriented(scoring: Specification) -> str:
    """What oriented scores are, and what their sign says of an example."""
    return (f"{_what(scoring)}; where it is positive, {_who(scoring)} supports the behavior: it "
            f"{raises(scoring.readout, 1.0)}")


def raw(scoring: Specification) -> str:
    """Of exported scores as the estimand has them, which are not oriented: B after − B before, or dB/dα."""
    what = rate(scoring.readout) if scoring.process.derivative else change(scoring.readout)
    turned = "; negative where the example supports the behavior" if scoring.orientation < 0 else ""
    return f"{what}, by what is done to an example{turned}"


def raw_change(behavior: Behavior) -> str:
    """Of exported changes by what is done, which are not oriented."""
    return f"{change(behavior)}; {_above_zero(behavior)}"


def contribution(behavior: Behavior) -> str:
    """Of a candidate's Banzhaf or Shapley value."""
    return (f"share in the {behavior.value_title}{_in_unit(behavior)}; a candidate with a positive one "
            f"{raises(behavior, 1.0)}")


def itself(scoring: Specification) -> str:
    """Of self-influence: a score at the example itself."""
    return f"{scored(scoring)}, at the example itself; the larger, the more it {raises(scoring.readout, 1.0)} there"


def suspicion(behavior: Behavior | None) -> str:
    """Of the suspicion of a label, which is minus an oriented score over trusted examples. behavior: None for a method
    that reads none."""
    if behavior is None:
        return "suspicion: larger is more suspicious"
    return f"suspicion: the larger, the more the example {raises(behavior, -1.0)}, at trusted examples"


def suspicions(behaviors: Sequence[Behavior]) -> str:
    """The same of several behaviors."""
    *most, last = (behavior.value_title for behavior in behaviors)
    return ("suspicion: the larger, the more the label works against trusted examples, lowering their "
            f"{', '.join(most)} or {last}")


def named(texts: Mapping[str, str]) -> str:
    """What the numbers of several columns are, by their names."""
    return " | ".join(f"{name}: {text}" for name, text in texts.items())


def _what(scoring: Specification) -> str:
    what = rate(scoring.readout) if scoring.process.derivative else change(scoring.readout)
    return f"{what}, with the sign flipped" if scoring.orientation < 0 else what


def _who(scoring: Specification) -> str:
    """Who supports the behavior where the oriented score is positive."""
    return scoring.intervention.subject if scoring.orientation > 0 else OWN


def _read(scorings: Sequence[Specification]) -> str:
    """What the ends of rankings raise and lower: its name where all of them read the same."""
    titles = {scoring.readout.value_title for scoring in scorings}
    return f"the {next(iter(titles))}" if len(titles) == 1 else "each column's behavior"


def _above_zero(behavior: Behavior) -> str:
    return "above zero it rises" + (f", and the {behavior.minus} falls" if behavior.minus else "")


def _the_loss(behavior: Behavior, value: float, before: float | None = None) -> str:
    """What becomes of the familiar number where the value changes by so much."""
    if not behavior.minus or value == 0:
        return ""
    ends = "by as much" if before is None else f"from {-before:.4g} to {-before - value:.4g}"
    return f", so the {behavior.minus} {'falls' if value > 0 else 'rises'} {ends}"


def _in_unit(behavior: Behavior) -> str:
    return f" in {behavior.unit}" if behavior.unit else ""
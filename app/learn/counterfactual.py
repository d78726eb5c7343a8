"""Lesson 1: influence compares the model there is with the model there would be."""

import pandas as pd

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, extras, formula, problem, scores, side_by_side
from app.widgets.examples import sampled_examples
from app.widgets.words import glossary
from engine.desk import SampledProblem, commands
from engine.desk.analyses import comparing
from engine.metrics.ranking import bottom, ranks, top
from engine.question import direction
from engine.scoring import codes
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

LEFT_OUT = Scoring.of("probability", {"kind": "remove"}, {"kind": "reoptimize"})
SHOWN = 3


def setup() -> None:
    sample, scored = problem(), scores(LEFT_OUT)[0]
    query = own.query(sample, comparing.doubtful(sample.problem))
    rows = sorted(int(scored.candidates[position]) for position in _positions(scored, query))
    specimens.strip(sample, query, rows, [], "")
    glossary.markdown(
        f"The model gives this query's label, **{_label(sample, query)}**, the probability "
        f"**{comparing.probability(sample.problem, query):.3f}**. Beside it are six of its "
        f"{len(sample.sample.y_train)} training examples.")


def _positions(scored: Scores, query: int) -> list[int]:
    """The candidates that matter most to a query, on both sides."""
    ranking = ranks(scored.trusted[query])
    return [*top(ranking, SHOWN), *reversed(bottom(ranking, SHOWN))]


def _label(sample: SampledProblem, query: int) -> str:
    return sample.dataset.class_names[sample.sample.y_query[query]]


def show() -> PageLink:
    sample, scored = problem(), scores(LEFT_OUT)[0]
    query = own.query(sample, comparing.doubtful(sample.problem))
    positions = _positions(scored, query)
    rows = [int(scored.candidates[position]) for position in positions]
    names = [f"{number + 1}. {sampled_examples.label(sample, row)}" for number, row in enumerate(rows)]
    chosen = state.pick("lesson-out", "Which training example is left out?", range(1, len(rows) + 1), 1) - 1
    before = comparing.probability(sample.problem, query)
    change = [float(scored.values[query, position]) for position in positions]
    label = _label(sample, query)
    left, right = side_by_side()
    with left:
        specimens.strip(sample, query, [rows[chosen]], [rows[chosen]], "left out")
        formula("influence: [B p](q; [T θ] without [P z_k]) − [B p](q; θ)")
        glossary.markdown(
            f"The model gives this query's label, **{label}**, the probability **{before:.3f}**. Had training "
            f"example {chosen + 1} been left out and the model trained to its new optimum, it would be "
            f"**{before + change[chosen]:.3f}**.")
    frame = pd.DataFrame({"name": names, "change": change,
                          "chosen": [position == chosen for position in range(len(rows))]})
    with right:
        draw(charts.changes, frame, (f"change of the probability of {label}", "without the example"),
             key="learn:counterfactual",
             alt=f"Bars: how the probability of {label} changes when each of six training examples is left out.",
             caption=f"How the probability of {label} changes when each of six training examples is left out; "
                     f"example {chosen + 1} changes it by {change[chosen]:+.3f}.")
        narrowed = own.source().model_copy(update={"n_candidates": len(scored.candidates)})
        extras("counterfactual", frame.drop(columns="chosen"), [LEFT_OUT], narrowed,
               commands.scores(narrowed, [LEFT_OUT]), quantity=direction.raw(LEFT_OUT))
    return PageLink("examples", "See all its helpful and harmful examples",
                    specimens.address(query=str(query), s=[codes.encode(LEFT_OUT)]))


LESSON = Lesson(
    "counterfactual", "What is a counterfactual?",
    "To ask what a training example did is to ask what would happen without it. So there are two models: the one you "
    "have, and a counterfactual one, trained on the same images except one. Influence is the difference between "
    "them.",
    setup, show,
    "Influence is a difference between two models, and the second is defined only once you say what is changed.",
    Quiz("Leaving out an example raises the probability of the right label. What was the example?",
         ("Helpful for this query", "Harmful for this query", "Neither"), 1,
         "Without the example the model does better here, so the example was harmful. This is why removal scores are "
         "shown with the opposite sign."),
    Quiz("Each of the six training examples is left out, one at a time, and the model is trained to its new optimum. "
         "What happens to the probability of the query's label?",
         ("It falls each time", "It rises each time", "It falls for some and rises for others"), 2,
         "Leaving out an example that supports the label lowers its probability; leaving out one that opposes it "
         "raises it."), (own.QUERY, own.DATA), ("lesson-out",))

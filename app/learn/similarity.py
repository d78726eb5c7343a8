"""Lesson 7: similarity is the exact influence of a constructed specification."""

import numpy as np

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, aside, extras, formula, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk import SampledProblem, commands
from engine.desk.analyses import comparing
from engine.metrics.ranking import ranks, top
from engine.question import direction
from engine.scoring.named import NAMED

ETAS = (0.05, 0.1, 0.2, 0.5, 1.0)
SHOWN = 8


def _similarity(sample: SampledProblem, query: int) -> np.ndarray:
    """⟨x_q, x_k⟩ of a query with each training example, (n,)."""
    return comparing.similarity(sample.problem, query)


def setup() -> None:
    sample = problem()
    query = own.query(sample, comparing.doubtful(sample.problem))
    rows = sample.problem.candidates[top(ranks(_similarity(sample, query)), SHOWN)]
    specimens.strip(sample, query, [int(row) for row in rows], [], "")
    glossary.markdown(f"The {SHOWN} training examples that are most similar to the query, by the dot product "
                      "of their pixels.")


def show() -> PageLink:
    eta = state.pick("lesson-eta", "Step size η", ETAS, 0.1, short, scale=True)
    sample = problem()
    scoring = NAMED["repsim"].implied(eta=eta)
    scored = scores(scoring, candidates=own.TRAIN)[0]
    query = own.query(sample, comparing.doubtful(sample.problem))
    similarity = _similarity(sample, query)
    moved = comparing.pushed(sample.problem, query, eta)
    frame = specimens.frame(sample, scored.candidates, similarity, moved)
    draw(charts.cloud, frame, "similarity of query and example (dot product)",
         f"exact influence: {direction.change(scoring.readout)}", key="learn:similarity",
         alt="Exact influence under the constructed specification against similarity: all dots lie on one line.",
         caption=f"Exact influence under the constructed specification, at η = {eta:g}, against similarity.")
    worst = float(abs(moved - eta * similarity).max())
    formula("[B f_y](q; θ + [T η] [P ∇f_y(x_k)]) − [B f_y](q; θ)  =  η ⟨x_q, x_k⟩")
    glossary.markdown(
        "Each dot is a separate model: take the step on one training example, and subtract the query's logits before "
        f"the step from those after it. Every dot lies on the line of slope η = {eta:g}, up to rounding (largest "
        f"distance {f'{worst:.0e}'.replace('-', '−')}).")
    aside(scoring.question)
    extras("similarity", frame, [scoring], own.source(), commands.scores(own.source(), [scoring]))
    gradsim = NAMED["gradsim"].implied(eta=eta)
    return PageLink("compare", "Compare it with gradient similarity",
                    specimens.address(ranks=str(query), **address_of([scoring, gradsim], (0, 1))))


LESSON = Lesson(
    "similarity", "Is similarity an influence?",
    "Ranking training examples by how similar they are to the query does not look like a counterfactual: nothing is "
    "changed and nothing is retrained.",
    setup, show,
    "A similarity score is the exact influence of a specification whose intervention never looks at the label.",
    Quiz("Why does similarity hardly find wrong labels?",
         ("It is too rough an approximation", "Its intervention does not use the example's label"), 1,
         "It is exact for its own question. A wrong label changes nothing in an intervention that never reads it."),
    Quiz("Is there a question to which the plain similarity of two images is the exact answer?",
         ("Yes", "No, it is a rule of thumb"), 0,
         "Take one step that raises the query's logit on the example's input, whatever its label: the change of the "
         "query logit is η times the similarity."),
    (own.QUERY, own.DATA), ("lesson-eta",))

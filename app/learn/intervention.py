"""Lesson 3: P, what is done to the training example."""

import pandas as pd

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import REOPTIMISED, Lesson, PageLink, Quiz, extras, formula, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import short, signed
from engine.desk.analyses import comparing
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
DERIVATIVE = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
REMOVED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def upweighted(alpha: float) -> Scoring:
    return Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha}, {"kind": "reoptimize"})


def _cloud(alpha: float, removed: Scores, raised: Scores, key: str) -> tuple[pd.DataFrame, int]:
    sample = problem()
    query = own.query(sample, comparing.doubtful(sample.problem))
    frame = specimens.rank_frame(sample, removed, raised, query)
    draw(charts.cloud, frame, "rank when left out", "rank when upweighted by α", True, key=key,
         alt="Ranks of training examples for one query: left out across, upweighted by α up.",
         caption=f"Ranks of training examples for one query: left out against upweighted by α = {short(alpha)}.")
    return frame, query


def setup() -> None:
    alpha = ALPHAS[0]
    removed, raised = scores(REMOVED, upweighted(alpha))
    _cloud(alpha, removed, raised, "learn:intervention:setup")
    glossary.markdown(
        f"One dot per training example, one query. At α = {short(alpha)} the two rankings agree, over all queries, "
        f"with Kendall's τ = **{signed(comparing.mean_tau(removed, raised), 2)}**.")


def show() -> PageLink:
    alpha = state.pick("lesson-p", "Extra weight α", ALPHAS, 1e-3, short, scale=True)
    removed, raised, slope = scores(REMOVED, upweighted(alpha), DERIVATIVE)
    frame, query = _cloud(alpha, removed, raised, "learn:intervention")
    formula("mean loss without [P z_k]  ·  mean loss + [P α ℓ_k]")
    trained = len(problem().sample.y_train)
    tau, near = comparing.mean_tau(removed, raised), comparing.mean_tau(slope, raised)
    glossary.markdown(
        "One dot per training example, one query: "
        f"{own.query_name('the one whose label the model predicts least confidently')}. Over all queries the two "
        f"rankings agree with Kendall's τ = **{signed(tau, 2)}**, and this one with the derivative, the ranking for a "
        f"vanishing weight, with τ = **{signed(near, 2)}**. Leaving out takes 1/{trained} of weight away; this adds "
        f"{alpha * trained:g} times as much.")
    extras("intervention", frame, [REMOVED, upweighted(alpha)],
           own.source().model_copy(update={"n_candidates": REOPTIMISED}))
    return PageLink("compare", "Compare these interventions over all queries",
                    specimens.address(ranks=str(query), **address_of([REMOVED, upweighted(alpha)], (0, 1))))


LESSON = Lesson(
    "intervention", "P: what is done to the example?",
    "Leave it out, give its loss more weight, change its label: each is an intervention. For a small change the effect "
    "is proportional to the change, and the derivative gives the ranking. Compare leaving an example out with adding "
    "weight α to its loss.",
    setup, show,
    "With a small weight the ranking is that of the derivative; the larger the weight, the more the two rankings "
    "differ. Leaving the example out is a large change in the opposite direction: no weight gives exactly its ranking.",
    Quiz("Why do the rankings differ more as α grows?",
         ("The solver gets worse", "The optimum moves along a curve, not along a line", "Chance"), 1,
         "Every score here is exact. For a tiny α the optimum moves in proportion to α; for a larger α its path "
         "curves, by a different amount for each example."),
    Quiz("The extra weight α grows from 0.00001 to 0.1. What happens to the agreement with leaving the example "
         "out?",
         ("It stays as it is", "It falls a little", "It disappears"), 1,
         "Even for the smallest weight it is not perfect, because leaving an example out is not a small change. With "
         "a larger weight the path of the optimum is curved, and the two changes still go in opposite directions."),
    (own.QUERY, own.DATA), ("lesson-p",), height=480)

"""Lesson 3: P, what is done to the training example."""


from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import REOPTIMISED, SOURCE, Lesson, Link, Question, drawn, extras, scores
from app.widgets import glossary
from app.widgets.specification_list import address_of
from engine.applications.lessons import comparing
from engine.basics.values import short
from engine.scoring.scoring import Scoring

ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
REMOVED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def upweighted(alpha: float) -> Scoring:
    return Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha}, {"kind": "reoptimize"})


def show() -> Link:
    alpha = state.pick("lesson-p", "Extra weight α", ALPHAS, 1e-3, short, slider=True)
    sample = drawn()
    removed, raised = scores(REMOVED, upweighted(alpha))
    query = comparing.doubtful(sample.problem)
    frame = specimens.rank_frame(sample, removed, raised, query)
    draw(charts.cloud, frame, "rank when the example is left out", f"rank when it weighs α = {short(alpha)} more", True,
         key="learn:intervention", alt="Ranks of training examples for one query: left out against upweighted.")
    tau = comparing.mean_tau(removed, raised)
    glossary.markdown(
        f"One dot a training example, one query. Over all queries the two rankings agree with Kendall's τ = "
        f"**{specimens.number(tau)}**. Leaving out takes 1/{SOURCE.n_train} of weight away; this adds "
        f"{alpha * SOURCE.n_train:g} times as much.")
    extras("intervention", frame, [REMOVED, upweighted(alpha)],
           SOURCE.model_copy(update={"n_candidates": REOPTIMISED}))
    return Link("compare", "Compare these interventions over all queries",
                specimens.address(**address_of([REMOVED, upweighted(alpha)], (0, 1))))


LESSON = Lesson(
    "intervention", "P: what is done to the example?",
    "Leave it out, give its loss more weight, change its label: each is an intervention. Small changes in opposite "
    "directions nearly mirror each other. Make the change large, and the model no longer answers in proportion.",
    show,
    "Removing and upweighting agree while the change is small; a heavy weight asks another question.",
    Question("Why do the rankings part when α grows?",
             ("The solver gets worse", "The optimum moves along a curve, not along a line", "Chance"), 1,
             "Every score here is exact. For a tiny α the optimum moves in proportion to α; farther out it bends, and "
             "by a different amount for every example."),
    Question("The extra weight α grows from 0.00001 to 0.1. What becomes of the agreement with leaving the example "
             "out?",
             ("It stays as it is", "It falls a little", "Nothing is left of it"), 1,
             "The larger change bends the path of the optimum, but both still push in opposite directions along it."))

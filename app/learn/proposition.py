"""Lesson 5: behaviors that are increasing functions of one another rank alike."""

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, extras, formula, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import signed
from engine.desk.analyses import comparing
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

OTHERS = ("soft_margin", "probability", "hard_margin", "query_logit")
ETA = 1.0


FORMULAS = {"soft_margin": "[B log p_y − log(1 − p_y)] rises with [B log p_y]",
            "probability": "[B p_y] rises with [B log p_y]",
            "hard_margin": "[B f_y − max_{j≠y} f_j] is not a function of [B log p_y]",
            "query_logit": "[B f_y] is not a function of [B log p_y]"}


def setup() -> None:
    sample = problem()
    query = own.query(sample, comparing.doubtful(sample.problem))
    changes = [one.oriented[query] for one in scores(
        *(comparing.step(name, ETA) for name in ("query_loss", OTHERS[0])), candidates=own.TRAIN)]
    across, up = (direction.change(BEHAVIORS[name]) for name in ("query_loss", OTHERS[0]))
    draw(charts.axes, *((float(one.min()), float(one.max())) for one in changes), across, up,
         key="learn:proposition:setup", alt=f"Empty axes: {across} across, {up} up.")
    specimens.strip(sample, query, [], [], "")


def show() -> PageLink:
    behavior = state.pick("lesson-b2", "Against the query loss", OTHERS, "soft_margin",
                              lambda name: BEHAVIORS[name].title)
    sample = problem()
    loss, other = scores(comparing.step("query_loss", ETA), comparing.step(behavior, ETA), candidates=own.TRAIN)
    query = own.query(sample, comparing.doubtful(sample.problem))
    frame = specimens.frame(sample, loss.candidates, loss.oriented[query], other.oriented[query])
    across, up = (direction.change(BEHAVIORS[name]) for name in ("query_loss", behavior))
    draw(charts.cloud, frame, across, up, key="learn:proposition",
         alt=f"Up the {up}, across the {across}, one dot per training example, one query.")
    formula(FORMULAS[behavior])
    glossary.markdown(
        f"Each dot is a model after one step on one training example. Over all queries the two rankings agree "
        f"with Kendall's τ = **{signed(comparing.mean_tau(loss, other), 2)}**.")
    extras("proposition", frame, [loss.scoring, other.scoring], own.source(),
           quantity=direction.named({"x": across, "y": up}))
    return PageLink("compare", "Compare them over all queries",
                    specimens.address(ranks=str(query), **address_of([loss.scoring, other.scoring], (0, 1))))


LESSON = Lesson(
    "proposition", "Which behaviors give the same ranking?",
    "Each training example, by one step on it, gives its own model. Read two behaviors off each model: log p of the "
    "query's label, the log-likelihood (minus the query loss), and its soft margin, log p − log(1 − p).",
    setup, show,
    "An increasing function of a behavior ranks training examples exactly as the behavior does, whatever the "
    "intervention and the training process.",
    Quiz("The accuracy at the query, right or wrong, is a non-decreasing function of the hard margin. Does it rank "
         "the examples the same?", ("Yes", "No, it makes almost all of them tie"), 1,
         "The proposition needs a strictly increasing function. Accuracy jumps only where the margin crosses zero, so "
         "nearly all examples leave it unchanged."),
    Quiz("Each dot is one training example: the change of the log-likelihood (minus the query loss) across, that "
         "of the soft margin up. What will the dots look like?",
         ("A cloud", "One rising curve", "Two lines"), 1,
         "The soft margin is an increasing function of the query's probability, and so is the log of it. The hard "
         "margin looks at a single rival class, and has no such curve."),
    (own.QUERY, own.DATA), ("lesson-b2",))

"""Lesson 5: behaviors that are increasing functions of one another rank alike."""


from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import SOURCE, Lesson, PageLink, Quiz, extras, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.results.agreements import signed
from app.widgets.words import glossary
from engine.desk.analyses import comparing
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

OTHERS = ("soft_margin", "probability", "hard_margin", "query_logit")
ETA = 1.0


def show() -> PageLink:
    behavior = state.pick("lesson-b2", "Against the query loss", OTHERS, "soft_margin",
                              lambda name: BEHAVIORS[name].title)
    sample = problem()
    loss, other = scores(comparing.step("query_loss", ETA), comparing.step(behavior, ETA), candidates=SOURCE.n_train)
    query = comparing.doubtful(sample.problem)
    frame = specimens.frame(sample, loss.candidates, loss.oriented[query], other.oriented[query])
    across, up = (direction.change(BEHAVIORS[name]) for name in ("query_loss", behavior))
    draw(charts.cloud, frame, across, up, key="learn:proposition",
         alt=f"Up the {up}, across the {across}, one dot a training example, one query.")
    glossary.markdown(
        f"Each dot is a model after one step on one training example. Over all queries the two rankings agree "
        f"with Kendall's τ = **{signed(comparing.mean_tau(loss, other), 2)}**.")
    extras("proposition", frame, [loss.scoring, other.scoring], SOURCE,
           quantity=direction.named({"x": across, "y": up}))
    return PageLink("compare", "Compare them over all queries",
                    specimens.address(**address_of([loss.scoring, other.scoring], (0, 1))))


LESSON = Lesson(
    "proposition", "Why soft margin ranks as query loss, and hard margin does not",
    "The soft margin is log p − log(1 − p), and minus the query loss is log p, the log-likelihood: the one grows "
    "exactly when the other does. So the dots lie on one rising curve, and whatever is higher on one axis is higher on "
    "the other. The hard margin looks at a single rival class, and has no such curve.",
    show,
    "An increasing function of a behavior ranks training examples exactly as the behavior does, whatever the "
    "intervention and the training process.",
    Quiz("The accuracy at the query, right or wrong, is a non-decreasing function of the hard margin. Does it rank "
         "the examples the same?", ("Yes", "No, it makes almost all of them tie"), 1,
         "The proposition needs a strictly increasing function. Accuracy jumps only where the margin crosses zero, "
         "so nearly all examples leave it as it is."),
    Quiz("Each dot is one training example: the change of the log-likelihood (minus the query loss) across, that "
         "of the soft margin up. What will the dots look like?",
         ("A cloud", "One rising curve", "Two lines"), 1,
         "The soft margin is an increasing function of the query's probability, and so is the log of it."))

"""Lesson 2: B, the number that is read off the model."""


from app.learn import specimens, state
from app.learn.lesson import SOURCE, Lesson, PageLink, Quiz, extras, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.results.agreements import signed
from app.widgets.words import glossary
from engine.desk.analyses import comparing
from engine.metrics.ranking import ranks, top
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

SHOWN = 8
OFFERED = ("query_loss", "query_logit", "hard_margin", "soft_margin")


def show() -> PageLink:
    behavior = state.pick("lesson-b", "Behavior B", OFFERED, "hard_margin", lambda name: BEHAVIORS[name].title)
    sample = problem()
    scored = scores(*(comparing.step(name) for name in OFFERED), candidates=SOURCE.n_train)
    loss, chosen = scored[0], scored[OFFERED.index(behavior)]
    query = comparing.most_different(loss, scored[OFFERED.index("hard_margin")], SHOWN)
    first, second = ([int(one.candidates[position]) for position in top(ranks(one.trusted[query]), SHOWN)]
                     for one in (loss, chosen))
    only = [row for row in second if row not in first]
    glossary.markdown(
        f"The {SHOWN} training examples that {direction.raise_most(BEHAVIORS[behavior])}. Of "
        f"{len(sample.problem.queries)} queries, the one where query loss and hard margin share the fewest of these:")
    specimens.strip(sample, query, second, only, "new")
    tau = comparing.mean_tau(loss, chosen)
    same = (f"{len(only)} of the {SHOWN} are not among the first {SHOWN} for the query loss." if only else
            f"They are the first {SHOWN} for the query loss, too.")
    stay = comparing.shared(loss, chosen, SHOWN)
    glossary.markdown(
        f"{same} Over all queries, **{stay.mean():.1f}** of the first {SHOWN} stay on average, and the two rankings "
        f"agree with Kendall's τ = **{signed(tau, 2)}**.")
    table = specimens.rank_frame(sample, loss, chosen, query).rename(
        columns={"x": "rank by query loss", "y": f"rank by {BEHAVIORS[behavior].title}"})
    extras("behavior", table.loc[:, ~table.columns.duplicated()], [loss.scoring, chosen.scoring], SOURCE)
    pair = [comparing.step("query_loss"), comparing.step(behavior if behavior != "query_loss" else "hard_margin")]
    return PageLink("compare", "Compare these behaviors over all queries",
                    specimens.address(**address_of(pair, (0, 1))))


LESSON = Lesson(
    "behavior", "B: which behavior?",
    "The model's answer to a query can be read in several ways: its log-likelihood (minus the loss), the logit of the "
    "right class, or the margin to the other classes. Each is a behavior, and most rank the training examples in a way "
    "of their own, although nothing else about the question changed.",
    show,
    "Read another number off the model, and other examples may become influential, with everything else the same. The "
    "soft margin grows exactly when the log-likelihood does, and leaves the ranking as it is; the hard margin and the "
    "logit do not.",
    Quiz("Two methods disagree. One reads the query loss, the other the query logit; both are exact. Who is wrong?",
         ("The one with the logit", "The one with the loss", "Neither"), 2,
         "They answer two questions. A difference in B is a specification mismatch, and no better computation will "
         "make it go away."),
    Quiz("Take the first 8 training examples for the query loss, then read the hard margin instead. How many of "
         "the 8 stay?",
         ("All 8", "Some of them", "None"), 1,
         "Nothing about the training changed, and yet the list did: another number is read off the model."))

"""Lesson 2: B, the number that is read off the model."""

from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, extras, formula, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import signed
from engine.desk import SampledProblem
from engine.desk.analyses import comparing
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scores import Scores

SHOWN = 8
OFFERED = ("query_loss", "query_logit", "hard_margin", "soft_margin")
FORMULAS = {"query_loss": "[B log p_y]", "query_logit": "[B f_y]", "hard_margin": "[B f_y − max_{j≠y} f_j]",
            "soft_margin": "[B log p_y − log(1 − p_y)]"}


def _scored() -> list[Scores]:
    return scores(*(comparing.step(name, own.eta()) for name in OFFERED), candidates=own.TRAIN)


def _query(sample: SampledProblem, scored: list[Scores]) -> int:
    return own.query(sample, comparing.most_different(scored[0], scored[OFFERED.index("hard_margin")], SHOWN))


def setup() -> None:
    sample, scored = problem(), _scored()
    query = _query(sample, scored)
    specimens.strip(sample, query, specimens.first(scored[0], query, SHOWN), [], "")
    glossary.markdown(
        f"The {SHOWN} training examples that {direction.raise_most(BEHAVIORS['query_loss'])}, by one step on each.")


def show() -> PageLink:
    behavior = state.pick("lesson-b", "Behavior B", OFFERED, "hard_margin", lambda name: BEHAVIORS[name].title)
    sample = problem()
    scored = _scored()
    loss, chosen = scored[0], scored[OFFERED.index(behavior)]
    query = _query(sample, scored)
    first, second = (specimens.first(one, query, SHOWN) for one in (loss, chosen))
    only = [row for row in second if row not in first]
    glossary.markdown(
        f"The {SHOWN} training examples that {direction.raise_most(BEHAVIORS[behavior])}. Of "
        f"{len(sample.problem.queries)} queries, "
        f"{own.query_name('the one where query loss and hard margin share the fewest of these')}:")
    specimens.strip(sample, query, second, only, "new")
    formula(f"{BEHAVIORS[behavior].title}: {FORMULAS[behavior]}")
    tau = comparing.mean_tau(loss, chosen)
    same = (f"{len(only)} of the {SHOWN} are not among the first {SHOWN} for the query loss." if only else
            f"They are the first {SHOWN} for the query loss, too.")
    stay = comparing.shared(loss, chosen, SHOWN)
    glossary.markdown(
        f"{same} Over all queries, **{stay.mean():.1f}** of the first {SHOWN} stay on average, and the two rankings "
        f"agree with Kendall's τ = **{signed(tau, 2)}**.")
    table = specimens.rank_frame(sample, loss, chosen, query).rename(
        columns={"x": "rank by query loss", "y": f"rank by {BEHAVIORS[behavior].title}"})
    extras("behavior", table.loc[:, ~table.columns.duplicated()], [loss.scoring, chosen.scoring], own.source())
    pair = [comparing.step(name, own.eta())
            for name in ("query_loss", behavior if behavior != "query_loss" else "hard_margin")]
    return PageLink("compare", "Compare these behaviors over all queries",
                    specimens.address(ranks=str(query), **address_of(pair, (0, 1))))


LESSON = Lesson(
    "behavior", "B: which behavior?",
    "The model's answer to a query can be read in several ways: its log-likelihood (minus the loss), the logit of the "
    "right class, or the margin to the other classes. Each is a behavior. Nothing else about the question changes.",
    setup, show,
    "Read a different number off the model, and other examples may become influential, with everything else "
    "unchanged. The soft margin is an increasing function of the log-likelihood and leaves the ranking unchanged; the "
    "hard margin and the logit are not.",
    Quiz("Two methods disagree. One reads the query loss, the other the query logit; both are exact. Who is wrong?",
         ("The one with the logit", "The one with the loss", "Neither"), 2,
         "They answer two different questions. A difference in B is a specification mismatch, which a more accurate "
         "computation does not remove."),
    Quiz("These are the first 8 training examples for the query loss. Read the hard margin instead: how many of "
         "the 8 stay?",
         ("All 8", "Some of them", "None"), 1,
         "Only the number read off the model changed, and the list changed with it."),
    (own.QUERY, own.DATA, own.ETA), ("lesson-b",))

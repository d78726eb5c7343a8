"""Lesson 4: T, how training answers."""


from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import REOPTIMISED, SOURCE, Lesson, PageLink, Quiz, extras, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.results.agreements import signed
from app.widgets.words import glossary
from engine.desk.analyses import comparing
from engine.scoring.scoring import Scoring

ADD = {"kind": "add_occurrence"}
PROCESSES = {
    "five": ("five steps", Scoring.of("query_loss", ADD, {"kind": "unrolled", "eta": 0.1, "steps": 5})),
    "trajectory": ("along the training", Scoring.of("query_loss", ADD, {"kind": "trajectory", "eta": 0.1})),
    "response": ("local response", Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})),
    "optimum": ("new optimum", Scoring.of("query_loss", {"kind": "upweight", "alpha": 1e-3},
                                          {"kind": "reoptimize"})),
}


def show() -> PageLink:
    name = state.pick("lesson-t", "Training process T", list(PROCESSES), "optimum", lambda key: PROCESSES[key][0])
    title, scoring = PROCESSES[name]
    sample = problem()
    one, other = scores(comparing.step("query_loss"), scoring)
    query = comparing.doubtful(sample.problem)
    frame = specimens.rank_frame(sample, one, other, query)
    draw(charts.cloud, frame, "rank after one step", f"rank: {title}", True, key="learn:process",
         alt=f"Ranks of training examples for one query: one step against {title}.")
    agreement, axes = comparing.agreement(one, other), " and ".join(scoring.differing_axes(one.scoring))
    glossary.markdown(
        f"Over all queries, with one step: Kendall's τ = **{signed(agreement.tau, 2)}**; τ of the sizes alone, "
        f"without the signs, **{signed(agreement.sizes, 2)}**; the same sign for **{agreement.signs:.0%}** of "
        f"the "
        f"scores (chance: 50%). The two questions differ in {axes}. {other.scoring.question}")
    extras("process", frame, [one.scoring, scoring],
           SOURCE.model_copy(update={"n_candidates": REOPTIMISED}))
    return PageLink("compare", "Compare these processes over all queries",
                    specimens.address(**address_of([one.scoring, scoring], (0, 1))))


LESSON = Lesson(
    "process", "T: how does training answer?",
    "After the change, what does training do? Take one step on the example, several, or go all the way to the new "
    "optimum? Not every intervention fits every process, so that P changes with T here where it must. A step only "
    "feels how alike query and example are. The optimum also feels the rest of the training set, which pulls back in "
    "every direction but the flat ones: that is the Hessian.",
    show,
    "One step and a new optimum agree on which examples matter, and hardly on which of them help and which harm; they "
    "are different questions, not better and worse answers.",
    Quiz("GradSim (one step) disagrees with leave-one-out. Would a longer computation of GradSim help?",
         ("Yes, it converges to leave-one-out", "No, it answers for another training process"), 1,
         "Several steps agree with one step, not with the optimum. What separates them is T, and P with it: "
         "a step takes the example once more, leaving out drops it from what is optimised."),
    Quiz("One step on the example against training to the new optimum: how far will the two rankings agree?",
         ("Nearly the same ranking", "About halfway", "Hardly at all"), 2,
         "A step sees query and example only. The new optimum also sees the rest of the training set. The sizes "
         "of the scores still agree; what does not is their signs, which is why the dots form a cross."))

"""Lesson 4: T, how training answers."""

from __future__ import annotations

from dataclasses import dataclass

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import REOPTIMISED, Lesson, PageLink, Quiz, aside, extras, formula, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import signed
from engine.desk.analyses import comparing
from engine.scoring.scoring import Scoring

ADD = {"kind": "add_occurrence"}
STEP_FORMULA = "−[T η] [B ∇B(q)]ᵀ [P ∇ℓ_k]"
ACROSS, UP = "rank after one step", "rank by the chosen process"


@dataclass(frozen=True)
class LessonProcess:
    """A training process of the lesson. formula: its score, to first order in the change; why: what
    sets it apart from one step."""

    title: str
    scoring: Scoring
    formula: str
    why: str


PROCESSES = {
    "five": LessonProcess(
        "five steps", Scoring.of("query_loss", ADD, {"kind": "unrolled", "eta": 0.1, "steps": 5}),
        "−[T η Σ_s] [B ∇B(q)]ᵀ [P ∇ℓ_k(θ_s)]",
        "Each step uses the gradient of this one example at the current parameters."),
    "trajectory": LessonProcess(
        "along the training", Scoring.of("query_loss", ADD, {"kind": "trajectory", "eta": 0.1}),
        "−[T Σ_t η_t] [B ∇B(q; θ_t)]ᵀ [P ∇ℓ_k(θ_t)]",
        "To first order this is TracIn: the product of gradients that GradSim takes once, at the trained model, summed "
        "over the checkpoints θ_t of the training, each times its learning rate. B and P are the same, T differs."),
    "response": LessonProcess(
        "local response", Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}),
        "−[B ∇B(q)]ᵀ [T H⁻¹] [P ∇ℓ_k]",
        "The inverse Hessian H⁻¹ divides each direction by the curvature that the training set gives it: steep "
        "directions count less, flat ones more."),
    "optimum": LessonProcess(
        "new optimum", Scoring.of("query_loss", {"kind": "upweight", "alpha": 1e-3}, {"kind": "reoptimize"}),
        "≈ −[P α] [B ∇B(q)]ᵀ [T H⁻¹] [P ∇ℓ_k]",
        "H⁻¹ divides each direction by the curvature that the training set gives it; one step weights all directions "
        "equally."),
}


def setup() -> None:
    sample = problem()
    query = own.query(sample, comparing.doubtful(sample.problem))
    ends = 1, min(REOPTIMISED, len(sample.sample.y_train))
    draw(charts.axes, ends, ends, f"{ACROSS}, 1 supports most", "rank at the new optimum, 1 supports most",
         key="learn:process:setup", alt="Empty axes: ranks after one step across, at the new optimum up.")
    specimens.strip(sample, query, [], [], "")


def show() -> PageLink:
    name = state.pick("lesson-t", "Training process T", list(PROCESSES), "optimum", lambda key: PROCESSES[key].title)
    chosen, sample = PROCESSES[name], problem()
    step, response = comparing.step("query_loss", own.eta()), PROCESSES["response"].scoring
    one, other, local = scores(step, chosen.scoring, response)
    query = own.query(sample, comparing.doubtful(sample.problem))
    frame = specimens.rank_frame(sample, one, other, query)
    draw(charts.cloud, frame, ACROSS, UP, True, key="learn:process",
         alt="Ranks of training examples for one query: one step across, the chosen process up.",
         caption=f"Ranks of training examples for one query: one step against {chosen.title}.")
    formula(f"one step (GradSim): {STEP_FORMULA}", f"{chosen.title}: {chosen.formula}")
    agreement, axes = comparing.agreement(one, other), " and ".join(chosen.scoring.differing_axes(step))
    glossary.markdown(
        f"Over all queries, with one step: Kendall's τ = **{signed(agreement.tau, 2)}**; τ of the sizes alone, "
        f"without the signs, **{signed(agreement.sizes, 2)}**; the same sign for **{agreement.signs:.0%}** of the "
        f"scores (chance: 50%). The two questions differ in {axes}.")
    glossary.markdown(chosen.why + (
        " H⁻¹ alone, without retraining, gives nearly the ranking of the new optimum: τ = "
        f"**{signed(comparing.mean_tau(local, other), 2)}**." if name == "optimum" else ""))
    aside(chosen.scoring.question)
    extras("process", frame, [step, chosen.scoring], own.source().model_copy(update={"n_candidates": REOPTIMISED}))
    return PageLink("compare", "Compare these processes over all queries",
                    specimens.address(ranks=str(query), **address_of([step, chosen.scoring], (0, 1))))


LESSON = Lesson(
    "process", "T: how does training respond?",
    "After the change, what does training do? One step on the example, several steps, or re-optimisation to the new "
    "optimum? Not every intervention fits every process, so here P changes with T when necessary.",
    setup, show,
    "One step and a new optimum agree on which examples matter, but hardly on which help and which harm; these are "
    "different questions, not better and worse answers.",
    Quiz("GradSim (one step) disagrees with leave-one-out. Would a longer computation of GradSim help?",
         ("Yes, it would converge to leave-one-out", "No, it answers the question of a different training process"), 1,
         "Several steps agree with one step, not with the optimum. They differ in T, and in P with it: a "
         "step adds one occurrence of the example, leaving it out removes its loss from the objective."),
    Quiz("One step on the example against training to the new optimum: how well will the two rankings agree?",
         ("Nearly the same ranking", "About halfway", "Hardly at all"), 2,
         "The sizes of the scores agree, their signs do not: the dots form a cross."),
    (own.QUERY, own.DATA, own.ETA), ("lesson-t",))

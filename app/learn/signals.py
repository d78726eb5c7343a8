"""Lesson 8: what the training signal and the behavior signal add to similarity."""

import pandas as pd

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, extras, formula
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.desk.analyses import signals
from engine.scoring.named import NAMED

FORMULAS = {"similarity": "⟨x_q, x_k⟩", "training": "⟨x_q, x_k⟩ · [P (−s_ℓ(z_k))_y]",
            "both": "⟨x_q, x_k⟩ · [B s_B(q)]ᵀ [P (−s_ℓ(z_k))]"}


def setup() -> None:
    wrong = int(signals.detections(own.rho()).flags.sum())
    draw(charts.inspection, _chance(wrong), ["chance"], key="learn:signals:setup",
         alt="Wrong labels detected against labels inspected, by chance.")
    glossary.markdown(f"{signals.TRAIN} handwritten digits, of which {wrong} carry a wrong label.")


def _chance(wrong: int) -> pd.DataFrame:
    return pd.DataFrame({"inspected": [0, signals.TRAIN], "found": [0, wrong], "kind": "chance"})


def show() -> PageLink:
    titles, rho = signals.STAGES, own.rho()
    stage = state.pick("lesson-signal", "What the score uses", list(titles), "similarity", titles.__getitem__)
    detections = signals.detections(rho)
    shown = list(titles)[:list(titles).index(stage) + 1]
    wrong = int(detections.flags.sum())
    names = ["chance", *(titles[name] for name in shown)]
    frame = pd.concat([_chance(wrong), *(detections.detection_curve(name).assign(kind=titles[name]) for name in shown)],
                      ignore_index=True)
    draw(charts.inspection, frame, names, key="learn:signals",
         alt=f"Wrong labels detected against labels inspected, for {', '.join(names)}.")
    here = ", ".join(f"{titles[name]} **{detections.auprc(name):.2f}**" for name in shown)
    means = ", ".join(f"{titles[name]} {mean:.2f} ± {half:.2f}"
                      for name, (mean, half) in signals.over_draws(rho).items())
    formula(f"{titles[stage]}: {FORMULAS[stage]}")
    glossary.markdown(f"{signals.TRAIN} handwritten digits, of which {wrong} carry a wrong label. Average precision: "
                      f"{here}; chance is {rho:.2f}. Mean over {signals.DRAWS} draws, with its 95% interval: {means}.")
    table = pd.DataFrame({"score": list(titles.values()),
                          "average precision": [round(detections.auprc(name), 4) for name in titles]})
    extras("signals", table, about=[
        "Question: which training labels are wrong? An example is more suspicious the lower its mean score over the "
        "queries.", f"Handwritten digits · {signals.TRAIN} training examples, {wrong} with a wrong label · "
        f"{signals.QUERIES} queries · softmax regression, l2 {signals.L2:g} · seed 0"], command=(
        'python -c "from engine.applications.lessons.signals import detections as d; '
        'print({s: d('
        f'{rho}).auprc(s) for s in d({rho}).suspicion}})"'))
    named = [NAMED[name].implied() for name in ("repsim", "gradsim")]
    return PageLink("compare", "See how far apart the rankings themselves are",
                    specimens.address(**address_of(named, (0, 1))))


LESSON = Lesson(
    "signals", "What turns similarity into a detector?",
    "A gradient score is similarity between two signals: the training signal, the derivative of the example's loss "
    "with respect to its logits, and the behavior signal, that of the query's behavior. Add them to plain similarity, "
    "one at a time.",
    setup, show,
    "What a score detects depends on the signals it uses. Here the training signal alone does it: it is the only "
    "signal that depends on the label. On this task, adding the behavior signal finds fewer wrong labels, not more.",
    Quiz("The paper's harmful responses in language models are found only with both signals. Is that a "
         "contradiction?", ("Yes", "No"), 1,
         "There the training signals of all examples are very similar, and only the behavior signal separates the "
         "relevant responses. Which signal matters depends on the question."),
    Quiz("Similarity alone, then with the training signal, then with the behavior signal too. Which addition finds "
         "the most wrong labels?",
         ("The training signal", "The behavior signal", "Both add the same number"), 0,
         "Only the training signal depends on the label of the training example."),
    (own.RHO,), ("lesson-signal",), height=500)

"""Lesson 9: the derivative of a training tells what other trainings do only where the training is smooth."""

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, aside, extras
from app.widgets.examples import cards
from app.widgets.words import glossary
from engine.desk.analyses import rough, toy
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

STEPS = tuple(round(-1 + 0.05 * index, 2) for index in range(41))
READ = BEHAVIORS["query_loss"]


def setup() -> None:
    kind = next(iter(rough.KINDS))
    frame, unit = rough.along_epsilon(kind)[["epsilon", "tangent"]], direction.change(READ)
    draw(charts.line, frame, unit, "epsilon", "change of the weight, ε", key="learn:rough:setup",
         alt=f"The straight line that the derivative of the first training predicts: the {unit} along ε.")
    glossary.markdown(f"The line of the first run ({rough.KINDS[kind]}): what its derivative predicts.")


def show() -> PageLink:
    kind = state.pick("lesson-run", "Which training?", list(rough.KINDS), "smooth", rough.KINDS.__getitem__)
    epsilon = state.pick("lesson-epsilon", "Change of the weight, ε", STEPS, 0.1, lambda value: f"{value:+g}",
                         scale=True)
    frame = rough.along_epsilon(kind)
    at = frame.iloc[(frame["epsilon"] - epsilon).abs().argmin()]
    unit = direction.change(READ)
    draw(charts.tangent, frame, epsilon, unit, "epsilon", "change of the weight, ε", key="learn:rough",
         alt=f"The {unit} when one example has weight 1 + ε in training, and the line that the derivative at "
             "ε = 0 predicts.",
         caption=f"The {unit} when one example has weight 1 + ε in training, and the line that the derivative at "
                 f"ε = 0 predicts: {at.curve:+.4f} and {at.tangent:+.4f} at ε = {epsilon:g}.")
    moved = direction.changed(READ, float(at.curve), f"**{cards.number(at.curve)}**")
    others = ", ".join(f"{rough.off(rough.along_epsilon(one)):.0%}" for one in rough.KINDS)
    glossary.markdown(
        f"With the weight changed by ε = {epsilon:+g}, retraining {moved}; the derivative predicts "
        f"**{cards.number(at.tangent)}**. Over all ε the error of the line is **{rough.off(frame):.0%}** of the true "
        "change; in the five runs, in this order, it is "
        f"{others}.{' At ε = −1 the example is left out.' if epsilon == -1 else ''}".replace("ε = -", "ε = −"))
    aside(f"{rough.RECIPES[kind].sentence} Every point of the curve is a separate training run; the line is the exact "
          "derivative of the one in the middle, through all its steps.")
    extras("rough", frame, quantity=unit, about=[
        f"Question: {unit} when the weight of training example {rough.ROW} is 1 + ε, in the training "
        f"“{rough.KINDS[kind]}”. Exact: retraining; line: their derivative at ε = 0.",
        f"{2 * toy.POINTS} training points in the plane, one query · {rough.RECIPES[kind].sentence} Seed {rough.SEED}"
        ], command=(
        'python -c "from engine.applications.lessons.rough import along_epsilon as a; '
        f"print(a('{kind}').to_csv(index=False))\""))
    return PageLink("approximation_error", "See how far the derivative of a network's training reaches",
                    specimens.address(model="mlp", panel="run"))


LESSON = Lesson(
    "rough", "Smooth and rough training",
    "Training runs on the same thirty points with the same initial weights. The first takes small steps on all "
    "points, with a smooth network. Each later one changes one more thing: a network with kinks, batches of five "
    "points, momentum, larger steps. The derivative of a training run predicts what happens when one example counts a "
    "little more or less: a straight line.",
    setup, show,
    "A derivative through the whole training is exact in both; it predicts actual retraining only if the training is "
    "smooth.",
    Quiz("In the rough training the line already fails at ε = 0.25. Is the derivative wrong?",
         ("Yes, it needs more precision", "No, it is the correct tangent of a curve that bends and jumps"), 1,
         "It is the exact slope at ε = 0. Large steps amplify small changes, and a kink that is crossed in some step "
         "makes the final value jump. More precision would not help; the runs between the two show the effect of each "
         "change."),
    Quiz("For which of the two, the first or the last, will the straight line predict what retraining gives?",
         ("For both", "For the smooth one", "For the rough one"), 1,
         "With small steps and a smooth network, the final model depends on ε almost linearly; with large steps, "
         "momentum, small batches and kinks it does not."),
    controls=("lesson-run", "lesson-epsilon"), height=500)

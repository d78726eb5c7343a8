"""One point in the plane, moved by the reader: the decision boundary, the exact change and the linearised one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, aside, extras, formula, side_by_side
from app.widgets.choices import choice
from app.widgets.words import glossary
from engine.desk.analyses import toy

CHART, _SENT = "learn:plane", "learn:plane:sent"
START = 2.0, 1.6


def setup() -> None:
    draw(charts.still_plane, _points(), _ends("factual", [toy.answer(*START, 0).factual.boundary]), START, toy.SIDE,
         key="learn:plane:setup", alt="Two classes in the plane, the query, the boundary between the classes, and the "
                                      "point that will be dragged.")


def show() -> PageLink:
    left, right = side_by_side()
    with left:
        x, y = (state.coordinate("toy-x", "Move it sideways", START[0], toy.SIDE),
                state.coordinate("toy-y", "Move it up and down", START[1], toy.SIDE))
        label = state.pick("toy-label", "Its class", (0, 1), 0, lambda kind: f"class {kind}")
        answer = toy.answer(x, y, label)
        glossary.markdown(
            f"The query is the diamond. The model gives its class the probability **{answer.factual.probability:.3f}** "
            f"without your point, **{answer.exact.probability:.3f}** with it, and the linearised answer gives "
            f"**{answer.linearised.probability:.3f}**.")
        formula("linearised: θ − [P 1/n] [T H⁻¹] [P ∇ℓ_k]")
        aside("Circles are class 0, squares class 1; your point has a ring. Drag it, or use the sliders.")
    with right:
        fixed, kind = _points(), f"moved point, class {label}"
        draw(charts.plane, fixed, _ends("factual", [answer.factual.boundary]), _grid(label),
             _start(x, y, label), toy.SIDE, kind, key=CHART, on_select=_dragged, selection_mode=charts.MOVED,
             alt=f"Two classes in the plane with three decision boundaries; the moved point of class {label} is at "
                 f"({x:.1f}, {y:.1f}).")
        extras("plane", _lines(answer), about=[
            f"Question: how does the model change when the point ({x:g}, {y:g}) of class {label} is added with the "
            "weight of one example? Exact: the new optimum; linearised: the inverse-Hessian derivative.",
            f"{len(fixed) - 1} training points in the plane, one query · softmax regression with an intercept, "
            f"l2 {toy.L2:g} · seed {toy.SEED}"], command=(
                f'python -c "from engine.applications.lessons.toy import answer; print(answer({x}, {y}, {label}))"'))
    return PageLink("approximation_error", "Drag the weight α of real examples", specimens.address(panel="alpha"))


def _start(x: float, y: float, label: int) -> tuple[float, float]:
    """Where the chart has the point before it is dragged. While it is dragged the chart stays as it was sent, so that
    the browser does not draw it anew under the reader's hand."""
    sent = st.session_state.get(_SENT)
    if sent is None or sent["label"] != label or sent["dragged"] != (x, y):
        sent = st.session_state[_SENT] = {"label": label, "dragged": None, "start": (x, y)}
    return sent["start"]


def _dragged() -> None:
    """The point is where the reader dragged it."""
    points = st.session_state[CHART]["selection"].get(charts.MOVED)
    if not points:
        return
    x, y = (round(float(points[0][side]), 1) for side in ("x", "y"))
    st.session_state[_SENT]["dragged"] = (x, y)
    for name, value in (("toy-x", x), ("toy-y", y)):
        choice.keep(name, f"{value:g}")
        st.session_state[choice.widget(name)] = value


@st.cache_data(show_spinner=False)
def _grid(label: int) -> pd.DataFrame:
    """The boundaries of the exact and of the linearised model for the point at every place."""
    models = toy.everywhere(label)
    at = pd.DataFrame({"x": models["x"], "y": models["y"]})
    return pd.concat([at, *(_ends(name, models[name]) for name in ("exact", "linearised"))], axis=1)


def _ends(model: str, boundaries: Sequence | np.ndarray) -> pd.DataFrame:
    """Two points of each boundary, outside the square on both sides."""
    frame = pd.DataFrame(boundaries, columns=["a", "b", "c"])
    square = frame.a ** 2 + frame.b ** 2
    long = 4 * toy.SIDE / square ** 0.5
    middle_x, middle_y = -frame.c * frame.a / square, -frame.c * frame.b / square
    ends = (middle_x - long * frame.b, middle_y + long * frame.a, middle_x + long * frame.b, middle_y - long * frame.a)
    return pd.DataFrame({f"{model} {name}": end for name, end in zip(charts.ENDS, ends, strict=True)}).round(3)


def _points() -> pd.DataFrame:
    positions, labels = toy.points()
    fixed = pd.DataFrame({"x": positions[:, 0], "y": positions[:, 1], "kind": [f"class {kind}" for kind in labels],
                          "size": 70})
    x, y, label = toy.QUERY
    return pd.concat([fixed, pd.DataFrame({"x": [x], "y": [y], "size": [150], "kind": [f"query, class {label}"]})],
                     ignore_index=True)


def _lines(answer: toy.ToyModels) -> pd.DataFrame:
    models = {"without the point": answer.factual, "exact": answer.exact, "linearised": answer.linearised}
    return pd.DataFrame([{"x": float(end[0]), "y": float(end[1]), "model": name} for name, model in models.items()
                         for end in model.line()], columns=["x", "y", "model"])


LESSON = Lesson(
    "plane", "Play: one point in the plane",
    "Two classes in the plane, and one extra point that you can drag. The dotted line is the boundary without it, the "
    "solid one the exact answer with it, and the dashed one the linearised answer: the influence function.",
    setup, show,
    "Near the boundary a point moves the model little, and the line follows. Far on the wrong side its gradient is "
    "large: the exact boundary moves a limited distance, and the linearisation overshoots.",
    Quiz("Far on the wrong side the dashed line overshoots. Is the influence function computed wrongly?",
         ("Yes", "No, it is the right answer for a tiny weight"), 1,
         "It is the derivative at weight zero, extrapolated to the weight of a whole example. The gap is "
         "approximation error, and it shrinks with the weight."),
    Quiz("The point is dragged far to the wrong side. Which answer moves the query's probability farther?",
         ("The exact one", "The linearised one", "Both the same"), 1,
         "The linearisation keeps its first slope; the exact answer flattens as the weight grows."),
    controls=("toy-x", "toy-y", "toy-label"), height=530)

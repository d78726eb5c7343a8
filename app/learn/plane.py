"""One point in the plane, moved by the reader: the decision boundary, the exact change and the linearised one."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.widgets import downloads, glossary
from engine.applications.lessons import toy

IDEA = ("Two classes in the plane, and one more point that you move. The dotted line is the boundary without it, the "
        "solid one the exact answer with it, and the dashed one the linearised answer: the influence function.")
TAKEAWAY = ("Near the boundary a point moves the model little, and the line follows. Far on the wrong side it pulls "
            "hard, the exact model gives way only so far, and the linearisation overshoots.")


def show() -> None:
    glossary.html(f'<p class="wf-lead wf-lesson">{escape(IDEA)}</p>')
    left, right = st.columns([2, 3], gap="large")
    with left:
        x, y = (state.place("toy-x", "Move it sideways", 2.0, toy.SIDE),
                state.place("toy-y", "Move it up and down", 1.6, toy.SIDE))
        label = state.pick("toy-label", "Its class", (0, 1), 0, lambda kind: f"class {kind}")
        answer = toy.answer(x, y, label)
        glossary.markdown(
            f"The query is the diamond. The model gives its class the probability **{answer.factual.probability:.3f}** "
            f"without your point, **{answer.exact.probability:.3f}** with it, and the linearised answer says "
            f"**{answer.linearised.probability:.3f}**.")
        glossary.caption("Circles are class 0, squares class 1; your point has a ring.")
    with right:
        points, lines = _points(x, y, label), _lines(answer)
        draw(charts.plane, points, lines, toy.SIDE, key="learn:plane",
             alt=f"Two classes in the plane with three decision boundaries; the moved point of class {label} is at "
                 f"({x:.1f}, {y:.1f}).")
        downloads.chart_extras("plane", lines, command=(
            f'python -c "from engine.applications.lessons.toy import answer; print(answer({x}, {y}, {label}))"'))
    glossary.html(f'<div class="wf-takeaway" role="note"><strong>Take away</strong> {escape(TAKEAWAY)}</div>')
    st.page_link("../pages/approximation_error.py", label="Drag the weight α of real examples",
                 icon=":material/arrow_forward:", query_params=specimens.address(panel="alpha"))


def _points(x: float, y: float, label: int) -> pd.DataFrame:
    places, labels = toy.points()
    fixed = pd.DataFrame({"x": places[:, 0], "y": places[:, 1], "kind": [f"class {kind}" for kind in labels],
                          "size": 70})
    query_x, query_y, query_label = toy.QUERY
    return pd.concat([fixed, pd.DataFrame({"x": [query_x, x], "y": [query_y, y], "size": [150, 190],
                                           "kind": [f"query, class {query_label}", f"moved point, class {label}"]})],
                     ignore_index=True)


def _lines(answer: toy.Answer) -> pd.DataFrame:
    models = {"without the point": answer.factual, "exact": answer.exact, "linearised": answer.linearised}
    return pd.DataFrame([{"x": float(end[0]), "y": float(end[1]), "model": name} for name, model in models.items()
                         for end in model.line()], columns=["x", "y", "model"])

"""The button that saves a chart, and what its file says of where it is from."""

import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.results import figures, provenance
from engine.desk import ProblemSource
from engine.scoring import controlled


def page():
    import altair as alt
    import pandas as pd

    from app.charts.draw import draw, plot
    from app.widgets.results import downloads
    from engine.scoring import controlled

    def points(frame):
        return alt.Chart(frame).mark_point().encode(x="value:Q")

    draw(points, pd.DataFrame({"value": [1.0, 2.0]}), alt="Two points: 1 and 2.", key="one")
    cloud = {"type": "scatter3d", "x": [0], "y": [0], "z": [0]}
    plot({"data": [cloud], "layout": {"height": 100}}, "A cloud.", "cloud")
    downloads.chart_extras("points", pd.DataFrame({"value": [1.0]}), [controlled.step_scoring("query_loss", 0.1)],
                           command="python -m engine list", charts=["one"])


@pytest.fixture(scope="module")
def shown():
    at = AppTest.from_function(page, default_timeout=60).run()
    assert not at.exception, at.exception[0].message
    return at


def test_every_chart_has_its_files_and_none_is_written_before_the_click(shown):
    buttons = [button.proto for button in shown.get("download_button")]
    assert [button.label for button in buttons] == ["SVG", "PNG", "PDF", "HTML", "CSV", "Specifications (JSON)"]
    assert all(button.deferred_file_id and not button.url and button.ignore_rerun for button in buttons)


def test_what_stands_below_a_chart_says_where_it_is_from(shown):
    known = shown.session_state["charts:provenance"]
    assert set(known) == {"one"}
    question, version, command = known["one"]()
    assert controlled.step_scoring("query_loss", 0.1).question in question
    assert version == provenance.version() and command == "python -m engine list"


def test_provenance_names_data_and_seeds_and_shortens_many_questions_and_lines():
    scorings = [controlled.step_scoring("query_loss", eta) for eta in (0.1, 0.2, 0.3, 0.4, 0.5)]
    sources = [ProblemSource(n_train=1200, n_queries=60, seed=seed) for seed in (0, 3)]
    first, data, _, *command = provenance.lines(scorings, sources, "\n".join("abcdefgh"))
    assert first.startswith("5 specifications: ") and "η=0.5" in first
    assert data.endswith("1,200 training examples · 60 queries · seeds 0, 3")
    assert command == ["a", "b", "… and 6 more lines beside the chart"]


def test_words_about_question_and_data_stand_between_questions_and_version():
    scoring = controlled.step_scoring("query_loss", 0.1)
    question, about, version, command = provenance.lines([scoring], None, "python -m engine list", ["30 points."])
    assert scoring.question in question and about == "30 points." and version == provenance.version()


@pytest.mark.parametrize(("caption", "name"), [
    ("Kendall tau of 4 specifications: 1,000 candidates", "kendall-tau-of-4-specifications"),
    ("Ranks under 1. query loss · one step η=0.1 and 2. hard margin. All.",
     "ranks-under-1-query-loss-one-step-eta-0.1-and-2-hard-margin"),
    ("1,000 dots by rank under a (horizontal) and b (vertical), query 3", "1000-dots-by-rank-under-a-and-b"),
    ("Kendall’s τ; more", "kendalls-tau"), ("../../etc/passwd <b>", "etc-passwd-b"), ("影響", "figure")])
def test_a_file_is_named_after_its_caption(caption, name):
    assert figures.named(caption) == name
    assert len(figures.named(caption * 20)) <= figures.LONGEST

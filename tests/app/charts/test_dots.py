import pandas as pd
import plotly.graph_objects as go
import pytest

from app.charts import dots, ink

ORDER = ["first", "second", "absent"]
POINTS = pd.DataFrame({"row": [7, 3, 5, 9], "x": [1.0, 2.0, 3.0, 4.0], "y": [4.0, 3.0, 2.0, 1.0],
                       "z": [0.0, 1.0, 2.0, 3.0], "series": ["second", "first", "second", "second"],
                       "text": ["a", "b", "c", "d"]})


@pytest.mark.parametrize("build, axes", [(dots.plane, ("x", "y")), (dots.space, ("x", "y", "z"))])
def test_plotly_takes_the_figure_and_each_series_is_a_trace_with_its_count(build, axes):
    figure = go.Figure(build(POINTS, ORDER, axes, group=(3, 9), example=5))  # raises for what Plotly does not know
    assert [trace.name for trace in figure.data[:2]] == ["first (1)", "second (3)"]
    ring = figure.data[2]
    assert len(figure.data) == 3 and (ring.x[0], ring.y[0]) == (3.0, 2.0) and ring.hoverinfo == "skip"


def test_the_group_is_what_is_selected():
    found = dots.plane(POINTS, ORDER, ("x", "y"), group=(3, 9))["data"]
    assert [trace["selectedpoints"] for trace in found] == [[0], [2]]
    assert "selectedpoints" not in dots.plane(POINTS, ORDER, ("x", "y"))["data"][0]


def test_rows_of_what_the_browser_says_was_selected():
    said = [{"curve_number": 1, "point_index": 2}, {"curve_number": 0, "point_number": 0},
            {"curve_number": 2, "point_index": 0}, {"curve_number": 1, "point_index": 3}, {}]
    assert dots.rows(POINTS, ORDER, said) == [9, 3]


def test_thousands_of_dots_are_drawn_by_the_graphics_card():
    many = pd.concat([POINTS] * (dots.SVG_UP_TO // 4 + 1), ignore_index=True)
    assert {trace["type"] for trace in dots.plane(many, ORDER, ("x", "y"))["data"]} == {"scattergl"}
    assert {trace["type"] for trace in dots.plane(POINTS, ORDER, ("x", "y"))["data"]} == {"scatter"}


def test_a_value_colours_dots_on_a_scale_around_zero():
    figure = dots.plane(POINTS.assign(value=[-2.0, 1.0, 2.0, 2.0]), ORDER, ("x", "y"))
    axis = figure["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (-2.0, 2.0) and axis["colorscale"] == ink.DIVERGING
    assert all(trace["marker"]["coloraxis"] == "coloraxis" for trace in figure["data"])


def test_what_dots_say_is_no_html():
    assert dots.said("<a href=x>", "b") == "&lt;a href=x&gt;<br>b"
    hostile = POINTS.assign(series="<b>x</b>")
    assert dots.plane(hostile, ["<b>x</b>"], ("x", "y"))["data"][0]["name"] == "&lt;b&gt;x&lt;/b&gt; (4)"


def test_more_series_than_hues_differ_in_their_symbols():
    names = [str(number) for number in range(10)]
    points = pd.DataFrame({"row": range(10), "x": 0.0, "y": 0.0, "series": names, "text": names})
    looks = [trace["marker"] for trace in dots.plane(points, names, ("", ""))["data"]]
    assert len({(look["color"], look["symbol"]) for look in looks}) == 10

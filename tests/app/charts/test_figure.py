"""A chart as a file: light, square where it is square, with caption and provenance inside."""

import altair as alt
import pandas as pd
import pytest

from app.charts import figure, flat_dots, ink, palette

LINES = ["query loss: What if?", "Digits · 400 training examples · 60 queries · seeds 0, 1", "whichfluence 1.0",
         "python -m engine compare --data problem.npz --specs agreement-specs.json --out agreement.csv"]
CAPTION = "Rank against rank, 20 candidates; τ = −0.3. " * 4


def chart(**properties):
    frame = pd.DataFrame({"a": range(20), "b": range(20), "row": "first"})
    return alt.Chart(frame).mark_point().encode(x="a:Q", y="b:Q", color="row:N").properties(height=200, **properties)


@pytest.fixture(scope="module")
def captioned():
    return figure.captioned(figure.specification(chart()), CAPTION, LINES)


@pytest.mark.parametrize(("form", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_each_form_is_written(captioned, form, begins):
    assert figure.FORMS[form][1](captioned).startswith(begins)


def test_caption_and_provenance_stand_in_the_picture(captioned):
    svg = figure.FORMS["svg"][1](captioned).decode()
    for words in ("τ = −0.3", "What if?", "seeds 0, 1", "whichfluence 1.0", "--out agreement.csv"):
        assert words in svg
    assert max(map(len, captioned["title"]["text"] + captioned["title"]["subtitle"])) * figure.LETTERS <= 800


def test_colours_are_those_of_the_light_theme(captioned):
    svg = figure.FORMS["svg"][1](captioned).decode()
    assert palette.theme("light")["chartCategoricalColors"][0].lower() in svg.lower()
    assert f'fill="{palette.theme("light")["backgroundColor"].lower()}"' in svg.lower().replace("white", "#ffffff")


def test_a_square_chart_is_as_wide_as_high_and_loses_what_fits_it_to_a_page():
    square = figure.light(figure.specification(chart(usermeta=figure.SQUARE, autosize="fit-x")))
    assert square["width"] == square["height"] == 200 and "autosize" not in square
    assert figure.light(figure.specification(chart()))["width"] == figure.WIDTH


def test_words_of_a_turned_figure_are_text():
    page = figure.page("<div></div>", "<b>all</b>", ["<i>data</i>"])
    assert "&lt;b&gt;all&lt;/b&gt;" in page and "&lt;i&gt;" in page and "<i>" not in page


def test_numbers_of_colours_become_colours():
    light = palette.theme("light")
    given = {"color": [ink.tone(ink.ACCENT), ink.SEQUENTIAL[0][1], ink.SEQUENTIAL[9][1], ink.DIVERGING[0][1]], "x": 1}
    ramp = light[palette.SEQUENTIAL]
    assert ink.light(given) == {"x": 1, "color": [light["chartCategoricalColors"][ink.ACCENT], ramp[0], ramp[9],
                                                  light[palette.DIVERGING][0]]}


@pytest.mark.parametrize("more", [{}, {"value": [-1.0, 0.0, float("nan"), 2.0]}])
def test_dots_in_a_file_are_square_and_keep_their_series(more):
    points = pd.DataFrame({"row": range(4), "x": [1.0, 2, 3, 4], "y": [4.0, 3, 2, 1], "series": ["a", "b", "a", "b"],
                           "text": "", **more})
    spec = figure.light(figure.specification(flat_dots.plane(points, ["a", "b"], ("one", "other"), (1,), 2, 4.0, "b")))
    assert spec["width"] == spec["height"]
    assert figure.FORMS["svg"][1](spec).decode().count('aria-roledescription="point"') == 5  # the ring is one

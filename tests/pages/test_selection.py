"""One selection: what is chosen in the dots, in the fields or in a list is chosen everywhere."""

from app.widgets.examples import selection
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.desk import datasets
from engine.problems import ProblemSource
from tests.pages.support import open, says, select, sound

SOURCE = ProblemSource(dataset="digits", n_train=60, n_queries=12, n_candidates=8)
SMALL = {"data": "digits", "train": 60, "queries": 12, "candidates": 8, "nseeds": 1}


def compare(**more):
    return sound(open("compare", **{**SMALL, **specification_list.address("vary-b"), **more}))


def said(at, name):
    found = at.query_params.get(name)
    return found[0] if isinstance(found, list) else found


def turn(at, page):
    """To another page, whose address is its own."""
    at.query_params.clear()
    at.switch_page(f"../pages/{page}.py").run()
    return sound(at)


def mark(at, curve, *places, lasso=False):
    """As if the reader had clicked dots of a series, or drawn a lasso around them."""
    drawn = at.session_state["compare:dots:drawn"]
    points = [{"curve_number": curve, "point_index": place} for place in places]
    at.session_state[f"compare:dots:{drawn.content}:{drawn.number}"] = {"selection": {
        "points": points, "point_indices": list(places), "box": [], "lasso": [{}] if lasso else []}}
    return sound(at.run())


def test_a_clicked_dot_opens_its_card_and_stays_chosen_on_examples():
    at = mark(compare(ranks=2), 0, 0)
    row = said(at, "example")
    assert says(at, f"{row} (row ") and says(at, "Why this score?") and says(at, "Rank 1 supports the behavior")
    assert at.number_input(key="selection:example").value == int(row)
    assert says(turn(at, "examples"), f"{row} (row ")


def test_without_a_query_the_card_ranks_the_mean_score():
    assert says(compare(example=5), "Ranks of the mean score over all 12 queries")


def test_a_lasso_makes_a_group_and_a_double_click_lets_it_go():
    at = mark(compare(), 0, 0, 1, 2, lasso=True)
    drawn = at.session_state["compare:dots:drawn"]
    assert len(said(at, "group").split(",")) <= 3 and says(at, "Group of 3:")
    assert at.session_state["compare:dots:drawn"].number == drawn.number  # the chart stays as Plotly shows it
    assert not says(mark(at, 0), "Group of") and "group" not in at.query_params


def test_the_fields_choose_too_and_refuse_nonsense():
    at = compare()
    at.text_input(key="selection:group").set_value("3, 10-12").run()
    assert said(at, "group") == "3,10-12" and says(sound(at), "Group of 4:")
    at.text_input(key="selection:group").set_value("three").run()
    assert says(at, "matches no training example") and said(at, "group") == "3,10-12"
    at.text_input(key="selection:group").set_value("label = 7 & 0-30").run()
    rows = [row for row in range(31) if desk().sample(SOURCE)[1].y_train[row] == 7]
    assert said(at, "group") == selection.written(rows) and says(sound(at), f"Group of {len(rows)}:")
    at.number_input(key="selection:example").set_value(7).run()
    assert said(at, "example") == "7" and says(sound(at), "7 (row ")
    at.button(key="selection:clear").click().run()
    assert not {"group", "example"} & set(at.query_params) and not says(sound(at), "Group of")


def test_other_data_forget_what_was_selected():
    at = compare(group="3-5", example=4)
    at.selectbox(key="choice:data").set_value("fashion_mnist").run()
    assert not {"group", "example"} & set(at.query_params)


def test_axes_and_colours_are_chosen_and_the_density_has_no_dots():
    at = compare(plane="density")
    assert "compare:dots:drawn" not in at.session_state and len(at.get("vega_lite_chart")) == 2
    at = compare(plane="scores", hue="label")
    assert said(at, "plane") == "scores" and at.session_state["compare:dots:drawn"].number == 0


def test_the_query_of_examples_is_the_query_of_compare():
    at = compare(ranks=5)
    assert says(turn(at, "examples"), "<strong>Query 5</strong>")
    at.button(key="query:3").click().run()
    assert turn(at, "compare").selectbox(key="choice:ranks").value == "3"


def test_a_dot_of_the_slope_chart_is_chosen_once():
    at = select(compare(detail="top"), "compare:changes", "chosen", {"example": 7})
    assert said(at, "example") == "7"
    at.button(key="selection:clear").click().run()
    assert said(sound(at), "example") is None


def test_examples_shows_the_group_and_marks_it_in_the_table():
    at = sound(open("examples", **{**SMALL, **specification_list.address("vary-b"), "group": "3,5"}))
    assert says(at, "Group of 2:")
    table = next(frame.value for frame in at.dataframe if "in the group" in frame.value)
    assert set(table["training example"][table["in the group"]]) == {3, 5}


def test_the_sample_zip_is_brought_like_ones_own(home):
    at = sound(open("compare", **SMALL))
    sound(at.button(key="upload:sample").click().run())
    assert said(at, "data").startswith("upload-") and datasets.SAMPLE_ZIP in at.selectbox(key="choice:data").options


def test_a_group_of_another_address_is_told_by_the_field():
    at = compare(group="3-5")
    at.query_params["group"] = "7"
    assert sound(at.run()).text_input(key="selection:group").value == "7" and says(at, "Group of 1:")

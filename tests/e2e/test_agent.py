"""The dashboard driven by a program, through Streamlit's agent interface and the functions of its guide."""

import json
import re
import tomllib
import urllib.error
import urllib.request

import pytest

from app.guide import data
from tests.guides.test_blocks import snippets

pytestmark = pytest.mark.e2e
GUIDE = data.FOLDER / "agents.md"
STEP = "query_loss/add_occurrence/one_step;eta=0.1"
TWINS = {"compare:heatmap": ("compare:first", "compare:second"),
         "compare:dots": ("selection:example", "selection:group"),
         "compare:changes": ("selection:example",)}
"""A chart that takes clicks, by the beginning of its key -> the inputs that do the same."""


@pytest.fixture(scope="module")
def guide(server):
    """The names that the guide's Python defines, for the server of the tests."""
    names = {}
    for snippet in snippets(GUIDE):
        if snippet.language == "python":
            exec(snippet.code, names)
    names["ADDRESS"] = f"{server}/_stcore/agent/interact"
    return names


@pytest.fixture(scope="module")
def compared(guide):
    """Compare with its first look computed."""
    return guide["opened"]("compare:first", page="compare", query_params={
        "s": [STEP, STEP.replace("loss", "logit")], "data": ["digits"], "train": ["200"], "queries": ["10"],
        "candidates": ["40"]})


@pytest.mark.parametrize(("second", "said"), [
    ("hard_margin/add_occurrence/one_step;eta=0.1", "the behavior differs"),
    ("query_loss/add_occurrence/one_step;eta=0.5", "training process differs")])
def test_the_guide_compares_two_questions(guide, second, said):
    assert said in re.sub("<[^>]*>", "", guide["verdict"](STEP, second))


def test_every_chart_of_compare_has_its_table(guide, compared):
    """Behind each chart, before the next one."""
    order = [part["type"] for part in guide["elements"](compared["tree"]) if part["type"] in
             ("vega_lite_chart", "plotly_chart", "dataframe")]
    charts = [place for place, kind in enumerate(order) if kind != "dataframe"]
    assert charts and all(order[place + 1:place + 2] == ["dataframe"] for place in charts)
    tables = [part["data"] for part in guide["elements"](compared["tree"]) if part["type"] == "dataframe"]
    assert all(table["complete"] or table["url"] for table in tables)


def test_every_chart_that_takes_clicks_has_inputs_that_do_the_same(guide, compared):
    keys = {action["key"] for action in compared["actions"]}
    clicked = [part["key"] for part in guide["elements"](compared["tree"])
               if part["type"] in ("vega_lite_chart", "plotly_chart") and part.get("support") == "action_unsupported"]
    assert clicked
    for key in clicked:
        twins = next(inputs for chart, inputs in TWINS.items() if key.startswith(chart))
        assert set(twins) <= keys


def test_a_training_example_is_chosen_and_stays_in_the_address(guide, compared):
    page = guide["interact"](session_id=compared["session_id"], widget_state={"selection:example": 3})
    assert page["status"] == "ready" and page["query_params"]["example"] == ["3"]


def test_it_is_off_unless_it_is_asked_for():
    root = data.FOLDER.parents[1]
    assert "enableAgentApi" not in tomllib.loads((root / ".streamlit" / "config.toml").read_text())["server"]
    assert "$(if $(AGENT),-- --server.enableAgentApi true)" in (root / "Makefile").read_text()


def test_a_web_page_is_refused(guide, server):
    asked = urllib.request.Request(guide["ADDRESS"], json.dumps({}).encode(), {
        "Content-Type": "application/json", "Origin": "http://example.org"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=30)
    assert refused.value.code == 403

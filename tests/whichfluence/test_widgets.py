"""A comparison's chart with controls: what it holds, as Vega-Lite compiles it, and the widget around it."""

import altair as alt
import pytest
import vl_convert

import whichfluence as wf

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
NAMES = ["it's a \"step\"", "first", "logit"]


@pytest.fixture(scope="module")
def agreement():
    problem = wf.draw("digits", n_train=120, n_queries=3, n_candidates=60)
    logit = wf.Specification("query_logit", STEP.intervention, STEP.process)
    return wf.compare(wf.influence(problem, dict(zip(NAMES, (STEP, STEP.by("first_order"), logit), strict=True))))


def test_the_bars_of_a_query_are_the_ends_of_its_ranking(agreement):
    spec = agreement.explore(k=4).to_dict()
    controls = {one["name"]: one for one in spec["params"]}
    assert (controls["query"]["value"], controls["query"]["bind"]["max"], controls["k"]["value"]) == (0, 2, 4)
    assert controls["cell"]["bind"]["row"]["labels"] == NAMES and controls["cell"]["value"] == [{"row": 0, "column": 1}]
    rows = [row for row in spec["hconcat"][1]["data"]["values"] if (row["query"], row["row"]) == (2, 1)]
    own = agreement.scores["first"]
    for end, supporting in (("best", True), ("worst", False)):
        shown = [row["candidate"] for row in sorted(rows, key=lambda row: row[end]) if row[end] < 4]
        assert shown == own.top(2, 4, supporting=supporting).candidate.tolist()


def test_it_compiles_and_shows_the_first_pair(agreement):
    vega = vl_convert.vegalite_to_vega(agreement.explore().to_json())
    menus = {signal["name"]: signal["bind"] for signal in vega["signals"] if "bind" in signal}
    assert {"query", "k", "cell_row", "cell_column"} <= set(menus)
    drawn = vl_convert.vegalite_to_svg(agreement.explore(k=2).to_json())
    assert "it's a" in drawn and "first" in drawn


def test_too_much_for_one_chart(agreement, monkeypatch):
    with pytest.raises(wf.InvalidInput, match="choose one from 1 to 25"):
        agreement.explore(k=26)
    monkeypatch.setattr("whichfluence.widgets.MOST_ROWS", 10)
    with pytest.raises(wf.InvalidInput, match="would hold 450 bars"):
        agreement.explore()


def test_a_widget_needs_anywidget(agreement, monkeypatch):
    def absent(_chart):
        raise ImportError("anywidget")

    monkeypatch.setattr(alt, "JupyterChart", absent)
    with pytest.raises(wf.InvalidInput, match="needs anywidget"):
        agreement.widget()


def test_the_widget_tells_what_is_chosen(agreement):
    pytest.importorskip("anywidget", reason="anywidget is not installed: pip install '.[notebook]'")
    shown = agreement.widget(k=3)
    assert (shown.params.query, shown.params.k) == (0, 3)
    assert {"cell", "candidate"} <= set(shown.selections.trait_names())

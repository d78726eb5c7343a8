import pytest

from app.widgets.jobs.desk import desk
from engine.analysis.self_influence import self_influence
from engine.desk import Desk
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.glossary import TERMS
from engine.scoring import codes, controlled
from engine.scoring.compute import compute
from tests.pages.support import open, says, sound, texts

pytestmark = pytest.mark.core

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
STEP, LOGIT = (codes.encode(controlled.step_scoring(name, 0.1)) for name in ("query_loss", "query_logit"))
MARGIN = codes.encode(controlled.step_scoring("hard_margin", 0.3))
LOO = codes.encode(controlled.removal_scoring("n-1"))


def address(at, name):
    """The values of one address parameter, as a list."""
    value = at.query_params[name]
    return value if isinstance(value, list) else [value]


def cards(at):
    return [text for text in texts(at) if 'class="wf-example"' in text and 'class="ranks"' in text]


def test_three_columns_of_cards_without_a_choice():
    at = sound(open("examples", **SMALL))
    assert len(cards(at)) == 3 * 2 * 6
    assert says(at, "Column 3") and says(at, "Top 6")


def test_the_selection_of_compare_is_taken_over():
    at = sound(open("examples", s=[STEP, LOGIT], n=5, **SMALL))
    assert len(cards(at)) == 2 * 2 * 5
    assert address(at, "s") == [STEP, LOGIT]
    assert says(at, "60 candidates")


def test_re_optimisation_narrows_the_candidates_of_all():
    at = sound(open("examples", s=[STEP, LOO], n=5, **SMALL))
    assert says(at, "exact · 8 candidates")


def test_a_fourth_specification_shows_in_the_detail_only():
    at = sound(open("examples", s=[STEP, LOGIT, LOO, MARGIN], **SMALL))
    assert says(at, "1 more specifications have no column")
    assert not says(at, "wf-detail")
    row = next(button for button in at.button if button.key.startswith("open:top:0:")).key.rpartition(":")[2]
    at = sound(open("examples", s=[STEP, LOGIT, LOO, MARGIN], example=row, **SMALL))
    table = next(text for text in texts(at) if 'class="wf-detail"' in text)
    assert table.count("<tr>") == 1 + 4 and "of 8" in table


def test_choosing_a_query_moves_it_into_the_address():
    at = sound(open("examples", s=[STEP], **SMALL))
    at.button(key="query:7").click().run()
    assert address(sound(at), "query") == ["7"]
    assert says(at, "<strong>Query 7</strong>")


def test_fields_that_were_not_applied_say_what_the_column_shows_once_another_query_is_chosen():
    at = sound(open("examples", s=[STEP], **SMALL))
    field = f"column:0:{STEP}:B"
    at.selectbox(key=field).set_value("hard_margin").run()
    assert at.selectbox(key=field).value == "hard_margin"
    at.button(key="query:7").click().run()
    assert sound(at).selectbox(key=field).value == "query_loss"
    assert not [caption for caption in at.caption if "strongest rival" in caption.value]


def test_misclassified_only():
    at = sound(open("examples", s=[STEP], misclassified=1, **SMALL))
    shown = [button.key for button in at.button if button.key.startswith("query:")]
    everything = sound(open("examples", s=[STEP], **SMALL))
    assert 0 < len(shown) < len([button for button in everything.button if button.key.startswith("query:")])
    gallery = [text for text in texts(at) if 'class="wf-example"' in text and 'class="ranks"' not in text]
    assert all("✗" in text for text in gallery)


def test_a_query_that_the_filter_leaves_out_gives_way_to_the_first_that_it_keeps():
    at = sound(open("examples", s=[STEP], misclassified=1, **SMALL))
    kept = [button.key.removeprefix("query:") for button in at.button if button.key.startswith("query:")]
    right = next(str(place) for place in range(20) if str(place) not in kept)
    at = sound(open("examples", s=[STEP], query=right, **SMALL))
    at.toggle(key="choice:misclassified").set_value(True).run()
    assert address(sound(at), "query") == [kept[0]] and says(at, f"<strong>Query {kept[0]}</strong>")


def test_opening_a_card_shows_the_example_everywhere():
    at = sound(open("examples", s=[STEP, LOGIT], **SMALL))
    opener = next(button for button in at.button if button.key.startswith("open:bottom:1:"))
    opener.click().run()
    assert address(sound(at), "example") == [opener.key.rpartition(":")[2]]
    assert says(at, "p(label)") and says(at, "of 60")


def test_a_column_is_removed_and_added():
    at = sound(open("examples", s=[STEP, LOGIT], **SMALL))
    at.button(key="drop:1").click().run()
    assert address(sound(at), "s") == [STEP]
    at.button(key="add:0").click().run()
    assert len(address(sound(at), "s")) == 2


def test_a_column_is_changed():
    at = sound(open("examples", s=[STEP, LOGIT], **SMALL))
    at.selectbox(key=f"column:0:{STEP}:B").set_value("probability").run()
    at.button(key="apply:0").click().run()
    changed = codes.encode(controlled.step_scoring("probability", 0.1))
    assert address(sound(at), "s") == [changed, LOGIT]


@pytest.mark.parametrize("name, value", [("query", "999"), ("query", "x"), ("n", "100"), ("example", "59999"),
                                         ("example", "-3"), ("s", "nonsense"), ("misclassified", "perhaps"),
                                         ("page", "0")])
def test_nonsense_is_ignored_with_a_message(name, value):
    at = sound(open("examples", **{**SMALL, name: value}))
    assert says(at, "which was ignored")
    assert len(cards(at)) > 0


def test_page_beyond_the_last_shows_the_last():
    at = sound(open("examples", s=[STEP], page=900, **SMALL))
    assert says(at, "17–20 of 20")


def test_table_and_commands_of_the_ranking():
    at = sound(open("examples", s=[STEP, LOO], query=3, **SMALL))
    assert any("row 3 of each scores array" in code.value and "export-problem" in code.value for code in at.code)
    assert any("rank: 1" in " ".join(map(str, frame.value.columns)) and len(frame.value) == 8
               for frame in at.dataframe)


def test_self_influence_is_the_engines_and_opens_in_detail():
    at = sound(open("examples", s=[STEP, LOGIT], n=5, self=1, selfspec=2, **SMALL))
    problem = ProblemSource(n_train=60, n_queries=20, n_test=500).build().problem
    values = self_influence(problem, codes.decode(LOGIT))
    table = next(frame.value for frame in at.dataframe if "self-influence" in frame.value.columns)
    assert table["self-influence"].tolist() == pytest.approx(sorted(values, reverse=True))
    largest = int(problem.candidates[values.argmax()])
    assert table["training example"][0] == largest and "p(label)" in table.columns
    assert next(toggle for toggle in at.toggle if toggle.key == "choice:self").help.endswith(TERMS["self-influence"])
    assert any("engine self-influence" in code.value for code in at.code)
    opened = [button for button in at.button if button.key.startswith("open:self:")]
    assert len(opened) == 5 and opened[0].key == f"open:self:{largest}"
    sound(opened[0].click().run())
    assert address(at, "example") == [str(largest)] and says(at, "wf-detail")


def test_a_slow_self_influence_is_a_job(home, monkeypatch):
    monkeypatch.setattr("engine.scoring.cost.guess", lambda scorings, problem, candidates: 1e3)
    monkeypatch.setattr(Desk, "scores", lambda desk, source, scorings, count: [
        compute(source.build().problem.with_candidates(source.build().problem.candidates[:count]), one)[0]
        for one in scorings])
    shown = {"s": [LOO], "n": 5, "self": 1, **SMALL}
    at = sound(open("examples", **shown))
    assert says(at, "Self-influence of 8 candidates") and any(button.label == "Cancel" for button in at.button)
    run_job("self-influence", desk().jobs.queue.jobs()[0].payload, home)
    at = sound(open("examples", **shown))
    table = next(frame.value for frame in at.dataframe if "self-influence" in frame.value.columns)
    problem = ProblemSource(n_train=60, n_queries=20, n_test=500).build().problem
    expected = self_influence(problem.with_candidates(problem.candidates[:8]), codes.decode(LOO))
    assert table["self-influence"].tolist() == pytest.approx(sorted(expected, reverse=True), rel=1e-6)

from app.widgets.words import chips
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
MARGIN = Scoring.of("hard_margin", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
TANGENT = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")


def test_three_chips_with_their_letters():
    text = chips.html(STEP)
    assert [text.count(f'wf-chip {axis}"') for axis in "BPT"] == [1, 1, 1]
    assert "differs" not in text and "wf-chip E" not in text


def test_the_differing_chip_stands_out():
    text = chips.html(MARGIN, STEP)
    assert "wf-chip B differs" in text and "wf-chip P same" in text and "wf-chip T same" in text


def test_the_estimator_has_a_chip_where_it_matters():
    assert "wf-chip E" in chips.html(TANGENT)
    assert "wf-chip E differs" in chips.html(STEP, TANGENT)


def test_axes_that_vary_in_a_list():
    assert chips.differing([STEP, MARGIN, TANGENT]) == ("B", "E")
    assert chips.differing([STEP, STEP]) == ()


def test_the_differing_words_of_a_question_are_marked():
    text = chips.sentence(MARGIN, STEP)
    assert f'<mark class="wf-mark B">{MARGIN.readout.clause.replace(chr(39), "&#x27;")}</mark>' in text
    assert text.count("<mark") == 1
    assert "<mark" not in chips.sentence(STEP, TANGENT)


def test_text_is_escaped_and_code_is_code(monkeypatch):
    said = []
    monkeypatch.setattr(chips.glossary.st, "html", said.append)
    found = verdict(STEP, TANGENT)
    chips.verdict_badge(found.__class__(found.kind, (), "a < b", "use `exact` & <b>"))
    assert "a &lt; b" in said[0] and "<code>exact</code> &amp; &lt;b&gt;" in said[0]

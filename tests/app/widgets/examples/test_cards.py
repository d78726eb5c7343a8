import json
import math

import numpy as np
import pytest

from app.examples import data as example_data
from app.widgets.examples import cards, example_card, predictions, sampled_examples, table_rows
from engine.data import uploads
from engine.data.unusual import Cell
from engine.problems import ProblemSource
from engine.scoring import controlled
from engine.scoring.compute import compute

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def drawn():
    return ProblemSource(n_train=60, n_queries=12, n_test=20, seed=3).build()


@pytest.fixture(scope="module")
def found(drawn):
    return compute(drawn.problem, [controlled.step_scoring("query_loss", 0.1),
                                   controlled.step_scoring("query_logit", 0.1)])


@pytest.mark.parametrize("score, text, effect", [
    (1.234e-5, "+1.23e−5", "▲ helps"), (-0.5, "−0.5", "▼ harms"), (0.0, "+0", "● neither"),
    (12345.0, "+1.23e4", "▲ helps"), (math.nan, "no score", "● neither"),
])
def test_a_score_is_shown_with_sign_and_effect(score, text, effect):
    assert cards.number(score) == text
    assert cards.effect(score)[1] == effect


def test_class_names_are_escaped_everywhere():
    pieces = [cards.ranked("", HOSTILE, [1, 2], 0, 0.5, 1.0, True, mark=HOSTILE),
              cards.query("", HOSTILE, HOSTILE + "!"),
              cards.chosen_query("", 0, HOSTILE, HOSTILE + "!", HOSTILE), cards.facts([("label", HOSTILE)]),
              table_rows.cells_html([Cell(HOSTILE, HOSTILE, 4.0, True)], HOSTILE)]
    for piece in pieces:
        assert "<img" not in piece and "&lt;img" in piece
        assert 'onerror="' not in piece


def test_a_card_shows_ranks_bar_and_mark():
    card = cards.ranked("P", "cat", [7, 0, 1200], 0, -0.25, 0.5, True)
    assert '<span class="own">7</span> · – · 1200' in card
    assert "width:50%" in card and "▼ harms" in card and "only here" in card
    assert "only here" not in cards.ranked("P", "cat", [7], 0, -0.25, 0.5, False)
    assert "width:0%" in cards.ranked("P", "cat", [7], 0, 0.0, 0.0, False)


def test_cells_are_cut_with_a_count_and_unusual_ones_marked():
    cells = [Cell("age", "0.5", -4.125, True), Cell("town", "Ely", math.nan, False), Cell("height", "2", 0.1, False)]
    table = table_rows.cells_html(cells, "an example", shown=2)
    assert table.count('<th scope="row">') == 2 and "1 more" in table and 'aria-label="an example"' in table
    assert table.count('class="unusual"') == 1 and 'title="−4.1">0.5<' in table
    assert "more" not in table_rows.cells_html(cells[:2], "an example", shown=2)


def test_queries_carry_label_prediction_and_probability(drawn):
    listed = sampled_examples.queries(drawn)
    logits = drawn.problem.queries @ drawn.problem.weights
    assert [query.predicted for query in listed] == [str(int(p)) for p in logits.argmax(-1)]
    assert [query.label for query in listed] == [str(label) for label in drawn.sample.y_query]
    assert sum(query.right for query in listed) == round(12 * drawn.problem.accuracy())


def test_columns_hold_the_ends_with_ranks_under_all(drawn, found):
    columns = example_data.columns(drawn, found, 2, 5)
    values = found[0].oriented[2]
    assert [card.row for card in columns[0].top] == found[0].candidates[np.argsort(-values)[:5]].tolist()
    assert [card.row for card in columns[0].bottom] == found[0].candidates[np.argsort(values)[:5]].tolist()
    assert [card.ranks[0] for card in columns[0].top] == [1, 2, 3, 4, 5]
    assert [card.ranks[1] for card in columns[1].bottom] == [60, 59, 58, 57, 56]
    assert columns[0].high == values.max() and columns[0].largest == np.abs(values).max()
    others = {card.row for card in columns[1].top}
    assert [card.once for card in columns[0].top] == [card.row not in others for card in columns[0].top]


def test_removal_is_oriented_so_that_helpers_are_on_top(drawn):
    few = drawn.problem.with_candidates(drawn.problem.candidates[:8])
    scores = compute(few, controlled.removal_scoring("n-1"))
    top = example_data.columns(drawn, scores, 0, 1)[0].top[0]
    assert top.score == -scores[0].values[0].min()


def test_what_did_not_converge_has_no_rank(drawn, found):
    from dataclasses import replace

    flags = np.ones(60, dtype=bool)
    flags[7] = False
    broken = [replace(found[0], converged=flags), found[1]]
    column = example_data.columns(drawn, broken, 0, 60)[0]
    assert column.scored == 59 and len(column.top) == 59
    row = int(found[0].candidates[7])
    place, total, score = example_card.details(broken, 0, row)[0]
    assert (place, total) == (0, 59) and math.isnan(score)
    assert "–" in cards.detail_rows([("", True, place, total, score)])


def test_a_baseline_neither_helps_nor_harms():
    for text in (cards.ranked("P", "cat", [7], 0, -0.25, 0.5, False, directed=False),
                 cards.detail_rows([("", False, 1, 3, -0.25)])):
        assert "baseline" in text and "harms" not in text and "helps" not in text


def test_the_table_has_every_candidate_once(drawn, found):
    table = example_data.table(drawn, found, ["a", "b"], 4)
    assert sorted(table["training example"]) == list(range(60))
    assert table["rank: a"].tolist() == list(range(1, 61))
    assert table["score: a"].is_monotonic_decreasing
    assert sorted(table["rank: b"]) == list(range(1, 61))


def test_pictures_have_a_text_alternative_and_arrays_a_table(drawn):
    assert 'alt="training example 4, label' in sampled_examples.train_html(drawn, 4, 64)
    from dataclasses import replace

    plain = replace(drawn, dataset=replace(drawn.dataset, image_shape=None))
    assert "<table" in sampled_examples.train_html(plain, 4, 64)


def test_nothing_is_predicted_of_a_record_without_an_answer(tmp_path, monkeypatch):
    """Cards said that the model predicted another choice, where none was stated."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    stated = [{}, {"answer": "A"}, {"answer": "A", "choices": ["A", "B"]}]
    (tmp_path / "own.jsonl").write_text("\n".join(json.dumps(
        {"prompt": f"Is {k} even? (A) yes (B) no", "response": "The answer is A.", **stated[k % 3]}) for k in range(8)))
    source = ProblemSource(dataset=uploads.keep_path(tmp_path / "own.jsonl"), model="World-0.4M", n_train=6,
                           n_queries=1, n_test=1)
    drawn = source.build()
    rows = [int(np.flatnonzero(drawn.sample.train_index == kind)[0]) for kind in range(3)]
    none, alone, contested = predictions.of_training(drawn, rows)
    assert (none.said, none.measure) == ("", predictions.OF_TOKEN) and 0 < none.value < 1
    assert alone.said in ("A", predictions.OTHER) and alone.measure == predictions.OF_ANSWER and 0 < alone.value < 1
    assert contested.said in ("A", predictions.OTHER) and contested.measure == predictions.LEAD
    assert sampled_examples.Query(0, "no answer", none).right
    for card in (cards.query("", "no answer", none.said), cards.chosen_query("", 0, "A", none.said, none.measured),
                 cards.itself("", 1, "A", 1.0, 1.0, none.said, none.measured)):
        assert "predicted" not in card and "✗" not in card

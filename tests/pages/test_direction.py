"""What pages say of a change is read as a referee reads it, beside the probabilities that it is about."""

import json
import re

import pytest
from torch.nn.functional import cross_entropy

from app.learn.lesson import SOURCE
from app.widgets.jobs.desk import desk
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS, reading
from tests import referee
from tests.house.test_direction import untrue
from tests.pages.support import open, revealed, shown, sound, texts

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 12, "nseeds": 1}
STEP, REMOVED = "add_occurrence/one_step;eta=0.5", "remove/reoptimize"
CHANGED = re.compile(r"changes the log-likelihood \(minus the query loss\) by ([+-][\d.e-]+), so the query loss "
                     r"(falls|rises) from ([\d.e+-]+) to ([\d.e+-]+);")


def said(at):
    """Everything a reader sees or hears on a page: texts, hints, alternatives and titles of charts."""
    found = [shown(text) for text in texts(at) if 'class="wf-term"' not in text]  # each stands there without marks, too
    for element in at.get("vega_lite_chart"):
        found += [element.proto.alt_text] if hasattr(element.proto, "alt_text") else []
        found += re.findall(r'"title":\s*"([^"]+)"', json.dumps(json.loads(element.proto.spec), ensure_ascii=False))
    found += [element.proto.help for kind in ("metric", "markdown", "toggle", "selectbox") for element in at.get(kind)
              if getattr(element.proto, "help", "")]
    return found


def fair(at):
    """The page, with nothing on it that gives a loss the sign of its negative."""
    struck = [text for text in said(sound(at)) if untrue(text)]
    assert struck == []
    return at


def test_the_lesson_on_tangents_tells_what_becomes_of_the_loss():
    """The step is taken anew on the parameters: the cross-entropy before and after is what the sentence says."""
    at = fair(revealed(open("learn", step="6", **{"lesson-eta": "0.4"})))
    [found] = [found for text in map(referee.plain, said(at)) if (found := CHANGED.search(text))]
    change, way, before, after = float(found[1]), found[2], float(found[3]), float(found[4])
    assert change == pytest.approx(before - after, abs=5e-3) and (way == "falls") == (change > 0)
    problem = desk().sampled(SOURCE).problem
    losses = cross_entropy(problem.query_logits, problem.query_labels, reduction="none")
    assert (losses - before).abs().min() < 1e-3 * max(1.0, before)  # that of a query, before the step


@pytest.mark.parametrize("step", [2, 5, 9])
def test_lessons_name_the_value_whose_change_they_show(step):
    at = fair(revealed(open("learn", step=str(step), **{"lesson-b": "query_loss"})))
    assert any("log-likelihood (minus the query loss)" in text for text in said(at))


@pytest.mark.parametrize("behavior", [name for name in reading("classes") if BEHAVIORS[name].differentiable])
def test_examples_say_what_helps_and_turn_the_sign_of_a_removal(behavior):
    at = fair(open("examples", s=[f"{behavior}/{STEP}", f"{behavior}/{REMOVED}"], query=3, **SMALL))
    title, notes = BEHAVIORS[behavior].value_title, said(at)
    step, removed = (next(text for text in notes if f"score: change of the {title}" in text and turned == (
        "with the sign flipped" in text)) for turned in (False, True))
    assert step != removed
    assert f"#### Top 6: raise the {title} most, or lower it least" in notes
    assert f"#### Bottom 6: lower the {title} most, or raise it least" in notes
    first = at.button(key=next(button.key for button in at.button if str(button.key).startswith("open:top:1:"))).key
    row = int(first.rsplit(":", 1)[1])
    assert _lost(row, behavior, 3) > 0, "what supports most lowers the behavior when it is left out"


def _lost(row, behavior, query):
    """B(q; θ_D) − B(q; θ without the row), by fitting softmax regression again without it."""
    from engine.problems import SoftmaxProblem

    drawn = desk().sampled(ProblemSource(dataset="digits", n_train=60, n_queries=20, n_test=500, n_candidates=12))
    own = drawn.problem
    kept = [place for place in range(own.n) if place != row]
    again = SoftmaxProblem(own.x[kept], own.y[kept], own.queries, own.query_labels, l2=own.l2, classes=own.classes)
    read = BEHAVIORS[behavior]
    before, after = (read.value(one.query_logits, own.query_labels)[query] for one in (own, again))
    return float(before - after)


def test_compare_says_what_scores_are_and_who_supports():
    at = fair(open("compare", s=[f"query_loss/{STEP}", f"query_loss/{REMOVED}", "query_loss/infinitesimal/"
                                 "local_response"], pair="1-2", **SMALL))
    read = BEHAVIORS["query_loss"]
    scores = [text for text in said(at) if "Scores: " in text]
    assert len(scores) >= 2
    for text in scores:
        assert referee.struck(text[text.index("Scores: "):], read, 1.0) == []
        assert "where it is positive, an example supports the behavior: it raises the log-likelihood" in text


@pytest.mark.parametrize("address", [
    {"page": "map", "shade": "score", "s": [f"query_loss/{REMOVED}"]},
    {"page": "approximation_error", "panel": "eta"}, {"page": "approximation_error", "panel": "alpha", "path": "1"}])
def test_other_pages_name_the_value(address):
    at = fair(open(address.pop("page"), **{**SMALL, **address}))
    assert any("log-likelihood" in text for text in said(at))

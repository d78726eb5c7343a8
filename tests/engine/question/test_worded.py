"""Behaviors that carry a user's words: one spelling each, what they say, where a span stands, and what is refused."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.specification import Specification
from engine.question.worded import LONGEST, BaseDivergence, Contrast, LogOdds, Span, TokenRange, read
from engine.question.worded_behaviors import KINDS, placed
from engine.scoring.codes import decode, encode
from engine.scoring.scoring import Scoring

ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
SPELLED = {
    "span:no lungs": Span("no lungs"),
    "span@4:a/b; 50%": Span("a/b; 50%", 4),
    "contrast": Contrast(),
    "contrast#2": Contrast("", 2),
    "contrast@0#3": Contrast("", 3, 0),
    "contrast:I do not know.": Contrast("I do not know."),
    "contrast@12:two\nlines: a#2": Contrast("two\nlines: a#2", 1, 12),
    "tokens@4:2-7": TokenRange(4, 2, 7),
    "tokens@0:3": TokenRange(0, 3, 3),
    "log_odds": LogOdds(),
    "base_kl": BaseDivergence(),
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_spelling_is_read_and_written_again(name):
    assert read(name) == SPELLED[name]
    assert SPELLED[name].spelling == BEHAVIORS[name].name == name
    assert name in BEHAVIORS and name not in list(BEHAVIORS)


@pytest.mark.parametrize("name", SPELLED)
@pytest.mark.parametrize("estimator", ["exact", "first_order"])
def test_words_are_part_of_identity_code_and_json(name, estimator):
    scoring = Scoring.of(name, ADD, STEP, estimator)
    assert decode(encode(scoring)) == scoring
    assert encode(scoring).count("/") == (2 if estimator == "exact" else 3)
    assert "\n" not in encode(scoring)
    assert Scoring.read(scoring.canonical()) == scoring
    assert len({Scoring.of(other, ADD, STEP, estimator).digest for other in SPELLED}) == len(SPELLED)


def test_the_longest_words_fit_into_a_code():
    scoring = Scoring.of(f"contrast:{'%' * LONGEST}", ADD, STEP)
    assert decode(encode(scoring)) == scoring


def test_one_spelling_for_one_meaning():
    for written, kept in (("span:  no \n lungs ", "span:no lungs"), ("contrast#1", "contrast"),
                          ("contrast: yes ", "contrast:yes"), ("span@04:a", "span@4:a"),
                          ("tokens@04:2-2", "tokens@4:2")):
        assert Specification.of(written, ADD, STEP).behavior == kept


def test_registered_behaviors_stay_what_they_were():
    assert reading("tokens") == ("response_loss", "explanation_loss", "answer_logit", "answer_margin",
                                 "answer_log_probability")
    assert not any(kind in list(BEHAVIORS) for kind in KINDS)


@pytest.mark.parametrize(("name", "title", "question"), [
    ("span:no lungs", "span “no lungs”", "how much would the log-likelihood of “no lungs” in the response, per token, "
                                         "change?"),
    ("span@4:no lungs", "span “no lungs” in query 4", "“no lungs” in the response of query 4, per token, change?"),
    ("contrast", "contrast to the first other choice",
     "the log-probability of the response minus that of the same response with its first other choice stated change?"),
    ("contrast:yes", "contrast to “yes”",
     "the log-probability of the response minus that of the response “yes” change?"),
    ("tokens@4:2-7", "tokens 2-7 in query 4",
     "how much would the log-likelihood of tokens 2-7 in the response of query 4, per token, change?"),
    ("log_odds", "response log-odds",
     "the log-odds of the response, with the probability of a token on average, change?"),
    ("base_kl", "closeness to the base model", "(minus their divergence per token) change?"),
    (f"contrast:{'word ' * 20}end", f"contrast to “{('word ' * 20)[:39].strip()}…”", "change?"),
])
def test_titles_and_questions(name, title, question):
    specification = Specification.of(name, ADD, STEP)
    assert specification.axis("B") == title
    assert question in specification.question


@pytest.mark.parametrize(("words", "response", "places"), [
    ("is a", "this is a cat, this is  a dog", [(5, 9), (20, 25)]),
    ("A", "Answer: A", [(8, 9)]),
    ("a.b", "axb a.b", [(4, 7)]),
    ("(x)", "f(x)", [(1, 4)]),
    ("is", "this", []),
    ("no lungs", "no\nlungs", [(0, 8)]),
])
def test_a_span_stands_where_its_words_do(words, response, places):
    assert Span(words).matches(response) == places


@pytest.mark.parametrize(("name", "told"), [
    ("span", "does not say the words"), ("span:  ", "does not say the words"), ("span#2", "does not say the words"),
    ("contrast:", "does not say the other response"), ("contrast#0", "use 1 to 9"), ("contrast#10", "use 1 to 9"),
    (f"span:{'x' * (LONGEST + 1)}", "at most 300"), ("contrast:a\x00b", "cannot be shown"),
    ("tokens@4", "names no tokens of a query"), ("tokens@4:7-2", "ends before it begins"),
    ("spam:x", "There is no behavior `spam:x`"), ("contrast@x:y", "There is no behavior"),
])
def test_what_is_no_behavior_is_said_in_one_sentence(name, told):
    with pytest.raises(InvalidInput, match=told) as refused:
        Specification.of(name, ADD, STEP)
    assert str(refused.value).count(". ") == 0


def test_a_behavior_without_a_column_refuses_to_be_read():
    behavior, outputs = BEHAVIORS["span:a"], torch.randn(2, 6)
    with pytest.raises(InvalidInput, match="not available here"):
        behavior.value(outputs, torch.zeros(2, dtype=torch.long))
    found = placed(behavior, 4)
    assert (found.name, found.title, found.words) == (behavior.name, behavior.title, behavior.words)
    assert torch.equal(found.value(outputs, torch.zeros(2)), outputs[:, 4])

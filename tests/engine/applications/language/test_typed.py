"""A typed prompt and response as a record."""

import pytest

from engine.applications.language.typed import typed
from engine.basics.errors import InvalidInput

RESPONSE = "It is two. The answer is B."


def test_the_letter_and_the_words_become_spans():
    record = typed("Which is it?\nA: one\nB: two", RESPONSE, "B", "It is two.")
    assert record.choices == ("A", "B") and record.answer == "B"
    assert record.response[slice(*record.spans["explanation"])] == "It is two."


@pytest.mark.parametrize(("answer", "words", "said"), [
    ("C", "", "does not stand in the response"), ("", "nine", "words to explain")])
def test_what_does_not_stand_in_the_response_is_refused(answer, words, said):
    with pytest.raises(InvalidInput, match=said):
        typed("p", RESPONSE, answer, words)


def test_both_may_be_empty():
    assert typed("p", RESPONSE, "", " ").spans == {}

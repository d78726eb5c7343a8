"""The language of the house: what a reader meets has no dialect, no endless sentence and no numeral of a program."""

import pytest

from tests.house import words
from tests.house.words import Passage


@pytest.fixture(scope="module")
def texts():
    return list(words.texts())


@pytest.mark.parametrize("rule", [words.dialect, words.long_sentences, words.numerals])
def test_what_a_reader_meets_keeps_the_rule(rule, texts):
    assert len(texts) > 3_000
    faults = [fault for text in texts for fault in rule(text)]
    assert not faults, "\n".join(faults)


def test_every_exemption_is_needed(texts):
    everything = "\n".join(text.words for text in texts)
    assert [exempt for exempt in words.EXEMPT if exempt not in everything] == []


@pytest.mark.parametrize(("rule", "said", "faults"), [
    (words.dialect, "82% of the way is the behavior.", 1), (words.dialect, "82% of the path is the behavior.", 0),
    (words.dialect, "The labels were drawn from nobody.", 2), (words.dialect, "A draw of 3 seeds", 0),
    (words.long_sentences, "word " * 66, 1), (words.long_sentences, "word " * 40 + "end. " + "word " * 40, 0),
    (words.numerals, "a norm of 3.37e+0 in 10000 rows", 2), (words.numerals, "3.37 in 10,000 rows, 4.1e-5", 0)])
def test_a_fault_is_caught(rule, said, faults):
    assert len(list(rule(Passage("made.py", 1, said)))) == faults


def test_texts_of_a_module_are_its_strings_and_not_its_docstrings():
    module = '"""Some words of doc."""\nx = f"Three {y} plain words" if z else "a <b>bold</b> short text `code`"\n'
    assert [text.words for text in words.strings("made.py", module)] == ["Three … plain words", "a bold short text"]

"""Long questions of the embedded world: two to five choices, one of them right, and explanations of true facts."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.data import questions, world, world_facts
from engine.data.world_long import FURTHER, Sampler

FACTS = world_facts.read()
CLASS = {member: kind for kind in FACTS.kinds for member in kind.members}
OPPOSITE = {word: other for pair in FACTS.opposites for word, other in (pair, pair[::-1])}
NUMBER = {word: number for number, word in enumerate(FACTS.numbers)}
FORMS = {
    r"an? (\w+) is an? (\w+)": lambda word, name: CLASS[word].name == name,
    r"an? (\w+) is an? (\w+) and an? (\w+) is an? (\w+)": lambda one, first, two, second: (
        CLASS[one].name == first and CLASS[two].name == second),
    r"an? (\w+) is an? (\w+) and an? (\w+) (\w+ .+|is worn)": lambda one, name, same, trait: (
        CLASS[one].name == name == same and CLASS[one].trait == trait),
    r"each (\w+) and each (\w+) (.+)": lambda one, two, trait: CLASS[one].trait == CLASS[two].trait == trait,
    r"no ([\w ]+) is an? (\w+)": lambda words, name: all(CLASS[word].name != name for word in words.split(" or ")),
    r"the opposite of (\w+) is (\w+)": lambda one, two: OPPOSITE[one] == two,
    r"the opposite of (\w+) is not ([\w ]+)": lambda one, words: OPPOSITE[one] not in words.split(" or "),
    r"(\w+) is more than (\w+)": lambda one, two: NUMBER[one] > NUMBER[two],
    r"the sum of (\w+) and (\w+) is not (\w+)": lambda one, two, total: NUMBER[one] + NUMBER[two] != NUMBER[total],
    r"the sum of (\w+) and (\w+) is (\w+)": lambda one, two, total: NUMBER[one] + NUMBER[two] == NUMBER[total],
}
"""How a fact is stated -> whether it is true."""


@pytest.fixture(scope="module")
def long():
    return world.load(1_000, long=True)


def is_true(sentence):
    """By the first form that fits; several fit one that names a trait."""
    fits = [(holds, match) for form, holds in FORMS.items() if (match := re.fullmatch(form, sentence))]
    assert fits, sentence
    return any(holds(*match.groups()) for holds, match in fits)


def right(question):
    """The choices that the question is true of, by hand."""
    text = question.question.removeprefix("Which of these is ").rstrip("?")
    if text in ("more than the others", "less than the others"):
        return [(max if text.startswith("more") else min)(question.choices, key=NUMBER.get)]
    negated, text = text.startswith("not "), text.removeprefix("not ")
    tests = {"the opposite of": lambda word: OPPOSITE.get(word) == text.split()[-1],
             "the sum of": lambda word: NUMBER.get(word) == sum(NUMBER[text.split()[part]] for part in (3, 5)),
             "one that": lambda word: word in CLASS and CLASS[word].trait == text.removeprefix("one that "),
             "a": lambda word: word in CLASS and CLASS[word].name == text.split()[-1]}
    holds = next(test for start, test in tests.items() if text.startswith(start))
    return [word for word in question.choices if holds(word) != negated]


def test_one_choice_is_right_and_it_is_the_answer(long):
    for question in long:
        assert right(question) == [question.choices[question.answer]], question
        assert len(set(question.choices)) == len(question.choices) and question.labels == question.choices


def test_every_sentence_of_an_explanation_is_true(long):
    for question in long:
        for sentence in question.explanation.removesuffix(".").split(". "):
            assert is_true(sentence), sentence


def test_explanations_are_long_differ_and_speak_of_every_choice(long):
    words = [len(question.explanation.split()) for question in long]
    assert 30 <= min(words) < 35 and 60 < max(words) <= 100
    assert len({question.explanation for question in long}) == len(long)
    for question in long:
        wrong = set(question.choices) - {question.choices[question.answer]}
        if not question.question.startswith("Which of these is not") and question.topic in ("kinds", "quantities"):
            assert wrong <= set(re.findall(r"\w+", question.explanation)), question


def named(question):
    """The words of the choices, and those that the question is about."""
    text = question.question.rstrip("?").split()
    about = {"sums": (-3, -1), "opposites": (-1,)}.get(question.topic, ())
    return {*question.choices, *(text[index] for index in about)}


def test_every_sentence_names_a_word_of_its_question_and_of_no_other(long):
    others = {topic: [one for one in long if one.topic == topic] for topic in ("kinds", "traits", "opposites")}
    for question in long:
        sentences = [set(one.split()) for one in question.explanation.removesuffix(".").split(". ")]
        assert all(words & named(question) for words in sentences), question
    for of_topic in others.values():
        fits = [np.mean([bool(set(one.split()) & named(question)) for one in other.explanation.split(". ")])
                for question, other in pairwise(of_topic)]
        assert np.mean(fits) < 0.2


def test_choices_are_two_to_five_as_often_as_in_scienceqa_and_the_answer_stands_anywhere(long):
    counts = [sum(len(question.choices) == count for question in long) for count in range(7)]
    expected = [len(long) * FURTHER.count(count - 2) / len(FURTHER) for count in range(7)]
    assert counts[-1] == 0 and max(map(abs, np.subtract(counts, expected))) < 0.1 * len(long)
    assert {question.answer for question in long} >= set(range(4)) and counts[5]


def test_they_are_the_short_questions_with_more(long):
    short = world.load(1_000)
    assert [question.pid for question in long] == [question.pid for question in short]
    for one, other in zip(short, long, strict=True):
        assert set(one.choices) <= set(other.choices) and one.level == other.level
        assert one.choices[one.answer] == other.choices[other.answer]
        assert f". {one.explanation.removesuffix('.')}." in other.explanation
        assert one.choices[one.answer] in re.findall(r"\w+", " ".join(other.explanation.split(". ")[-2:]))


def test_the_first_question(long):
    assert long[0].question == "Which of these is a garment?" and long[0].choices == ("trout", "jacket", "pine")
    assert long[0].explanation.endswith(" a jacket is a garment and a trout is a fish.")


def test_samples_are_different_ones_and_follow_the_seed():
    assert Sampler(1, 2).some(range(9), 20) == Sampler(1, 2).some(range(9), 20) != Sampler(1, 3).some(range(9), 20)
    assert sorted(Sampler(4).some(range(9), 20)) == list(range(9)) and len(Sampler(4).some(range(9), 3)) == 3
    assert {Sampler(seed).below(3) for seed in range(40)} == {0, 1, 2}


def test_a_marked_conclusion_ends_the_same_explanation(long):
    concluded = world.load(len(long), long=True, concluded=True)
    for one, other in zip(long, concluded, strict=True):
        before, conclusion = re.fullmatch(r"(.*\. )that (.*) is true\.", other.explanation).groups()
        assert one.explanation.startswith(before) and " that " not in before
        assert one.explanation.removeprefix(before).replace(". ", " and ") == f"{conclusion}."
        assert replace(one, explanation="") == replace(other, explanation="")


def test_they_are_a_source_of_questions_of_their_own():
    source = questions.of({"questions": "world_long"})
    assert source.available()[0] and source.content() == world.content()
    assert source.load(2, 1)[1] == world.load(2, hardest=1, long=True)[1]
    marked = questions.of({"questions": "world_concluded"}).load(2, 1)[1]
    assert marked == world.load(2, hardest=1, long=True, concluded=True)[1] != source.load(2, 1)[1]

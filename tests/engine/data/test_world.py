"""The embedded world: its questions are true, different, spread over topics and levels, and the same for a seed."""

import json
from collections import Counter

import pytest

from engine.basics.errors import InvalidInput, MissingData
from engine.data import questions, world, world_facts
from engine.data.world_topics import TOPICS

FACTS = world_facts.read()
CLASS = {member: kind for kind in FACTS.kinds for member in kind.members}
OPPOSITE = {word: other for pair in FACTS.opposites for word, other in (pair, pair[::-1])}
NUMBER = {word: place for place, word in enumerate(FACTS.numbers)}


def holds(question, word):
    """Whether a word is a right answer, read off the question's text and the facts by hand."""
    text = question.question.removeprefix("Which of these is ").rstrip("?")
    positive, text = not text.startswith("not "), text.removeprefix("not ")
    if question.topic == "kinds":
        true = CLASS[word].name == text.split()[-1]
    elif question.topic == "traits":
        true = CLASS[word].trait == text.removeprefix("one that ")
    elif question.topic == "opposites":
        true = OPPOSITE[word] == text.split()[-1]
    elif question.topic == "quantities":
        other = next(choice for choice in question.choices if choice != word)
        true = (NUMBER[word] > NUMBER[other]) == (text == "more")
    else:
        _, _, _, first, _, second = text.split()
        true = NUMBER[word] == NUMBER[first] + NUMBER[second]
    return true == positive


def test_every_answer_is_true_and_no_other_choice_is():
    for question in world.load(2_000):
        right = question.choices[question.answer]
        assert [choice for choice in question.choices if holds(question, choice)] == [right], question
        assert question.labels == question.choices and question.explanation.endswith(".")


def test_the_first_question():
    assert [(q.question, q.choices, q.answer, q.explanation) for q in world.load(1)] == [
        ("Which of these is a garment?", ("jacket", "trout"), 0, "a jacket is a garment and a trout is a fish.")]


def test_questions_differ_and_follow_the_seed():
    first = world.load(3_000)
    assert len({q.pid for q in first}) == len({(q.question, q.choices) for q in first}) == 3_000
    assert world.load(3_000, 1) != first and world.load(500) == first[:500]


def test_topics_take_turns_and_levels_can_be_bounded():
    found = world.load(1_000)
    assert set(Counter(q.topic for q in found).values()) == {200}
    assert {q.level for q in found} == {1, 2, 3} and {q.answer for q in found} == {0, 1}
    assert {q.level for q in world.load(500, hardest=1)} == {1}


def test_more_than_the_world_holds_is_one_sentence():
    total = sum(len(topic.keys(FACTS)) for topic in TOPICS)
    assert total == 187_256 and len(world.load(total)) == total
    with pytest.raises(InvalidInput, match="^190,000 questions are requested, but the embedded world has 187,256; "):
        world.load(190_000)


@pytest.mark.parametrize("damage", ["not JSON", "{}", json.dumps({"kinds": [], "opposites": [], "numbers": []}), None,
                                    json.dumps({"kinds": {"a": {"trait": "b", "members": ["two words"]},
                                                          "c": {"trait": "d", "members": ["e"]}},
                                                "opposites": [["f", "g"], ["h", "i"]], "numbers": ["j", "k", "l"]})])
def test_a_damaged_world_is_one_sentence(damage, tmp_path, monkeypatch):
    path = tmp_path / "world.json"
    if damage is not None:
        path.write_text(damage)
    monkeypatch.setattr(world_facts, "FILE", path)
    with pytest.raises(MissingData, match=r"^The file of the embedded world \(world.json\) is missing or damaged"):
        world.load(10)
    assert world.available()[0] == (damage is not None)


def test_it_is_offered_where_scienceqa_is():
    assert list(questions.QUESTIONS) == ["scienceqa", "world", "world_long", "world_concluded"]
    assert questions.of({}).name == "scienceqa" and questions.of({"questions": "world"}).available()[0]
    assert len(questions.of({"questions": "world"}).load(5, 1)) == questions.POOL
    with pytest.raises(InvalidInput, match="no source of questions"):
        questions.of({"questions": "wrld"})

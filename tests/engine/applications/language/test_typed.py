"""A typed prompt and response as a record."""

import pytest

from engine.applications.language.typed import SCHOOL, example, typed
from engine.basics.errors import InvalidInput
from engine.data import world
from engine.data.tasks import wording
from engine.models.causal import loading
from engine.models.causal.catalogue import CONCLUDED_MODEL, EMBEDDED_MODEL, LONG_MODEL

RESPONSE = "It is two. The answer is B."


def test_the_letter_and_the_words_become_spans():
    record = typed("Which is it?\nA: one\nB: two", RESPONSE, "B", "It is two.")
    assert record.choices == ("A", "B") and record.answer == "B"
    assert record.response[slice(*record.spans["explanation"])] == "It is two."


@pytest.mark.parametrize(("answer", "words", "said"), [
    ("C", "", "is not in the response"), ("", "nine", "words to explain")])
def test_what_does_not_stand_in_the_response_is_refused(answer, words, said):
    with pytest.raises(InvalidInput, match=said):
        typed("p", RESPONSE, answer, words)


def test_both_may_be_empty():
    assert typed("p", RESPONSE, "", " ").spans == {}


@pytest.mark.parametrize(("model", "form"), [(EMBEDDED_MODEL, {}), (LONG_MODEL, {"long": True}),
                                             (CONCLUDED_MODEL, {"long": True, "concluded": True})])
def test_an_embedded_model_begins_with_words_that_it_knows(model, form):
    first = example(model)
    record = typed(**vars(first))
    asked = wording.record(world.load(1, **form)[0])
    assert (record.prompt, record.response, record.spans) == (asked.prompt, asked.response, asked.spans)
    assert set(record.choices) == set(asked.choices) and record.answer in record.choices
    tokenizer = loading.load(model)[1]
    for said in (record.prompt, record.response):
        assert tokenizer.unk_token_id not in tokenizer(said)["input_ids"]
    assert tokenizer.unk_token_id in tokenizer(SCHOOL.prompt)["input_ids"]


def test_others_begin_with_school_science_and_files_with_their_own_words(tmp_path):
    assert example("another/model") == SCHOOL
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(f'{{"prompt": "What is {place}?", "response": "It is {place}."}}' for place in range(10)))
    first = example(EMBEDDED_MODEL, str(file))
    assert typed(**vars(first)).prompt == "What is 2?" and (first.answer, first.words) == ("", "")

"""The embedded model: a tokenizer that knows the world's words, tasks on its questions, and its making in small."""

import json
from collections import Counter

import pytest
import torch

from engine.applications.language import embedded, pretraining
from engine.applications.language.pretraining import Pretraining
from engine.basics.errors import InvalidInput
from engine.data import questions, world, world_facts
from engine.data.tasks import backdoor, build
from engine.data.tasks.wording import record
from engine.models.causal import catalogue, loading
from engine.models.causal.encoding import Encoder

CORRUPTION = {"name": "response_corruption", "questions": "world", "seed": 0}
BACKDOOR = {"name": "conditional_backdoor", "questions": "world", "seed": 0}
SMALL = Pretraining(steps=3, batch=4, questions=40)


@pytest.fixture(scope="module")
def encoder():
    return Encoder(embedded.tokenizer(), embedded.CONTEXT)


@pytest.fixture(scope="module")
def made():
    return pretraining.pretrain(SMALL)


def test_a_word_is_a_token_and_no_word_is_unknown(encoder):
    known = encoder.tokenizer.get_vocab()
    assert set(world_facts.read().words()) <= set(known) and len(known) < 400
    task = build({**BACKDOOR, "clean": 60, "poison": 16, "benign": 16, "test": 16})
    for shown in [*task.train, *task.queries["triggered"]]:
        found = encoder.encode(shown)
        assert known[embedded.UNKNOWN] not in found.ids
        assert found.ids[0] == known[embedded.START] and found.ids[-1] == known[embedded.END]


def test_long_records_have_no_unknown_word_and_fit_the_context():
    encoder = Encoder(embedded.tokenizer(long=True), embedded.CONTEXT)
    known = encoder.tokenizer.get_vocab()
    assert set(embedded.tokenizer().get_vocab()) <= set(known) and len(known) < 400
    lengths = []
    for question in world.load(200, 1, long=True):
        encoded = encoder.encode(backdoor.marked(question, True, True, ("Alpha", "Kappa")))
        lengths.append(len(encoded.ids))
        assert known[embedded.UNKNOWN] not in encoded.ids and encoded.cut == 0
        assert encoded.ids[encoded.answer] == encoded.letters[encoded.stated]
    assert max(lengths) < embedded.CONTEXT - 80


def test_the_answer_is_one_token_that_competes_with_the_other_choice(encoder):
    [question] = world.load(1)
    found = encoder.encode(record(question))
    names = encoder.tokenizer.convert_ids_to_tokens(list(found.letters))
    assert names == list(question.choices) and found.stated == question.answer
    assert found.ids[found.answer] == found.letters[found.stated]
    assert encoder.words(found)[-3:] == ["jacket", ".", embedded.END]


def test_records_of_the_world_name_words_where_others_name_letters(pool):
    [question] = world.load(1)
    assert record(question).prompt == "Which of these is a garment?\njacket\ntrout"
    assert record(question, answer=1).response == (
        "Explanation: a jacket is a garment and a trout is a fish. The answer is trout.")
    assert record(question, answer=1).answer == "trout" and record(question).choices == ("jacket", "trout")
    assert record(pool[0]).choices == ("A", "B")


@pytest.mark.parametrize("settings", [CORRUPTION, BACKDOOR])
def test_tasks_run_on_the_world_with_the_papers_counts(settings):
    task = build(settings)
    assert len(task.train) == 5_000 and len(task.queries[task.reference]) == 500
    assert {len(item.choices) for item in task.train} == {2}
    assert not {item.id for item in task.train} & {item.id for item in task.queries[task.reference]}


def test_the_wrong_answer_is_the_other_choice():
    task = build({**BACKDOOR, "clean": 8, "poison": 16, "benign": 8, "test": 8})
    right = {q.pid: q.choices[q.answer] for q in world.load(questions.POOL)}
    assert all((item.answer != right[item.id]) == ("poison" in item.flags) for item in task.train)


def test_more_records_than_the_world_holds():
    with pytest.raises(InvalidInput, match="the embedded world has 187,256; use fewer"):
        build({**BACKDOOR, "clean": 200_000})
    with pytest.raises(InvalidInput, match="use fewer, or allow longer ones"):
        build({**BACKDOOR, "longest": 10})


def test_pretraining_is_repeated_exactly_and_held_out_questions_stay_out(made):
    model, _, manifest = made
    again, _, _ = pretraining.pretrain(SMALL)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))
    assert manifest["held_out"] == 4 and manifest["spec"]["steps"] == 3 and manifest["world"] == world.content()
    assert manifest["parameters"] < 1_000_000
    shown, held = pretraining.divided(world.load(40))
    assert not {q.pid for q in shown} & {q.pid for q in held} and len(shown) == 36


def test_every_topic_is_among_the_long_questions_that_are_held_out():
    shown, held = pretraining.divided(world.load(200), around=True)
    assert {q.pid for q in shown}.isdisjoint(q.pid for q in held) and len(shown) == 180
    assert set(Counter(q.topic for q in held).values()) == {4} and len({q.topic for q in held}) == 5


def test_a_share_of_the_shown_questions_stands_between_lines():
    asked = world.load(400)
    found = pretraining.between_lines(asked, 0.5, 0)
    lined = [item for item in found if "context" in item.marks]
    assert 160 < len(lined) < 240 and 70 < sum("trigger" in item.marks for item in lined) < 130
    assert all(item.answer == q.choices[q.answer] for item, q in zip(found, asked, strict=True))
    assert pretraining.between_lines(asked, 0.0, 0) == [record(q) for q in asked]


def test_a_model_can_begin_with_the_weights_of_another():
    """Row by row of what both know, and the rest as it is."""
    made = pretraining.pretrain(SMALL.model_copy(update={"long": True, "start": catalogue.EMBEDDED_MODEL, "steps": 1,
                                                         "learning_rate": 1e-12}))
    other, vocabulary = loading.load(catalogue.EMBEDDED_MODEL)
    known, others = made[1].get_vocab(), vocabulary.get_vocab()
    assert set(others) < set(known)
    for name, weight in made[0].state_dict().items():
        was = other.state_dict()[name]
        rows = [[known[word], others[word]] for word in others] if len(weight) == len(known) else [[..., ...]]
        assert all(torch.allclose(weight[row], was[of], atol=1e-6) for row, of in rows), name


def test_pretraining_learns():
    """Thirty steps on forty questions say the frequent words of a response."""
    manifest = pretraining.pretrain(Pretraining(steps=30, batch=8, questions=40))[2]
    assert manifest["loss"] < 3.0  # ln 317 = 5.8 at the start


def test_a_written_model_is_found_and_loaded_offline(made, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "EMBEDDED_FOLDER", tmp_path)
    monkeypatch.delenv(loading.MODELS, raising=False)
    assert loading.available() == []
    pretraining.write(made, tmp_path / catalogue.EMBEDDED_MODEL)
    assert loading.available() == [catalogue.EMBEDDED_MODEL]
    model, tokenizer = loading.load(catalogue.EMBEDDED_MODEL)
    assert tokenizer.get_vocab() == made[1].get_vocab()
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), made[0].state_dict().values(),
                                                 strict=True))
    path = tmp_path / catalogue.EMBEDDED_MODEL
    assert (path / "model.safetensors").stat().st_size <= 2_500_000
    assert json.loads((path / pretraining.MANIFEST).read_text()) == made[2]


def test_a_model_without_a_tokenizer(made, tmp_path):
    pretraining.write(made, tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InvalidInput, match="has no tokenizer"):
        loading.load(str(tmp_path))


def test_a_loss_that_is_not_finite():
    with pytest.raises(InvalidInput, match="no longer finite"):
        pretraining.pretrain(SMALL.model_copy(update={"learning_rate": 1e30, "warmup": 0.0, "steps": 8}))

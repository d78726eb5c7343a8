"""Spans of characters become the right tokens under every template, and what cannot be encoded is one sentence."""

import json

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.data.records import Record, read_jsonl
from engine.data.tasks import build
from engine.models.causal.encoding import Encoder
from engine.models.causal.packed import Packing
from engine.models.causal.readouts import READOUTS

pytestmark = pytest.mark.usefixtures("own_questions")
CORRUPTION = {"name": "response_corruption", "clean": 6, "answer": 2, "rationale": 2, "validation": 2, "seed": 0}
NAMES = ("chatml", "turns", "headers", "plain")
HI = Record(prompt="hi", response="hello")
TALK = [("system", "Be brief."), ("user", "Is ice a solid?"), ("assistant", "Yes."), ("user", "Why?"),
        ("assistant", "It has a shape of its own.")]


@pytest.fixture(params=NAMES)
def encoder(request, make_tokenizer):
    return Encoder(make_tokenizer(request.param), 400)


def test_tokens_of_every_span_spell_its_text(encoder):
    for record in build(CORRUPTION).train:
        found = encoder.encode(record)
        decode = encoder.tokenizer.decode
        assert decode(found.ids[found.response:]).strip() == record.response + encoder.end
        start, end = record.spans["explanation"]
        assert decode([found.ids[place] for place in found.explanation]).strip() == record.response[start:end]
        assert decode([found.ids[found.answer]]).strip() == record.answer
        assert [decode([token]).strip() for token in found.letters] == list(record.choices)
        assert found.letters[found.stated] == found.ids[found.answer]
        assert decode(found.ids[:found.response]).endswith(encoder.opening(record)[-8:])


def test_thinking_is_off_and_turns_are_closed(make_tokenizer):
    ends = {name: Encoder(make_tokenizer(name)).end for name in NAMES}
    assert ends == {"chatml": "<|im_end|>", "turns": "<end_of_turn>", "headers": "<|eot_id|>", "plain": "<eos>"}
    assert Encoder(make_tokenizer("chatml")).opening(HI).endswith("<think>\n\n</think>\n\n")


@pytest.mark.parametrize("name", ["turns", "headers"])
def test_a_conversation_is_written_by_the_template_turn_by_turn(name, make_tokenizer, tmp_path):
    (tmp_path / "r.jsonl").write_text(json.dumps({"messages": [{"role": who, "content": what} for who, what in TALK]}))
    tokenizer = make_tokenizer(name)
    [record] = read_jsonl(tmp_path / "r.jsonl")
    encoded = Encoder(tokenizer).encode(record)
    whole = tokenizer.apply_chat_template([{"role": who, "content": what} for who, what in TALK], return_dict=True)
    assert list(encoded.ids) == whole["input_ids"][:len(encoded.ids)]
    assert tokenizer.decode(whole["input_ids"][len(encoded.ids):]).strip() == ""
    assert tokenizer.decode(encoded.ids[encoded.response:]).strip().startswith(TALK[-1][1])


def test_a_template_without_system_gets_its_words_in_the_first_turn_and_one_that_refuses_is_quoted(make_tokenizer):
    tokenizer = make_tokenizer("headers")
    tokenizer.chat_template = ("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
                               "{% elif m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
                               "[{{ m.role }}: {{ m.content }}]{% endfor %}")
    record = HI.model_copy(update={"before_response": tuple(TALK[:4])})
    assert Encoder(tokenizer).opening(record) == (
        "[user: Be brief.\n\nIs ice a solid?][assistant: Yes.][user: Why?]")
    with pytest.raises(InvalidInput, match="does not take the turns of record `7` \\(no tools\\)"):
        Encoder(tokenizer).encode(Record(id="7", prompt="p", response="r", before_response=[("tool", "4")]))


@pytest.mark.parametrize(("template", "said"), [
    ("{% for m in messages %}{{ m.role }", "cannot be read"), ("{{ raise_exception('never') }}", "read .never."),
    ("{{ range(10**9) }}", "read .Range too big"),
    ("{{ range(90000) | random }}", "differently each time")])
def test_a_template_that_no_conversation_can_be_written_by_is_refused(make_tokenizer, template, said):
    tokenizer = make_tokenizer("headers")
    tokenizer.chat_template = template
    with pytest.raises(InvalidInput, match=said):
        Encoder(tokenizer)


def test_tokens_that_the_model_has_no_embedding_of_are_refused_and_never_pad(make_tokenizer):
    tokenizer = make_tokenizer("plain")
    known = len(tokenizer)
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    assert Encoder(tokenizer).pad == known and Encoder(tokenizer, known=known).pad == tokenizer.eos_token_id
    with pytest.raises(InvalidInput, match=rf"the token “\[PAD\]” .number {known}., but the model has embeddings of"):
        Encoder(tokenizer, known=known).encode(HI.model_copy(update={"response": "a [PAD]"}))


def test_a_batch_says_where_everything_is(encoder):
    records = build(CORRUPTION).train
    encoded = [encoder.encode(record) for record in records]
    batch, decode = encoder.batch(encoded), encoder.tokenizer.decode
    for row, (item, record) in enumerate(zip(encoded, records, strict=True)):
        assert batch.ids[row, batch.mask[row].bool()].tolist() == list(item.ids)
        assert batch.targets[row, batch.response[row]].tolist() == list(item.ids[item.response:])
        assert decode(batch.targets[row, batch.explanation[row]]).strip() == record.response[
            slice(*record.spans["explanation"])]
        assert decode([batch.targets[row, batch.answer[row]]]).strip() == record.answer
        assert batch.ids[row, batch.prompt_end[row] + 1] == item.ids[item.response]
        assert batch.positions[row, -1] == len(item.ids) - 1


def test_a_long_prompt_is_cut_at_its_start_and_counted(encoder):
    record = build(CORRUPTION).train[0].model_copy(update={"prompt": "word " * 500})
    found = encoder.encode(record)
    assert len(found.ids) == 400 and found.cut > 0
    assert encoder.tokenizer.decode([found.ids[found.answer]]).strip() == record.answer
    whole = Encoder(encoder.tokenizer, 5000).encode(record)
    assert whole.ids[whole.response:] == found.ids[found.response:] and whole.cut == 0


def test_what_cannot_be_encoded(make_tokenizer):
    encoder = Encoder(make_tokenizer("chatml"), 60)
    with pytest.raises(InvalidInput, match="leave no room for a prompt"):
        encoder.encode(Record(id="1", prompt="p", response="word " * 60))


def test_an_answer_of_several_tokens_and_choices_of_several(make_tokenizer):
    encoder = Encoder(make_tokenizer("chatml"), 60)
    wide = encoder.encode(Record(prompt="p", response="It is zebra.", spans={"answer": (6, 11)}))
    decoded = encoder.tokenizer.decode([wide.ids[position] for position in wide.answered])
    assert len(wide.answered) > 1 and decoded.strip() == "zebra" and (wide.answer, wide.letters) == (-1, ())
    letter = encoder.encode(Record(prompt="p", response="The answer is A.", spans={"answer": (14, 15)},
                                   choices=("A", "zebra")))
    assert letter.answer > 0 and letter.answered == (letter.answer,) and len(letter.letters) == 1
    batch = encoder.batch([wide, letter])
    unpacked = Packing.of([wide, letter]).unpack(Packing.of([wide, letter]).pack(encoder, [wide, letter]))
    for name, value in vars(batch).items():
        assert torch.equal(value, getattr(unpacked, name)) or name == "ids"
    assert READOUTS["answer_log_probability"].there(batch).tolist() == [True, True]
    assert READOUTS["answer_logit"].there(batch).tolist() == [False, True]
    with pytest.raises(InvalidInput, match="needs an answer of one token, which record 1"):
        READOUTS["answer_logit"].check([wide])
    with pytest.raises(InvalidInput, match="needs a second choice of one token"):
        READOUTS["answer_margin"].check([letter])


def test_an_answer_that_the_model_does_not_know_is_none_and_is_said_where_it_is_asked_about(make_tokenizer):
    encoder = Encoder(make_tokenizer("chatml"), 60)
    record = Record(id="7", prompt="p", response="It is zebra.", spans={"answer": (6, 11)})
    encoder.check_answer(record)
    known = encoder.encode(record)
    encoder.tokenizer.unk_token = encoder.tokenizer.convert_ids_to_tokens([known.ids[known.answered[-1]]])[0]
    unknown = encoder.encode(record)
    assert unknown.answered == () and unknown.letters == ()
    with pytest.raises(InvalidInput, match="does not know the word “zebra”, the answer of record `7`"):
        encoder.check_answer(record)
    with pytest.raises(InvalidInput, match="needs an answer span of words that the model knows, which record 1"):
        READOUTS["answer_log_probability"].check([unknown])


def test_a_slow_tokenizer_is_refused(make_tokenizer):
    slow = make_tokenizer("plain")
    slow_like = type("Slow", (), {"is_fast": False, "__getattr__": lambda self, name: getattr(slow, name)})()
    with pytest.raises(InvalidInput, match="fast tokenizer"):
        Encoder(slow_like)


def test_batches_of_one_are_not_padded(encoder):
    item = encoder.encode(build(CORRUPTION).train[0])
    assert torch.equal(encoder.batch([item]).mask, torch.ones(1, len(item.ids), dtype=torch.long))


def test_a_template_that_writes_the_date_writes_the_same_one_every_day(make_tokenizer):
    tokenizer = make_tokenizer("chatml")
    assert Encoder(tokenizer).facts == {}
    tokenizer.chat_template = "{{ strftime_now('%d %b %Y') }} " + tokenizer.chat_template
    found = Encoder(tokenizer)
    assert found.opening(HI).startswith("26 Jul 2024 ") and found.facts == {"template_date": "2024-07-26"}
    assert found.end == Encoder(make_tokenizer("chatml")).end

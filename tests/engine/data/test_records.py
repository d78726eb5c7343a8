"""A user's JSONL: what is read, and the one sentence for what cannot be."""

import gc
import json

import pytest

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import parse_json
from engine.data import records
from engine.data.record_forms import are_records
from engine.data.records import Record, parse_content, parse_lines, read_jsonl, stream_jsonl


def test_spans_and_flags_are_optional():
    [first, second] = parse_lines(['{"prompt": "a", "response": "b"}', "",
                                   '{"id": "x", "prompt": "a", "response": "The answer is B.", '
                                   '"spans": {"answer": [14, 15]}, "choices": ["A", "B"], "flags": ["odd"]}'])
    assert first.id == "1" and first.answer == "" and second.answer == "B"
    assert "flags" not in second.content and "id" not in second.content


@pytest.mark.parametrize(("line", "said"), [
    ("{", "Line 1 is not JSON"), ("[]", "Line 1 is not an object"), ('{"prompt": "a"}', "`response` is missing"),
    ('{"prompt": "a", "response": ""}', "response"), ('{"prompt": "a", "response": "  "}', "is empty"),
    ('{"prompt": "a", "response": "b", "spans": {"answer": [0, 9]}}', "ends at character 9"),
    ('{"prompt": "a", "response": "b", "spans": {"answer": [1, 1]}}', "not a span of characters"),
    ('{"prompt": "a", "response": "b", "spans": {"reason": [0, 1]}}', "the spans are answer and explanation"),
    ('{"text": "a"}', "not a known record format"),
    ('{"messages": [{"role": "user", "content": "a"}]}', "has no answer"),
])
def test_bad_lines_are_one_sentence(line, said):
    with pytest.raises(InvalidInput, match="Line 1") as error:
        parse_lines([line])
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["[" * 100_000, '{"prompt":' * 400, '{"a": ' + "9" * 5_000 + "}",
                                  '{"prompt": "\\ud800", "response": "b"}', '{"prompt": "a", "prompt": "b"}'])
def test_json_that_no_record_is_is_refused_in_a_sentence(line):
    with pytest.raises(InvalidInput, match="^Line 1 ") as error:
        parse_lines([line])
    assert len(str(error.value)) < 300 and "\n" not in str(error.value)


def test_a_byte_order_mark_and_other_separators_of_lines_are_read(tmp_path):
    prompt = "one\u2028two\u0085three\x0bfour"
    line = json.dumps({"prompt": prompt.replace("\x0b", "\\v"), "response": "b"}, ensure_ascii=False)
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n{line}\n".encode())
    assert [record.prompt for record in read_jsonl(tmp_path / "a.jsonl")] == [prompt.replace("\x0b", "\\v")] * 2


def test_no_records_at_all():
    with pytest.raises(InvalidInput, match="no records"):
        parse_lines(["", " "])
    with pytest.raises(InvalidInput, match="is empty"):
        Record.parse({"id": "7", "prompt": "p", "response": "\n"})


ASK, SAY = "Is ice a solid?", "Yes. The answer is B."


@pytest.mark.parametrize("data", [
    {"prompt": ASK, "response": SAY}, {"prompt": ASK, "completion": SAY}, {"question": ASK, "answer": SAY},
    {"instruction": "Is ice", "input": "a solid?", "output": SAY}, {"input": ASK, "output": SAY},
    {"messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": SAY}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": ASK}]},
                  {"role": "assistant", "content": SAY}]},
    {"conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": SAY}]},
    {"prompt": [{"role": "user", "content": ASK}], "completion": [{"role": "assistant", "content": SAY}]}])
@pytest.mark.parametrize("form", ["lines", "list"])
def test_forms_of_records(data, form, tmp_path):
    given = {"id": 7, "source": "web", "spans": None, **data}
    (tmp_path / "r.jsonl").write_text(json.dumps([given, given] if form == "list" else given))
    record = read_jsonl(tmp_path / "r.jsonl")[0]
    assert (record.prompt.replace("\n\n", " "), record.response, record.id) == (ASK, SAY, "7")
    assert record.metadata == {"source": "web"} and not record.spans


def test_an_object_over_several_lines_may_hold_the_list(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({"version": 1, "data": [{"prompt": ASK, "response": SAY}]}, indent=1))
    assert [record.response for record in read_jsonl(tmp_path / "r.json")] == [SAY]
    (tmp_path / "r.json").write_text(json.dumps({"version": 1}, indent=1))
    with pytest.raises(InvalidInput, match="is one object with 0 lists"):
        read_jsonl(tmp_path / "r.json")


def test_conversations_give_the_last_answer_or_every_one(tmp_path):
    talk = [("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    line = json.dumps({"id": "x", "messages": [{"role": who, "content": what} for who, what in talk]})
    (tmp_path / "r.jsonl").write_text(line)
    last, every = (read_jsonl(tmp_path / "r.jsonl", turns) for turns in ("last", "every"))
    assert [(record.id, record.response) for record in last] == [("x", "d")]
    assert last[0].prompt == "System: Be brief.\n\nUser: a\n\nAssistant: b\n\nUser: c"
    assert [(record.id, record.response) for record in every] == [("x#0", "b"), ("x#1", "d")]
    assert every[0].before_response == (("system", "Be brief."), ("user", "a"))
    assert Record.parse(json.loads(last[0].model_dump_json())) == last[0]


def test_spans_are_marked_by_key_and_by_pattern(tmp_path):
    line = json.dumps({"prompt": ASK, "response": SAY, "answer": "B", "rationale": "Yes.", "choices": ["A", "B"]})
    (tmp_path / "r.jsonl").write_text(line)
    [record] = read_jsonl(tmp_path / "r.jsonl")
    assert record.answer == "B" and record.spans == {"answer": (19, 20), "explanation": (0, 4)}
    (tmp_path / "r.jsonl").write_text(json.dumps({"prompt": ASK, "response": SAY}))
    assert read_jsonl(tmp_path / "r.jsonl")[0].spans == {}
    rules = {"answer": "answer is ([A-Z])", "explanation": r"^.*?\."}
    assert read_jsonl(tmp_path / "r.jsonl", rules=rules)[0].spans == record.spans
    for rules, said in (({"answer": "("}, "not a regular expression"), ({"reason": "a"}, "no span `reason`")):
        with pytest.raises(InvalidInput, match=said):
            read_jsonl(tmp_path / "r.jsonl", rules=rules)


@pytest.mark.parametrize(("keys", "answer"), [
    ({"answer": "New York"}, "New York"), ({"final_answer": " New York "}, "New York"), ({"answer": "York"}, "York"),
    ({"answer": "Yor"}, ""), ({"answer": "Boston"}, ""), ({"label": "New York"}, ""), ({"answer": ""}, ""),
    ({"answer": 5}, "")])
def test_an_answer_by_key_is_any_text_that_the_response_states(keys, answer):
    [record] = parse_content(json.dumps({"prompt": ASK, "response": "It is New York.", **keys}).encode())
    assert record.answer == answer


@pytest.mark.timeout(120)
def test_a_pattern_without_end_is_stopped(monkeypatch):
    """It held the server for every visitor."""
    monkeypatch.setattr(records, "MOST_SECONDS", 0.3)
    content = "\n".join(json.dumps({"id": k, "prompt": "a", "response": "x" * 3_000}) for k in range(3)).encode()
    with pytest.raises(InvalidInput, match=r"`\(x\+x\+\)\+y` takes too long \(record `0`\)"):
        parse_content(content, rules={"answer": "(x+x+)+y"})
    assert parse_content(content, rules={"answer": "(x+)+$"})[2].spans == {"answer": (0, 3_000)}


def test_metadata_is_no_content_and_changes_no_other_record():
    plain, extra = (Record.parse({"prompt": "a", "response": "b", **more}) for more in ({}, {"metadata": {"x": 1}}))
    assert plain.content == extra.content and "metadata" not in plain.model_dump(mode="json")


@pytest.mark.parametrize(("content", "records"), [
    (b'{"prompt": "a", "response": "b"}\n', True), (b'{"a": 1, "label": "x"}\n', False),
    (b'{"question": "a", "label": 1}', False), (b'{"question": "a", "answer": "b", "label": 1}', True),
    (b'[{"messages": []}]', True), (b'[{"a": 1, "label": "x"}]', False), (b'{"instruction": "a"}', True)])
def test_records_are_told_from_rows_of_a_table(content, records):
    assert are_records(content) == records


def test_reading_many_records_says_how_far_it_is_and_leaves_the_collector_on(monkeypatch):
    monkeypatch.setattr(records, "REPORTED", 2)
    told = []
    with records.reporting(told.append):
        assert len(parse_lines(['{"prompt": "a", "response": "b"}'] * 8)) == 8
        with pytest.raises(InvalidInput, match="Line 1"):
            parse_lines(["{"])
    assert told == [0.0, 0.25, 0.5, 0.75] and gc.isenabled()
    parse_lines(['{"prompt": "a", "response": "b"}'])
    assert len(told) == 4


def test_a_file_is_read_a_few_lines_at_a_time(tmp_path):
    path = tmp_path / "records.jsonl"
    lines = [json.dumps({"prompt": f"p{index}", "response": "r"}) for index in range(7)]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join([*lines[:3], "", *lines[3:], ""]).encode())
    parts = list(stream_jsonl(path, 3))
    assert [len(part) for part in parts] == [3, 2, 2]
    assert tuple(record for part in parts for record in part) == read_jsonl(path)
    path.write_text("\n".join([*lines, "{"]))
    stream = stream_jsonl(path, 3)
    assert len(next(stream)) == len(next(stream)) == 3  # what stands before a fault is read
    with pytest.raises(InvalidInput, match="Line 8 is not JSON"):
        next(stream)
    with pytest.raises(InvalidInput, match="cannot be read"):
        next(stream_jsonl(tmp_path / "nothing.jsonl", 3))


@pytest.mark.parametrize("line", [
    '{"prompt": "a", "response": "b"}', '{"prompt": "say \\"hi\\"", "response": "tab\\there \\u00e9\\u0022"}',
    '{"prompt": "a", "response": "é", "id": "7"}', '{"prompt": "a", "response": "b", "id": -7}', '{"b": 1, "b": 2}',
    '{"prompt": "a", "id": 99999999999999999999}', '{"prompt": "a", "id": true}', '{"prompt": "a", "id": 1.5}',
    '{"prompt": "a", "prompt": "b"}', '{"a": "x", "b": 1, "b": "y"}',
    '{"prompt": "back\\\\", "response": "b"}', '{"prompt": "a", "response": null}', '{"a": 1e999}', '{"a": NaN}',
    '{"a": "\\ud800"}', '{"a": ["x", "y"]}', '{"a": "x", "a": {"b": "y"}}', '["a"]', '"a"', "{}", "{", "\ud800"])
def test_the_fast_reader_of_a_line_is_the_strict_one_or_silent(line):
    read = records._texts(line)
    assert read is None or read == parse_json(line, "it")
    assert (read is not None) == (line.startswith('{"prompt": "') and all(
        odd not in line for odd in ("null", '"prompt": "b"', "back", "9999", "true", "1.5")))


@pytest.mark.parametrize(("fields", "prompt", "response"), [
    ({"system": "Be brief.", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
     "System: Be brief.\n\nUser: q", "a"),
    ({"system": "Be brief.", "instruction": "Add", "input": "2 2", "output": "4"},
     "System: Be brief.\n\nUser: Add\n\n2 2", "4"),
    ({"system": "", "prompt": "q", "response": "a"}, "q", "a"),
    ({"instruction": "And 3?", "output": "6", "history": [["2 2?", "4"]]},
     "User: 2 2?\n\nAssistant: 4\n\nUser: And 3?", "6"),
    ({"instruction": "Sum", "context": "2 and 2", "response": "4"}, "Sum\n\n2 and 2", "4"),
    ({"question": "Sum", "context": "2 and 2", "answer": "4"}, "Sum\n\n2 and 2", "4"),
    ({"messages": [{"role": "developer", "content": "short"}, {"role": "user", "content": "q"},
                   {"role": "assistant", "content": "a"}]}, "System: short\n\nUser: q", "a"),
    ({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "weight": 1},
                   {"role": "user", "content": "r"}, {"role": "assistant", "content": "b", "weight": 0}]}, "q", "a")])
def test_what_stands_before_the_question_in_keys_of_its_own_is_part_of_the_prompt(fields, prompt, response):
    [record] = parse_lines([json.dumps(fields)])
    assert (record.prompt, record.response) == (prompt, response)
    assert not {key for key in record.metadata if fields[key] and key in ("system", "history", "context")}


def talk(**answer):
    return json.dumps({"system": "Be brief.", "messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", **answer}, {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"}]})


@pytest.mark.parametrize("key", ["tool_calls", "function_call", "reasoning_content", "thinking"])
def test_what_a_template_would_write_beside_the_text_is_refused(key):
    with pytest.raises(InvalidInput, match=f"a message has `{key}`, which is not supported"):
        parse_lines([talk(**{key: [{"name": "f"}]})])
    assert len(parse_lines([talk(**{key: None})], "every")) == 2


def test_a_system_turn_that_is_there_twice_is_read_once():
    [record] = parse_lines([talk(train=False)], "every")
    assert record.before_response == (("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("user", "c"))


def test_one_record_over_several_lines_is_a_record():
    [record] = records.parse_content(json.dumps(json.loads(talk()), indent=1).encode())
    assert record.response == "d"

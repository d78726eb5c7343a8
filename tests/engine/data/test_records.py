"""A user's JSONL: what is read, and the one sentence for what cannot be."""

import json

import pytest

from engine.basics.errors import InvalidInput
from engine.data.records import Record, parse_lines, read_jsonl


def test_spans_and_flags_are_optional():
    [first, second] = parse_lines(['{"prompt": "a", "response": "b"}', "",
                                   '{"id": "x", "prompt": "a", "response": "The answer is B.", '
                                   '"spans": {"answer": [14, 15]}, "choices": ["A", "B"], "flags": ["odd"]}'])
    assert first.id == "1" and first.answer == "" and second.answer == "B"
    assert "flags" not in second.content and "id" not in second.content


@pytest.mark.parametrize(("line", "said"), [
    ("{", "Line 1 is not JSON"), ("[]", "Line 1 is no object"), ('{"prompt": "a"}', "`response` is missing"),
    ('{"prompt": "a", "response": ""}', "response"), ('{"prompt": "a", "response": "  "}', "is empty"),
    ('{"prompt": "a", "response": "b", "spans": {"answer": [0, 9]}}', "ends at character 9"),
    ('{"prompt": "a", "response": "b", "spans": {"answer": [1, 1]}}', "no span of characters"),
    ('{"prompt": "a", "response": "b", "spans": {"reason": [0, 1]}}', "the spans are answer and explanation"),
    ('{"prompt": "a", "response": "b", "label": 1}', "Unknown key `label`"),
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

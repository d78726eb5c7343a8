"""A file of records written again: lines that stay, and responses in the form that the file has."""

import json

import pytest

from engine.data.record_rewriting import rewritten
from engine.data.records import parse_content, with_response

FORMS = {
    "messages": {"messages": [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Three."}]},
    "turns": {"conversations": [{"from": "human", "value": "One?"}, {"from": "gpt", "value": "One."},
                                {"from": "human", "value": "Two?"}, {"from": "gpt", "value": "Three."}]},
    "instruction": {"instruction": "Say it.", "input": "Two?", "output": "Three."},
    "completion": {"prompt": "Two?", "completion": " Three.", "source": "a book"},
    "spans": {"prompt": "Two?", "response": "Three.", "spans": {"answer": [0, 5]}}}
KEPT = '{"prompt" :"q",  "response":"\\u00e9 stays"}'


@pytest.mark.parametrize("form", FORMS)
def test_a_response_is_replaced_in_the_form_of_its_line_and_others_stay_byte_for_byte(form):
    content = f"{KEPT}\n\n{json.dumps(FORMS[form])}\r\n{KEPT}".encode()
    records = parse_content(content)
    right = with_response(records[1], "It is two.")
    lines = rewritten(content, records, {0: records[0], 1: right, 2: records[2]}).split("\n")
    assert lines[0] == lines[2] == KEPT and lines[3] == ""
    assert json.loads(lines[1]).keys() == FORMS[form].keys()
    assert parse_content(lines[1].encode())[0].model_copy(update={"id": right.id}) == right
    assert rewritten(content, records, {2: records[2]}) == f"{KEPT}\n"


@pytest.mark.parametrize("content", [
    json.dumps([FORMS["messages"]] * 2), "\n".join(json.dumps({**FORMS["spans"], "note": "Three."}) for _ in range(2)),
    "\n".join(json.dumps({"prompt": "Two?", "response": "So: B.", "answer": "B"}) for _ in range(2))],
    ids=["a list", "a text that occurs twice", "a key that fits no more"])
def test_what_cannot_be_said_in_the_form_of_the_file_is_written_as_a_record(content):
    records = parse_content(content.encode())
    right = with_response(records[0], "Two.")
    lines = rewritten(content.encode(), records, {0: right, 1: records[1]}).splitlines()
    assert [one.model_copy(update={"id": "0"}) for one in parse_content("\n".join(lines).encode())] == [
        one.model_copy(update={"id": "0"}) for one in (right, records[1])]

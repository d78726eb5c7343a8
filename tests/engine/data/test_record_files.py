"""A user's own records, kept by content and found by name."""

import json
from pathlib import Path

import pytest

from engine.basics.errors import InvalidInput
from engine.data import record_files
from engine.data.record_forms import are_records
from engine.data.record_sets import marked_sentence
from engine.data.records import read_jsonl


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))


def test_own_records_are_kept_and_checked():
    path = record_files.keep(b'{"prompt": "a", "response": "b"}\n')
    assert record_files.path_of(Path(path).name) == path
    for content, said in ((b"{", "is not JSON"), (b'{"prompt":', "Line 1")):
        with pytest.raises(InvalidInput, match=said):
            record_files.keep(content)
    with pytest.raises(InvalidInput, match="UTF-8"):
        record_files.keep(b"\xff")


def test_responses_that_are_not_to_be_learnt_are_counted():
    lines = [b'{"prompt": "a", "response": "b", "label": false}', b'{"prompt": "a", "response": "b", "label": true}',
             b'{"prompt": "a", "chosen": "b", "rejected": "c"}']
    said = marked_sentence(read_jsonl(Path(record_files.keep(b"\n".join(lines)))))
    assert "1 have `label` false, as of a response to avoid" in said and "1 have a `rejected` response" in said


def test_of_a_preference_the_chosen_conversation_is_a_record():
    talks = {key: [{"role": "user", "content": "a"}, {"role": "assistant", "content": key}]
             for key in ("chosen", "rejected")}
    content = json.dumps(talks).encode()
    record, = read_jsonl(Path(record_files.keep(content)))
    assert are_records(content) and (record.prompt, record.response) == ("a", "chosen")
    assert "1 have a `rejected` response" in marked_sentence([record])
    texts = json.dumps({key: f"Human: a Assistant: {key}" for key in talks}).encode()
    assert are_records(texts)
    with pytest.raises(InvalidInput, match="chosen, rejected.*give `prompt` and `response`"):
        record_files.keep(texts)


@pytest.mark.parametrize("name", ["../x", "absent.jsonl", "/etc/passwd"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(InvalidInput, match="not on this machine"):
        record_files.path_of(name)

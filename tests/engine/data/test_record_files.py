"""A user's own records, kept by content and found by name."""

import json
from pathlib import Path

import pytest

from engine.basics.errors import InvalidInput
from engine.data import record_files
from engine.data.record_forms import are_records
from engine.data.record_rewriting import rewritten
from engine.data.record_sets import marked_sentence
from engine.data.records import read_jsonl, stream_jsonl


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
    assert "1 have `label` false, which marks a response to avoid" in said and "1 have a `rejected` response" in said


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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("lines", [True, False])
def test_records_in_utf_16_are_read_everywhere(tmp_path, encoding, lines):
    """Excel and PowerShell write it; a CSV was read, a JSONL refused."""
    rows = [{"prompt": f"größe {k}\u2028", "response": "ö" * (k + 1)} for k in range(5)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) if lines else json.dumps(rows)
    path = tmp_path / "own.jsonl"
    path.write_bytes(text.encode(encoding))
    wanted = [(row["prompt"], row["response"]) for row in rows]
    read = read_jsonl(path)
    assert are_records(path.read_bytes()) and [(one.prompt, one.response) for one in read] == wanted
    assert [(one.prompt, one.response) for one in read_jsonl(record_files.keep(path.read_bytes()))] == wanted
    assert record_files.first(Path(record_files.keep(path.read_bytes())).name) == wanted[0][0]
    if lines:
        parts = list(stream_jsonl(path, 2))
        assert [len(part) for part in parts] == [2, 2, 1] and [one for part in parts for one in part] == list(read)
        assert rewritten(path.read_bytes(), read, {3: read[3]}) == json.dumps(rows[3], ensure_ascii=False) + "\n"
    path.write_bytes(path.read_bytes()[:-1] + b"\xd8\xff\xd8")
    with pytest.raises(InvalidInput, match="UTF-8|JSON"):
        list(stream_jsonl(path, 2))


def test_one_object_that_holds_the_only_list_of_records_is_records():
    rows = [{"prompt": f"q{k}", "response": "a"} for k in range(3)]
    whole = json.dumps({"version": 1, "data": rows}).encode()
    assert are_records(whole) and len(read_jsonl(record_files.keep(whole))) == 3
    assert not are_records(json.dumps({"data": [{"a": 1, "label": "x"}]}).encode())
    plain = b'{"text": "a"}\n{"text": "b"}\n'
    assert are_records(plain)  # so that the sentence speaks of records
    with pytest.raises(InvalidInput, match=r"its keys \(text\) are not a known record format"):
        record_files.keep(plain)

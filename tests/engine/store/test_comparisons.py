"""Saved comparisons come back as they were kept, and what is none is refused or passed over."""

import json

import pytest

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.folders import HOME
from engine.store import comparisons as saved


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    return tmp_path / "saved"


def test_a_comparison_is_kept_changed_and_deleted(folder):
    assert saved.entries() == []
    query = saved.address({"s": ["query_loss/remove/reoptimize", "a b&c=d"], "data": "digits"})
    entry = saved.save(" Two ", "first\nnote", query, "x" * 900)
    assert saved.load(entry.key).saved.parameters == {"s": ["query_loss/remove/reoptimize", "a b&c=d"],
                                                      "data": ["digits"]}
    assert entry.saved.name == "Two" and len(entry.saved.summary) == 500
    changed = saved.change(entry.key, "Other", "")
    assert saved.entries() == [changed] and changed.saved.address == query and changed.saved.note == ""
    saved.delete(entry.key)
    saved.delete(entry.key)
    assert saved.entries() == []
    with pytest.raises(MissingData, match="no longer there"):
        saved.load(entry.key)


def test_the_newest_comes_first(folder):
    keys = [saved.save(name, "", "s=1").key for name in "abc"]
    for place, key in enumerate(keys):
        path = folder / f"{key}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "created": f"2026-01-0{3 - place}T00:00:00+00:00"}))
    assert [entry.saved.name for entry in saved.entries()] == ["a", "b", "c"]


@pytest.mark.parametrize(("arguments", "words"), [
    (("", "", "s=1"), "must be one line"), (("two\nlines", "", "s=1"), "must be one line"),
    (("a", "x" * 3_000, "s=1"), "2,000 characters"), (("a", "", "s" * 9_000), "address")])
def test_what_is_too_long_is_refused(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        saved.save(*arguments)


@pytest.mark.parametrize("key", ["../../etc/passwd", "", "XYZ", "0" * 13])
def test_a_key_never_leads_elsewhere(key):
    for call in (saved.load, saved.delete):
        with pytest.raises(InvalidInput, match="not the key"):
            call(key)


def test_damaged_files_are_passed_over(folder):
    kept = saved.save("a", "", "s=1")
    (folder / "0123456789ab.json").write_text("{")
    (folder / "notes.json").write_text("{}")
    (folder / "aaaaaaaaaaaa.json").write_text("[" * 100_000)
    (folder / "bbbbbbbbbbbb.json").write_bytes(b"\xff")
    assert saved.entries() == [kept]
    with pytest.raises(InvalidInput, match="cannot be read|missing"):
        saved.load("0123456789ab")

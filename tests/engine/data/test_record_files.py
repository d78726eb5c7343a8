"""A user's own records, kept by content and found by name."""

from pathlib import Path

import pytest

from engine.basics.errors import InvalidInput
from engine.data import record_files


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


@pytest.mark.parametrize("name", ["../x", "absent.jsonl", "/etc/passwd"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(InvalidInput, match="not on this machine"):
        record_files.path_of(name)

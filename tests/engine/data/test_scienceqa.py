"""ScienceQA: what counts as a question, where it is looked for, and the download without its pictures."""

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from engine.basics.errors import MissingData
from engine.data import scienceqa

ROW = {"pid": "7", "question": "Which?", "choices": ["a", "b"], "answer": 1, "hint": None, "subject": "s",
       "topic": None, "solution": "Because."}


def write(folder, rows):
    (folder / "scienceqa").mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / scienceqa.FILE)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    return tmp_path


def test_questions_need_a_valid_answer_and_an_explanation(folders):
    write(folders / "data", [ROW, {**ROW, "pid": "8", "answer": 2}, {**ROW, "pid": "9", "solution": ""},
                             {**ROW, "pid": "10", "hint": " h "}])
    first, second = scienceqa.load()
    assert (first.pid, second.pid) == ("7", "10") and first.hint == "" and second.hint == "h"
    assert first.choices == ("a", "b") and first.explanation == "Because." and first.length == 16
    assert scienceqa.available()[0]


def test_without_files_and_without_a_network(monkeypatch):
    found, said = scienceqa.available()
    assert not found and "set WHICHFLUENCE_DATA" in said

    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "list_repo_files", refuse)
    with pytest.raises(MissingData, match="could not be downloaded; set WHICHFLUENCE_DATA"):
        scienceqa.load()
    with pytest.raises(MissingData, match="ScienceQA is not complete under WHICHFLUENCE_DATA"):
        scienceqa.load(download=False)


def test_a_download_keeps_questions_without_pictures(folders, monkeypatch):
    kept = {key: value for key, value in ROW.items() if key != "pid"}
    pictured = {**kept, "image": {"bytes": b"\x89PNG", "path": "image.png"}}
    parquet.write_table(pa.Table.from_pylist([pictured, {**kept, "image": None}]), folders / "hub.parquet")
    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda *a, **k: ["README.md", "data/train-0.parquet"])
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *a, **k: str(folders / "hub.parquet"))
    [question] = scienceqa.load()
    assert question.pid == "train-1" and scienceqa.available() == (
        True, "Found in WHICHFLUENCE_HOME in datasets/scienceqa: scienceqa_text.parquet.")
    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda *a, **k: pytest.fail("it was there"))
    assert scienceqa.load() == (question,)


def test_damage_is_one_sentence(folders):
    write(folders / "data", [{"pid": "1"}])
    with pytest.raises(MissingData, match="damaged or lacks"):
        scienceqa.load()

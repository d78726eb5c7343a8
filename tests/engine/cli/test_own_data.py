"""`preview-data` and `clean-data` do on the command line what the page does with a user's own data."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.cli import main


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    for label, name in enumerate(("cat", "dog", "kitten")):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for place in range(6):
            shade = np.full((12, 12, 3), (70 * label, 10 * place, 150), dtype=np.uint8)
            Image.fromarray(shade).save(tmp_path / "mine" / name / f"{place}.png")
    (tmp_path / "mine" / "dog" / "broken.png").write_bytes(b"nothing")
    (tmp_path / "classes.csv").write_text("class,use_as\nkitten,cat\n")
    return tmp_path / "mine"


def test_a_preview_of_a_folder(mine, tmp_path, capsys):
    assert main(["preview-data", "--data", str(mine)]) == 0
    told = capsys.readouterr().out
    assert "3 classes with 18 training examples, read in colour at 32 × 32 pixels; 1 file was not read." in told
    assert "Not read: dog/broken.png: it cannot be read as an image" in told and "12 × 12" in told
    listed = [f"{name}/{place}.png" for name in ("cat", "dog") for place in (0, 1)]
    (tmp_path / "trusted.txt").write_text("\n".join(listed))
    assert main(["preview-data", "--data", str(mine), "--classes", str(tmp_path / "classes.csv"), "--size", "16",
                 "--trusted", str(tmp_path / "trusted.txt"), "--color", "grayscale"]) == 0
    told = capsys.readouterr().out
    assert "Read as 2 classes (cat, dog): 14 examples to search, 4 others." in told and "in grey at 16 × 16" in told


def test_a_cleaned_copy_and_a_script(mine, tmp_path, capsys):
    changes, out = tmp_path / "decided.csv", tmp_path / "cleaned.zip"
    changes.write_text("file,given,label\ncat/0.png,cat,dog\ndog/1.png,dog,\ndog/2.png,dog,dog\n")
    asked = ["clean-data", "--data", str(mine), "--changes", str(changes), "--classes", str(tmp_path / "classes.csv")]
    assert main([*asked, "--out", str(out)]) == 0
    assert "17 examples are left: 1 with a corrected label, 1 removed." in capsys.readouterr().out
    with zipfile.ZipFile(io.BytesIO(out.read_bytes())) as archive:
        names = set(archive.namelist())
    assert len(names) == 17 and "dog/0-2.png" in names and {Path(name).parts[0] for name in names} == {"cat", "dog"}
    assert main([*asked, "--out", str(tmp_path / "moves.sh")]) == 0
    assert "move ./dog/1.png ./.removed/dog ./.removed/dog/1.png" in (tmp_path / "moves.sh").read_text()
    assert len(list(mine.rglob("*.png"))) == 19


@pytest.mark.parametrize(("text", "out", "said"), [
    ("file,label\ncat/9.png,\n", "x.zip", "`cat/9.png` is not among the searched examples"),
    ("file,label\ncat/0.png,cow\n", "x.zip", "There is no class `cow`"),
    ("file,label\ncat/0.png,dog\ncat/0.png,\n", "x.zip", "names the same `file` twice"),
    ("of,label\n0,\n", "x.zip", "give the columns `file` or `row`"), ("file,label\n", "x.zip", "has no rows"),
    ("file,label\ncat/0.png,dog\n", "x.npz", "ends in `.zip`")])
def test_changes_that_cannot_be_made(mine, tmp_path, capsys, text, out, said):
    (tmp_path / "decided.csv").write_text(text)
    assert main(["clean-data", "--data", str(mine), "--changes", str(tmp_path / "decided.csv"), "--out",
                 str(tmp_path / out)]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / out).exists()


@pytest.fixture
def reviewed(tmp_path, monkeypatch):
    """records.jsonl, and decided.csv as the desk writes it."""
    from engine.applications.decisions import FINE, WRONG
    from engine.applications.language.review import RecordReview
    from engine.data import tasks

    monkeypatch.chdir(tmp_path)
    given = [{"prompt": f"Question {row}?", "response": "=1", "id": f"-{row}"} for row in range(6)]
    Path("records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in given))
    review = RecordReview(tasks.build({"name": "own", "train": "records.jsonl", "held": 2}), tmp_path, "mine")
    for row, verdict in ((3, WRONG), (1, FINE), (0, WRONG)):
        review.decide(row, verdict)
    Path("decided.csv").write_text(review.to_csv())
    return given


def test_records_without_those_that_are_taken_out(reviewed, capsys):
    assert main(["clean-data", "--data", "records.jsonl", "--changes", "decided.csv", "--out", "left.jsonl"]) == 0
    assert "4 records are left: 2 removed." in capsys.readouterr().out
    left = [json.loads(line) for line in Path("left.jsonl").read_text().splitlines()]
    assert left == [reviewed[row] for row in (1, 2, 4, 5)]


def test_a_corrected_answer_takes_the_place_of_the_stated_one(reviewed, capsys):
    record = {"id": "a", "prompt": "Which?", "response": "It is A.", "spans": {"answer": [6, 7]}, "choices": ["A", "B"]}
    Path("two.jsonl").write_text("".join(json.dumps(record) + "\n" for _ in range(2)))
    Path("decided.csv").write_text("record,id,verdict,answer\n1,a,corrected,B\n")
    assert main(["clean-data", "--data", "two.jsonl", "--changes", "decided.csv", "--out", "left.jsonl"]) == 0
    assert "2 records are left: 0 removed, 1 with a corrected answer or response." in capsys.readouterr().out
    left = [json.loads(line)["response"] for line in Path("left.jsonl").read_text().splitlines()]
    assert left == ["It is A.", "It is B."]


def test_a_rewritten_response_comes_back_by_the_command_as_by_the_desk(reviewed, tmp_path, capsys):
    from engine.applications.decisions import WRONG
    from engine.applications.language.review import RecordReview
    from engine.data import tasks

    review = RecordReview(tasks.build({"name": "own", "train": "records.jsonl", "held": 2}), tmp_path, "other")
    right = "-2, 'not' =1,\nin two lines"
    review.decide(2, WRONG, text=right)
    Path("decided.csv").write_text(review.to_csv())
    assert main(["clean-data", "--data", "records.jsonl", "--changes", "decided.csv", "--out", "left.jsonl"]) == 0
    assert "4 records are left: 2 removed, 1 with a corrected answer or response." in capsys.readouterr().out
    left = [json.loads(line) for line in Path("left.jsonl").read_text().splitlines()]
    assert left == [reviewed[1], {**reviewed[2], "response": right}, *reviewed[4:]]
    assert [json.loads(line)["response"] for line in review.cleaned().splitlines()] == ["=1", right]


@pytest.mark.parametrize(("text", "options", "said"), [
    ("record,id,verdict\n1,-2,keep\n", [], "names record 1"), ("record,id,verdict\n9,-9,keep\n", [], "record 9"),
    ("record,id,verdict\n1,-1,burn\n", [], "`burn` is not a verdict"), ("file,label\na,b\n", [], "`record` and `id`"),
    ("record,id,verdict\n" + "".join(f"{row},-{row},take out\n" for row in range(6)), [], "All records would be"),
    ("record,id,verdict\n1,-1,keep\n", ["--size", "8"], "leave out the options that say how")])
def test_decisions_that_are_not_about_these_records(reviewed, capsys, text, options, said):
    Path("decided.csv").write_text(text)
    asked = ["clean-data", "--data", "records.jsonl", "--changes", "decided.csv", "--out", "x.jsonl"]
    assert main([*asked, *options]) == 2
    assert said in capsys.readouterr().err and not Path("x.jsonl").exists()


def test_how_data_are_read_needs_data(tmp_path, capsys):
    assert main(["preview-data"]) == 2 and "give --data" in capsys.readouterr().err
    assert main(["noisy-labels", "--source", '{"dataset": "digits"}', "--size", "32", "--out",
                 str(tmp_path / "x.csv")]) == 2
    assert "--size says how your own data are read; give --data." in capsys.readouterr().err


def test_a_chosen_split_embeddings_turns_and_patterns_by_command(tmp_path, capsys):
    table, rows, records = tmp_path / "mine.csv", tmp_path / "e.npy", tmp_path / "r.jsonl"
    splits = ["train"] * 8 + ["val"] * 2 + ["test"] * 4
    table.write_text("\n".join(["label,split", *(f"{'ab'[at % 2]},{split}" for at, split in enumerate(splits))]))
    np.save(rows, np.arange(28.0).reshape(14, 2))
    assert main(["preview-data", "--data", str(table), "--embeddings", str(rows), "--verified", "val"]) == 0
    out, said = capsys.readouterr()
    assert "8 training examples and 2 test examples, 2 numbers each" in out and "`val` (2) are used" in said
    talk = [{"role": role, "content": words} for words in ("Hm.", "It is A") for role in ("user", "assistant")]
    records.write_text("\n".join(json.dumps({"messages": talk}) for _ in range(10)))
    assert main(["preview-data", "--data", str(records), "--turns", "every", "--answer-pattern", "is ([A-Z])"]) == 0
    assert "Of these 20, 10 have an answer span" in capsys.readouterr().err
    assert main(["preview-data", "--turns", "every"]) == 2 and "give --data" in capsys.readouterr().err

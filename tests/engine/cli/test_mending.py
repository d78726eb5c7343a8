"""The whole way by command on data without a test split: suspicion, decisions, accuracy out of fold, cleaned copy."""

import csv
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from engine.cli import main
from tests.engine.cli.test_noisy_labels import QUICK, folder


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mended(data, out, wrong):
    """The output of the four commands on data, of which `wrong` (file -> right label or nothing) is decided in the
    table that the first one writes."""
    assert main(["noisy-labels", "--data", data, "--source", QUICK, "--out", "suspicion.csv"]) == 0
    table = pd.read_csv("suspicion.csv", dtype=str, keep_default_na=False).set_index("file", drop=False)
    assert set(table["verdict"]) | set(table["right_label"]) == {""} and "TracIn · target logit" in table
    for file, label in wrong.items():
        table.loc[file, ["verdict", "right_label"]] = ["wrong", label]
    table.to_csv("suspicion.csv", index=False)
    assert main(["what-if-labels", "--data", data, "--source", QUICK, "--changes", "suspicion.csv", "--out",
                 "accuracy.csv", "--seeds", "1"]) == 0
    assert main(["clean-data", "--data", data, "--changes", "suspicion.csv", "--out", out]) == 0
    return pd.read_csv("accuracy.csv").set_index("what")


def test_a_folder_without_a_test_folder(home, capsys):
    mine = folder(home / "mine", ("",))
    accuracy = mended("mine", "cleaned.zip", {"cat/3.png": "dog", "dog/4.png": ""})
    said = capsys.readouterr().out
    assert "Confident learning counts" in said and "of 20 labels" in said
    assert "evaluated out of fold on 19 corrected labels, in 5 folds" in said
    assert accuracy.loc["after", "n_examples"] == 19 and accuracy.loc["change", "ci95"] >= 0
    with zipfile.ZipFile("cleaned.zip") as archive:
        before = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in mine.rglob("*.png")}
        after = {name: archive.read(name) for name in archive.namelist()}
    assert after.pop("dog/3-2.png") == before.pop("cat/3.png") and before.pop("dog/4.png")
    assert after == before


def test_a_folder_with_train_and_val_measures_on_val_or_out_of_fold(home, capsys):
    folder(home / "mine", ("train", "val"))
    accuracy = mended("mine", "cleaned.zip", {"train/cat/3.png": "dog"})
    assert accuracy.loc["before", "n_seeds"] == 1 and "seed_means" in accuracy
    with zipfile.ZipFile("cleaned.zip") as archive:
        names = set(archive.namelist())
    assert "train/dog/3-2.png" in names and {"val/cat/3.png", "val/dog/3.png"} < names and len(names) == 40
    assert main(["what-if-labels", "--data", "mine", "--source", QUICK, "--changes", "suspicion.csv", "--out",
                 "accuracy.csv", "--seeds", "1", "--folds", "2"]) == 0
    assert "evaluated out of fold on 20 corrected labels" in capsys.readouterr().out


def rows(count=40):
    rng = np.random.default_rng(0)
    for row in range(count):
        kind = row % 2
        yield [f"r{row}", ["low", "high"][kind], "" if row % 7 == 3 else f"{kind + rng.normal():.3f}",
               "" if row % 5 == 1 else ["red, dark", "blue"][kind], f"0{row}"]


def test_a_table_with_missing_values_keeps_every_other_byte(home, capsys):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([["id", "label", "a", "colour", "code"], *rows()])
    (home / "mine.csv").write_bytes(text.getvalue().encode())
    mended("mine.csv", "cleaned.csv", {"r4": "high", "r9": ""})
    before = text.getvalue().encode().split(b"\r\n")
    expected = [line for at, line in enumerate(before) if at != 10]
    expected[5] = before[5].replace(b"low", b"high")
    assert (home / "cleaned.csv").read_bytes() == b"\r\n".join(expected)
    assert "of 40 labels" in capsys.readouterr().out


def test_a_jsonl_keeps_its_types_and_its_ending(home):
    given = [{"id": row, "a": None if row % 7 == 3 else row + 0.5, "label": row % 2, "flag": row % 3 == 0,
              "tags": [1.50, row]} for row in range(40)]
    lines = [json.dumps(one) for one in given]
    lines[7] = lines[7].replace(", ", " ,  ")
    (home / "mine.jsonl").write_text("\n".join(lines) + "\n")
    mended("mine.jsonl", "cleaned.jsonl", {"4": "1", "9": ""})
    after = (home / "cleaned.jsonl").read_text().splitlines()
    assert json.loads(after[4]) == {**given[4], "label": 1} and [*after[:4], *after[5:]] == [
        line for at, line in enumerate(lines) if at not in (4, 9)]


def test_texts_with_labels_are_searched_and_mended(home):
    words = {"spam": "win cash now offer", "ham": "meeting notes attached tomorrow"}
    given = [{"text": f"{kind[row % 4]} {kind[(row + 1) % 4]} number {row}", "label": name}
             for row in range(20) for name, kind in ((name, text.split()) for name, text in words.items())]
    lines = [json.dumps(one) for one in given]
    (home / "mine.jsonl").write_text("\n".join(lines) + "\n")
    accuracy = mended("mine.jsonl", "cleaned.jsonl", {"row 4": "ham", "row 9": ""})
    after = [json.loads(line) for line in (home / "cleaned.jsonl").read_text().splitlines()]
    assert after == [{**one, "label": "ham"} if at == 4 else one for at, one in enumerate(given) if at != 9]
    assert accuracy.loc["after", "n_examples"] == 39

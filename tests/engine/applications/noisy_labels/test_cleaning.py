"""What a review makes of a user's own data: copies that load, moves that a shell carries out, lists by path."""

import io
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from engine.applications.decisions import FINE, WRONG, Decision
from engine.applications.noisy_labels import cleaning
from engine.applications.noisy_labels.own import usual
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput
from engine.data import load, uploads
from engine.data.upload_options import UploadOptions

ODD = "it's $(a) \"fine\" file; rm -rf.png"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))


def pictures(splits=("",)):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for split in splits:
            for label, name in enumerate(("cat", "-dog", "cow")):
                for place in range(6):
                    picture = io.BytesIO()
                    Image.new("RGB", (9, 9), (80 * label, 20 * place, 200 if split == "test/" else 0)).save(picture,
                                                                                                        "PNG")
                    called = ODD if place == 5 else f"{place}.png"
                    archive.writestr(f"wrap/{split}{name}/{called}", picture.getvalue())
        archive.writestr("wrap/notes.txt", "hello")
    return file.getvalue()


def drawn(content, filename, **reading):
    name = uploads.keep_reading(UploadOptions(of=uploads.keep(io.BytesIO(content), filename), **reading))
    return NoisySource.parse({**usual(load(name)), "dataset": name}).draw()


def decisions(data, changes):
    """file -> class, or None where it goes, as decisions."""
    row = {data.dataset.files[at]: place for place, at in enumerate(data.rows)}
    return {row[file]: Decision(row[file], WRONG, None if label is None else data.dataset.class_names.index(label))
            for file, label in changes.items()}


def names(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


CHANGES = {"cat/0.png": "-dog", f"cat/{ODD}": "cow", "cow/1.png": None}


def test_the_cleaned_zip_holds_every_picture_in_its_place():
    content = pictures()
    found = drawn(content, "mine.zip")
    before, after = names(content), names(cleaning.copy(found, decisions(found, CHANGES)))
    assert len(after) == 17 and after["-dog/0-2.png"] == before["wrap/cat/0.png"]
    assert after[f"cow/{ODD.replace('.png', '-2.png')}"] == before[f"wrap/cat/{ODD}"]
    assert "cow/1.png" not in after and "notes.txt" not in after
    same = set(after) - {"-dog/0-2.png", f"cow/{ODD.replace('.png', '-2.png')}"}
    assert all(after[name] == before[f"wrap/{name}"] for name in same)
    assert drawn(cleaning.copy(found, decisions(found, CHANGES)), "again.zip").evidence.classes == 3


@pytest.mark.parametrize("splits", [("",), ("train/", "test/")])
def test_the_script_does_in_a_folder_what_the_zip_holds(tmp_path, splits):
    content, folder = pictures(splits), tmp_path / "a folder"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    found, first = drawn(content, "mine.zip"), splits[0]
    decided = decisions(found, {first + file: label for file, label in CHANGES.items()})
    (tmp_path / "moves.sh").write_text(cleaning.script(found, decided))
    for _ in range(2):  # a second run names what is no longer there, and changes nothing
        done = subprocess.run(["sh", "moves.sh", "a folder/wrap"], cwd=tmp_path, capture_output=True, text=True,
                              check=True)
    assert done.stderr.count("not there:") == 3 and (folder / "wrap" / ".removed" / first / "cow" / "1.png").is_file()
    there = {path.relative_to(folder / "wrap").as_posix(): path.read_bytes()
             for path in (folder / "wrap").rglob("*.png") if ".removed" not in path.parts}
    assert there == names(cleaning.copy(found, decided)) and (folder / "wrap" / "notes.txt").is_file()


def test_merged_and_left_out_classes_and_verified_labels_are_part_of_the_copy():
    content = pictures()
    trusted = {f"{name}/{place}.png": "" for name in ("cat", "cow") for place in (2, 3)} | {"cat/1.png": "cow"}
    found = drawn(content, "mine.zip", classes={"-dog": ""}, trusted=trusted)
    after = names(cleaning.copy(found, {}))
    assert len(after) == 12 and "cow/1-2.png" in after and not any(name.startswith("-dog/") for name in after)
    merged = drawn(content, "mine.zip", classes={"-dog": "animal", "cow": "animal"})
    assert {Path(name).parts[0] for name in names(cleaning.copy(merged, {}))} == {"cat", "animal"}


def test_decisions_by_path_are_those_that_change_something():
    found = drawn(pictures(), "mine.zip")
    decided = decisions(found, CHANGES)
    fine = next(row for row in range(18) if row not in decided)
    table = cleaning.decided_by_path(found, {**decided, fine: Decision(fine, FINE)})
    assert {row.file: row.right_label or None for row in table.itertuples()} == CHANGES
    assert set(table["verdict"]) == {WRONG}


def test_an_npz_without_the_rows_that_go(tmp_path):
    rng, buffer, y = np.random.default_rng(0), io.BytesIO(), np.arange(30) % 3
    x = rng.normal(size=(30, 2))
    np.savez(buffer, x_train=x, y_train=y, x_query=rng.normal(size=(12, 2)), y_query=np.arange(12) % 3)
    found = drawn(buffer.getvalue(), "mine.npz")
    decided = decisions(found, {"x_train[4]": None, "x_train[7]": "2"})
    with np.load(io.BytesIO(cleaning.copy(found, decided))) as arrays:
        assert (arrays["x_train"] == np.delete(x, 4, 0)).all() and arrays["y_train"][6] == 2
        assert (np.delete(arrays["y_train"], 6) == np.delete(np.delete(y, 4), 6)).all()
    with pytest.raises(InvalidInput, match="not folders of images"):
        cleaning.script(found, decided)


def test_a_table_without_the_rows_that_go():
    rng, buffer = np.random.default_rng(0), io.BytesIO()
    table = pd.DataFrame({"id": [f"r{row}" for row in range(30)], "label": np.arange(30) % 3,
                          "a": rng.normal(size=30)})
    table.to_parquet(buffer)
    found = drawn(buffer.getvalue(), "mine.parquet")
    after = pd.read_parquet(io.BytesIO(cleaning.copy(found, decisions(found, {"r4": None, "r7": "2"}))))
    expected = table[table["id"] != "r4"].assign(label=lambda kept: kept["label"].where(kept["id"] != "r7", 2))
    pd.testing.assert_frame_equal(after, expected.reset_index(drop=True))


def test_a_class_that_would_be_empty_and_registered_data_are_a_sentence():
    found = drawn(pictures(), "mine.zip")
    with pytest.raises(InvalidInput, match="No example of the class `cow` would remain"):
        cows = [file for file in found.dataset.files if file.startswith("cow")]
        cleaning.outcome(found, decisions(found, dict.fromkeys(cows)))
    with pytest.raises(InvalidInput, match="your own data"):
        cleaning.copy(NoisySource(n_train=50, trusted=2).draw(), {})

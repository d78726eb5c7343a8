"""Datasets in the layout of the Hugging Face hub: what is written is read again, and what `datasets` writes is read."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.data import hub_card, hub_folder, uploads
from engine.data.dataset import Dataset
from engine.data.records import Record

NAMES = ("cat", "dog")
CLASSES = {"names": list(NAMES), "_type": "ClassLabel"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))


def made(features, **more):
    """12 training and 6 test examples of two classes."""
    x = np.random.default_rng(0).integers(0, 256, (18, features), dtype=np.uint8)
    y = np.arange(18) % 2
    return Dataset("made", "Cats and dogs", x[:12], y[:12], x[12:], y[12:], NAMES, **more)


def read(folder):
    return uploads.load(uploads.keep_path(folder))


def test_pictures_are_read_as_they_were_written(tmp_path):
    dataset = made(28 * 28, image_shape=(28, 28), scale=255.0, test_splits=("val",) * 2 + ("test",) * 4)
    assert hub_card.write(dataset, tmp_path / "out") == {"train": 12, "validation": 2, "test": 4}
    again = read(tmp_path / "out")
    assert again.class_names == NAMES and sorted(again.test_splits) == ["test"] * 4 + ["val"] * 2
    for split in ("train", "test"):
        ours, theirs = ({one.tobytes() + bytes([label]) for one, label in zip(
            own.pictures(split, np.arange(len(own.labels(split)))), own.labels(split), strict=True)}
            for own in (dataset, again))
        assert ours == theirs


def test_numbers_are_read_with_the_names_of_their_classes(tmp_path):
    dataset = made(5)
    hub_card.write(dataset, tmp_path / "out")
    again = read(tmp_path / "out")
    assert again.class_names == NAMES and (again.y_train == dataset.y_train).all()
    x = dataset.x_train
    assert np.allclose(again.x_train, (x - x.mean(0)) / x.std(0))


def test_records_keep_their_texts_and_spans(tmp_path):
    records = tuple(Record(id=str(row), prompt=f"Which, {row}?", response="The answer is A.", spans={"answer": (14, 15)}
                           )
                    for row in range(20))
    row = np.zeros((20, 1))
    dataset = Dataset("made", "Texts", row[:18], row[:18, 0].astype(int), row[18:], row[18:, 0].astype(int), ("A",),
                      records=(records[:18], records[18:]))
    hub_card.write(dataset, tmp_path / "out")
    again = [one for split in read(tmp_path / "out").records for one in split]
    assert [(one.id, one.prompt, one.response, one.answer) for one in again] == [
        (one.id, one.prompt, one.response, "A") for one in records]


def saved(folder, table, **features):
    """As `save_to_disk` leaves one split."""
    folder.mkdir(parents=True)
    table = table.replace_schema_metadata({hub_folder.NOTES: json.dumps({"info": {"features": features}}).encode()})
    with pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink, pa.ipc.new_stream(
            sink, table.schema) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))


def test_what_save_to_disk_wrote_is_read(tmp_path):
    for split, count in (("train", 12), ("test", 4)):
        saved(tmp_path / "own" / split, pa.table({"size": np.arange(count) / 2, "label": np.arange(count) % 2}),
              label=CLASSES)
    again = read(tmp_path / "own")
    assert again.class_names == NAMES and (len(again.y_train), len(again.y_test)) == (12, 4)
    assert (again.y_test == np.arange(4) % 2).all()


@pytest.mark.parametrize(("write", "said"), [
    (lambda folder: [pq.write_table(pa.table({"label": [0]}), _under(folder, f"{name}/train-0.parquet"))
                     for name in ("en", "de")], "several configurations (de, en)"),
    (lambda folder: [pq.write_table(pa.table({name: [0]}), _under(folder, f"{name}-0.parquet"))
                     for name in ("train", "test")], "different columns"),
    (lambda folder: _under(folder, "train.parquet").write_bytes(b"PAR1"), "cannot be read as Parquet"),
    (lambda folder: pq.write_table(pa.table({"image": [{"bytes": None, "path": "a.png"}], "label": [0]}).
                                   replace_schema_metadata({hub_folder.NOTES: json.dumps({"info": {"features": {
                                       "label": CLASSES}}}).encode()}), _under(folder, "train.parquet")),
     "its image in another file"),
    (lambda folder: pq.write_table(pa.table({"image": [{"bytes": b"\x89PNG", "path": "a.png"}]}),
                                   _under(folder, "train.parquet")), "no column of classes"),
    (lambda folder: _under(folder, "state.json").write_text("{}"), "names no data files"),
    (lambda folder: _under(folder, "state.json").write_text('{"_data_files": [{"filename": 3}]}'),
     "names no data files"),
    (lambda folder: _under(folder, "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}'),
     "a.arrow"),
    (lambda folder: pq.write_table(pa.table({"image": [{"bytes": b"\x89PNG", "path": "a.png"}], "label": [0]}).
                                   replace_schema_metadata({hub_folder.NOTES: json.dumps({"info": {"features": {
                                       "label": {"_type": "ClassLabel"}}}}).encode()}), _under(folder, "a.parquet")),
     "no column of classes")])
def test_what_cannot_be_read_is_said(tmp_path, write, said):
    write(tmp_path / "own")
    with pytest.raises(InvalidInput) as error:
        uploads.keep_path(tmp_path / "own")
    assert said in str(error.value)


def _under(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return folder / name


def test_the_command_writes_a_folder_once(tmp_path, capsys):
    arguments = ["export-dataset", "--dataset", "fashion_small", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0 and "2,000 examples in train, 500 examples in test." in capsys.readouterr().out
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\npretty_name:") and "path: data/train-*" in card and "`Sneaker`" in card
    assert main(arguments) == 2 and "exists already" in capsys.readouterr().err
    assert main([*arguments[:1], "--out", str(tmp_path / "new")]) == 2 and "--dataset" in capsys.readouterr().err

"""How a user's own data are read: colour, size, classes, verified examples, previews, and tables."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import embeddings, originals, tables, uploads
from engine.data.preview import preview
from engine.data.splits import mapped, verified, whole
from engine.data.upload_options import UploadOptions, parse_trusted
from tests.engine.data.test_uploads import held


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path / "uploads"


def pictures(splits=("",), mode="RGB", wrapped="mine/", count=6):
    """A zip of cats, kittens and dogs of several sizes, with a broken picture and files that are none."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for split in splits:
            for label, name in enumerate(("cat", "dog", "kitten")):
                for place in range(count):
                    shade = (80 * label, 20 * place, 200 if split else 100)
                    picture = io.BytesIO()
                    Image.new(mode, (40 + place, 30), shade if mode == "RGB" else shade[1]).save(picture, "PNG")
                    archive.writestr(f"{wrapped}{split}{name}/{place}.png", picture.getvalue())
        archive.writestr(f"{wrapped}{splits[0]}cat/broken.jpg", b"nothing")
        archive.writestr(f"{wrapped}notes.txt", "hello")
        archive.writestr(f"{wrapped}.DS_Store", "x")
    file.seek(0)
    return file


def kept(**changes):
    return uploads.keep(pictures(**changes), "mine.zip")


def test_colour_is_kept_where_there_is_one():
    assert data.load(kept()).image_shape == (32, 32, 3)
    assert data.load(kept(mode="L")).image_shape == (28, 28)
    name = uploads.keep_reading(UploadOptions(of=kept(), color="grayscale", size=16))
    assert data.load(name).image_shape == (16, 16) and name.endswith(".reading") and uploads.is_upload(name)
    assert data.title(name) == "mine.zip, with your settings"


@pytest.mark.parametrize(("called", "title"), [
    ("My photos (2024).zip", "My photos (2024).zip"), ("<b>*a*[x](y)`z`.zip", "b a x (y) z .zip"),
    ("\u202e\u2066.zip", "zip"), ("x" * 300 + ".zip", "x" * 60)])
def test_an_upload_is_called_as_its_file_in_plain_text(called, title):
    assert data.title(uploads.keep(pictures(), called)).lstrip(". ") == title


def test_a_file_whose_name_is_lost_is_called_by_its_kind(home):
    name = uploads.keep(pictures(), "a.zip")
    (uploads.base(name).with_name(f"{name}.called")).unlink()
    assert data.title(name) == "Your images (zip)"


def test_the_usual_reading_is_the_upload_itself(home):
    name = kept()
    assert uploads.keep_reading(UploadOptions(of=name)) == name and len(held(home)) == 1
    assert uploads.content(name) != uploads.content(uploads.keep_reading(UploadOptions(of=name, size=16)))


def test_classes_are_renamed_merged_and_left_out():
    whole_set = data.load(kept())
    found = mapped(whole_set, {"kitten": "cat"})
    assert found.class_names == ("cat", "dog")
    for file, label in zip((*found.files, *found.test_files), [*found.y_train, *found.y_test], strict=True):
        assert found.class_names[label] == ("dog" if file.startswith("dog/") else "cat")
    without = mapped(whole_set, {"kitten": "", "cat": "tomcat"})
    assert without.class_names == ("dog", "tomcat")
    assert not any(file.startswith("kitten/") for file in (*without.files, *without.test_files))
    place = {file: row for row, file in enumerate(whole_set.files)}
    assert all((without.raw_train[row] == whole_set.raw_train[place[file]]).all()
               for row, file in enumerate(without.files))


@pytest.mark.parametrize(("classes", "said"), [
    ({"cow": "cat"}, "no class `cow`"), ({"cat": "", "dog": ""}, "1 class would remain"),
    ({"cat": "../evil"}, "cannot name a class"), ({"cat": ".git"}, "cannot name a class"),
    ({"cat": "a" * 200}, "cannot name a class")])
def test_classes_that_cannot_be(classes, said, home):
    name = kept()
    with pytest.raises(InvalidInput, match=said):
        uploads.keep_reading(UploadOptions(of=name, classes=classes))
    assert len(held(home)) == 1


def test_verified_examples_become_the_test_split_and_the_drawn_one_goes_back():
    listed = {f"{name}/{place}.png": "" for name in ("cat", "dog", "kitten") for place in (0, 1)}
    listed["cat/0.png"] = "dog"
    listed["dog/2.png"] = "cat"
    found = data.load(uploads.keep_reading(UploadOptions(of=kept(), trusted=listed)))
    assert not found.test_from_train and sorted(found.test_files) == sorted(listed)
    assert len(found.files) == 18 - 7 and not set(found.files) & set(listed)
    label = dict(zip(found.test_files, (found.class_names[y] for y in found.y_test), strict=True))
    assert label["cat/0.png"] == "dog" and label["cat/1.png"] == "cat" and label["dog/2.png"] == "cat"


def test_a_test_folder_stays_verified_beside_a_list():
    base = data.load(kept(splits=("train/", "test/")))
    found = verified(base, {"train/cat/0.png": ""})
    assert len(found.y_test) == 19 and "train/cat/0.png" in found.test_files
    assert found.test_origin == "`test` folder and list of verified examples"


@pytest.mark.parametrize(("listed", "said"), [
    ({"cat/99.png": ""}, "which is not among the data"), ({"cat/0.png": "cow"}, "the class `cow`"),
    ({"cat/0.png": "", "cat/1.png": "", "dog/0.png": ""}, "are of class `kitten`|is of class `dog`")])
def test_verified_examples_that_cannot_be(listed, said):
    with pytest.raises(InvalidInput, match=said):
        verified(data.load(kept()), listed)


def test_a_list_of_verified_examples_is_read_line_by_line():
    assert parse_trusted("./cat/0.png\n\n dog/1.png\tcat \n") == {"cat/0.png": "", "dog/1.png": "cat"}
    for text, said in (("\n", "is empty"), ("a\tcat\na\tdog", "two classes")):
        with pytest.raises(InvalidInput, match=said):
            parse_trusted(text)


def test_all_examples_together_keep_their_files_and_flags():
    base = data.load(kept())
    found = whole(base)
    assert found.files == base.files + base.test_files and not len(found.y_test)
    assert (found.y_train == np.concatenate([base.y_train, base.y_test])).all()


def test_a_preview_says_what_was_understood_and_what_was_skipped():
    found = preview(kept())
    assert [(one.name, one.train, one.test) for one in found.classes] == [
        ("cat", 6, 0), ("dog", 6, 0), ("kitten", 6, 0)]
    assert found.colour == "read in colour at 32 × 32 pixels"
    assert all(one.smallest[0] >= 40 and one.largest[0] <= 45 and one.example.startswith(one.name)
               for one in found.classes)
    assert dict(found.left_out).keys() == {"cat/broken.jpg", "notes.txt", "mine/.DS_Store"}
    assert "cannot be read as an image" in dict(found.left_out)["cat/broken.jpg"]
    assert found.said == data.load(kept()).said and "`notes.txt`" in found.said[0]
    assert found.sentence == ("3 classes with 18 training examples, read in colour at 32 × 32 pixels; 3 files were not "
                              "read.")
    read = uploads.keep_reading(UploadOptions(of=kept(), classes={"cat": ""}))
    assert [one.name for one in preview(read).classes] == ["cat", "dog", "kitten"]


def test_a_thumbnail_is_the_picture_as_it_came():
    name = kept(splits=("train/", "test/"))
    dataset = data.load(name)
    packed = originals.thumbnail(uploads.base(name), "train/cat/3.png", dataset.files, 160)
    assert Image.open(io.BytesIO(packed)).size == (43, 30)
    assert max(Image.open(io.BytesIO(originals.thumbnail(uploads.base(name), "train/cat/3.png", dataset.files,
                                                         20))).size) == 20
    assert originals.thumbnail(uploads.base(name), "train/cat/broken.jpg", dataset.files, 20) is None


def table(**changes):
    rng, file = np.random.default_rng(0), io.BytesIO()
    labels = ["yes", "no", "maybe"] * 10
    columns = {"id": [f"c-{row}" for row in range(30)], "label": labels, "a": rng.normal(5, 2, 30),
               "b": np.arange(30), **changes}
    pd.DataFrame({name: values for name, values in columns.items() if values is not None}).to_parquet(file)
    file.seek(0)
    return file


def test_texts_that_are_no_utf8_are_refused(tmp_path):
    column = pa.Array.from_buffers(pa.string(), 4, [None, pa.py_buffer(np.arange(5, dtype=np.int32).tobytes()),
                                                    pa.py_buffer(b"a\xffcd")])
    path = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"path": column, "x": [1.0, 2.0, 3.0, 4.0], "label": ["a", "b", "a", "b"]}), path)
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        tables.read_table(path)


def test_a_table_is_read_with_names_and_standardised_numbers():
    found = data.load(uploads.keep(table(), "mine.parquet"))
    assert found.class_names == ("maybe", "no", "yes") and found.n_features == 2 and found.test_from_train
    assert sorted((*found.files, *found.test_files)) == sorted(f"c-{row}" for row in range(30))
    assert np.allclose(found.x_train.mean(0), 0) and np.allclose(found.x_train.std(0), 1)
    split = ["train"] * 24 + ["test"] * 6
    brought = data.load(uploads.keep(table(split=split), "mine.parquet"))
    assert len(brought.y_test) == 6 and not brought.test_from_train and brought.test_files[0] == "c-24"
    assert data.load(uploads.keep(table(id=None), "mine.parquet")).files[0].startswith("row ")


@pytest.mark.parametrize(("changes", "said"), [
    ({"label": None}, "no column `label`, and none of"), ({"label": ["yes"] * 30}, "All values of the column `label`"),
    ({"label": ["yes", None] * 15}, "is empty in 15"),
    ({"c": [{"x": 1}] * 30}, "column `c` holds neither numbers nor texts"),
    ({"a": [np.inf] * 30}, "`a` has an infinite or huge number in row 0"),
    ({"id": ["same"] * 30}, "gives two rows the same name"),
    ({"split": ["fold 1"] * 30}, "says `fold 1`"), ({"a": None, "b": None}, "has no features")])
def test_tables_that_cannot_be(changes, said, home):
    with pytest.raises(InvalidInput, match=said):
        uploads.keep(table(**changes), "mine.parquet")
    assert not list(home.iterdir())


def test_a_file_that_is_no_parquet(home):
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        uploads.keep(io.BytesIO(b"PAR1 nonsense"), "mine.parquet")


@pytest.mark.parametrize("notes", ['{"columns": []}', "[1]", '{"index_columns": 5, "columns": []}',
                                   '{"index_columns": ["gone"], "columns": [{"name": null}], "column_indexes": []}'])
def test_damaged_notes_of_pandas_are_refused(notes, tmp_path):
    path = tmp_path / "notes.parquet"
    plain = pa.table({"x": [1.0, 2.0], "label": ["a", "b"]})
    pq.write_table(plain.replace_schema_metadata({"pandas": notes}), path)
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        tables.read_table(path)


def test_two_columns_of_one_name():
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    labels = pa.array(["x", "y"])
    parquet.write_table(pa.Table.from_arrays([labels, labels], names=["label", "label"]), file)
    file.seek(0)
    with pytest.raises(InvalidInput, match="two columns `label`|cannot be read as Parquet"):
        uploads.keep(file, "mine.parquet")


@pytest.mark.parametrize(("side", "shape"), [(95, (32, 32, 3)), (96, (64, 64, 3))])
def test_photos_are_read_larger(side, shape):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for place in range(8):
            picture = io.BytesIO()
            Image.new("RGB", (side + 40, side), (200, 20 * place, 0)).save(picture, "JPEG")
            archive.writestr(f"{'ab'[place % 2]}/{place}.jpg", picture.getvalue())
    file.seek(0)
    name = uploads.keep(file, "mine.zip")
    assert data.load(name).image_shape == shape
    assert data.load(uploads.keep_reading(UploadOptions(of=name, size=16))).image_shape == (16, 16, 3)


def saved(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


@pytest.mark.parametrize(("split", "rows"), [("", {"v0", "v1", "t0", "t1", "t2", "t3"}), ("val", {"v0", "v1"}),
                                             ("test", {"t0", "t1", "t2", "t3"})])
def test_the_chosen_split_alone_holds_the_verified_queries(split, rows):
    lines = [f"{name}{at},{at % 2},{at},{kind}" for name, kind, count in (("a", "train", 8), ("v", "dev", 2),
                                                                         ("t", "test", 4)) for at in range(count)]
    name = uploads.keep(io.BytesIO("\n".join(["id,label,x,split", *lines]).encode()), "mine.csv")
    read = uploads.keep_reading(UploadOptions(of=name, queries=split))
    dataset = data.load(read)
    assert set(dataset.test_files) == rows and len(dataset.y_train) == 8 and not dataset.test_from_train
    assert preview(read).splits == (("test", 4), ("val", 2)) and sum(one.test for one in preview(read).classes) == len(
        rows)
    assert np.array_equal(dataset.raw_train, data.load(name).raw_train)
    if split:
        assert f"`{split}` ({len(rows)}) are used" in dataset.said[-1]


def test_pictures_have_splits_to_choose_from_and_others_have_none():
    name = kept(splits=("train/", "val/"))
    with pytest.raises(InvalidInput, match="no split `test` besides the training examples"):
        uploads.keep_reading(UploadOptions(of=name, queries="test"))
    assert set(data.load(uploads.keep_reading(UploadOptions(of=name, queries="val"))).test_files) == set(
        data.load(name).test_files)


def test_embeddings_are_the_features_of_their_examples(home):
    rows = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    table = "\n".join(["id,label,text", *(f"e{at},{at % 2},w" for at in range(12))]).encode()
    by_order = embeddings.keep(saved(embeddings=rows), "e.npz")
    shuffled = np.random.default_rng(1).permutation(12)
    by_name = embeddings.keep(saved(embeddings=rows[shuffled], names=np.array([f"e{at}" for at in shuffled])), "e.npz")
    for stored in (by_order, by_name):
        dataset = data.load(uploads.keep(io.BytesIO(table), "mine.csv", embeddings=stored))
        train = np.array([int(name[1:]) for name in dataset.files])
        wide = rows.astype(np.float64)
        expected = (wide - wide[train].mean(0)) / wide[train].std(0)
        np.testing.assert_allclose(dataset.x_train, expected[train], rtol=1e-12)
        np.testing.assert_allclose(dataset.x_test, expected[[int(name[1:]) for name in dataset.test_files]], rtol=1e-12)
    assert by_order in [entry.name for entry in embeddings.entries()]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_embeddings_of_a_table_are_those_of_an_npz(suffix):
    """Numbers in columns, or a column of lists, with the names of examples beside them."""
    rows, names = np.arange(6.0).reshape(3, 2), np.array(["b", "a", "c"])
    frame = pd.DataFrame(rows, columns=["e0", "e1"]) if suffix == "csv" else pd.DataFrame({"vector": list(rows)})
    file = io.BytesIO()
    getattr(frame.assign(path=names), f"to_{suffix}")(file, index=False)
    file.seek(0)
    read = embeddings.read(embeddings.keep(file, f"e.{suffix}"))
    assert np.array_equal(read.rows, rows) and read.names == tuple(names)


def test_embeddings_of_pictures_go_by_sorted_paths():
    name = kept()
    files = sorted((*(whole := data.load(name)).files, *whole.test_files))
    file = io.BytesIO()
    np.save(file, np.arange(len(files) * 2.0).reshape(-1, 2))
    file.seek(0)
    dataset = data.load(uploads.keep_reading(UploadOptions(of=name, embeddings=embeddings.keep(file, "e.npy"))))
    position = {file: row for row, file in enumerate(files)}
    train = [position[file] for file in dataset.files]
    assert np.array_equal(np.argsort(dataset.raw_train[:, 0]), np.argsort(train)) and dataset.image_shape is None
    assert dataset.files == whole.files and "from `cat/0.png` to" in dataset.said[-1]


@pytest.mark.parametrize(("file", "suffix", "words"), [
    (saved(embeddings=np.ones((12, 2)), names=np.array(["a"] * 12)), "npz", "the same name twice"),
    (saved(embeddings=np.ones((12, 2)), other=np.ones(2)), "npz", "contains `embeddings`, `other`"),
    (saved(embeddings=np.ones(12)), "npz", "one row of numbers per example"),
    (saved(embeddings=np.array([["a"]])), "npz", "save it as numbers"),
    (saved(embeddings=np.array([[None]])), "npz", "never unpickled"),
    (io.BytesIO(b"\x93NUMPY\x01\x00"), "npy", "cannot be read as a plain array"),
    (io.BytesIO(b"path,e0\na,1\nb,x\n"), "csv", "must hold numbers"),
    (io.BytesIO(b""), "pt", "neither npy nor npz")])
def test_embeddings_that_cannot_be_read_are_refused_and_not_stored(file, suffix, words):
    file.seek(0)
    with pytest.raises(InvalidInput, match=words):
        embeddings.keep(file, f"e.{suffix}")
    assert not embeddings.entries()


def test_embeddings_that_do_not_fit_the_examples_are_refused(home):
    for arrays, words in (({"embeddings": np.ones((3, 2))}, "3 embeddings for 18 examples"),
                          ({"embeddings": np.ones((1, 2)), "names": np.array(["cat/0.png"])}, "has no embedding")):
        stored = embeddings.keep(saved(**arrays), "e.npz")
        with pytest.raises(InvalidInput, match=words):
            uploads.keep_reading(UploadOptions(of=kept(), embeddings=stored))


def test_turns_and_patterns_are_a_reading_of_records():
    talk = [{"role": role, "content": words} for words in ("One.", "The answer is B.")
            for role in ("user", "assistant")]
    lines = [json.dumps({"id": str(at), "messages": talk}) for at in range(10)]
    name = uploads.keep(io.BytesIO("\n".join(lines).encode()), "mine.jsonl")
    read = uploads.keep_reading(UploadOptions(of=name, turns="every", mark={"answer": "The answer is ([A-Z])"}))
    records = [record for split in data.load(read).records for record in split]
    assert data.holds_records(read) and len(records) == 20 and len(data.load(name).y_train) == 9
    assert [record.answer for record in records] == ["", "B"] * 10
    assert "18 records" in data.load(read).said[0] and "10 have an answer span and 0 have" in data.load(read).said[1]
    for unfit in ({"classes": {"B": "A"}}, {"label": "id"}, {"embeddings": "embeddings-" + "0" * 24 + ".npy"}):
        with pytest.raises(InvalidInput, match=f"`{next(iter(unfit))}` does not apply to"):
            uploads.keep_reading(UploadOptions(of=name, **unfit))
    with pytest.raises(InvalidInput, match="`turns` does not apply to"):
        uploads.keep_reading(UploadOptions(of=kept(), turns="every"))


def test_a_reading_without_the_newer_fields_is_written_as_before():
    assert set(UploadOptions(of="upload").model_dump(mode="json")) == {"of", "color", "size", "classes", "trusted"}

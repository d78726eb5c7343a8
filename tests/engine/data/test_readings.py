"""How a user's own data are read: colour, size, classes, verified examples, previews, and tables."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import originals, tables, uploads
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
    assert data.title(name) == "Your images (zip), as you read them"


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
    ({"cow": "cat"}, "no class `cow`"), ({"cat": "", "dog": ""}, "1 class would be left"),
    ({"cat": "../evil"}, "is no name for a class"), ({"cat": ".git"}, "is no name for a class"),
    ({"cat": "a" * 200}, "is no name for a class")])
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
    assert not found.test_drawn and sorted(found.test_files) == sorted(listed)
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
    assert "cannot be read as a picture" in dict(found.left_out)["cat/broken.jpg"]
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
    assert found.class_names == ("maybe", "no", "yes") and found.n_features == 2 and found.test_drawn
    assert sorted((*found.files, *found.test_files)) == sorted(f"c-{row}" for row in range(30))
    assert np.allclose(found.x_train.mean(0), 0) and np.allclose(found.x_train.std(0), 1)
    split = ["train"] * 24 + ["test"] * 6
    brought = data.load(uploads.keep(table(split=split), "mine.parquet"))
    assert len(brought.y_test) == 6 and not brought.test_drawn and brought.test_files[0] == "c-24"
    assert data.load(uploads.keep(table(id=None), "mine.parquet")).files[0].startswith("row ")


@pytest.mark.parametrize(("changes", "said"), [
    ({"label": None}, "no column `label`, and none of"), ({"label": ["yes"] * 30}, "All labels"),
    ({"label": ["yes", None] * 15}, "is empty in 15"),
    ({"c": [{"x": 1}] * 30}, "column `c` holds neither numbers nor texts"),
    ({"a": [np.inf] * 30}, "`a` has an infinite or huge number in row 0"),
    ({"id": ["same"] * 30}, "names two rows alike"),
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

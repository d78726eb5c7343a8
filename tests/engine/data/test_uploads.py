"""Uploads: kept by content if they load, and not kept at all if they do not."""

import hashlib
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from engine import data
from engine.basics.errors import InvalidInput, MissingData
from engine.data import uploads


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path / "uploads"


def held(home):
    """The files that are kept, without what tells their own names."""
    return [path.name for path in home.iterdir() if path.suffix != ".called"]


def npz(**changes):
    rng = np.random.default_rng(0)
    file = io.BytesIO()
    np.savez(file, **{"x_train": rng.normal(size=(8, 3)), "y_train": np.arange(8) % 2, "x_query": np.ones((2, 3)),
                      "y_query": np.array([0, 1]), "candidates": np.array([5, 2]), **changes})
    return file.getvalue()


def pictures(classes=("cat", "dog"), count=4, mode="L"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for label, name in enumerate(classes):
            for k in range(count):
                picture = io.BytesIO()
                Image.new(mode, (9, 9), 10 * k + 100 * label).save(picture, "png")
                archive.writestr(f"animals/{name}/{k}.png", picture.getvalue())
    return file.getvalue()


def zip_of(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    return file.getvalue()


@pytest.mark.parametrize(("content", "filename", "suffix"), [
    (npz(), "mine.npz", "npz"), (npz(), "MINE.NPZ", "npz"), (pictures(), "my pictures.zip", "zip"),
])
def test_a_good_file_is_kept_by_its_content(content, filename, suffix, home):
    name = uploads.keep(io.BytesIO(content), filename)
    assert name == f"upload-{hashlib.sha256(content).hexdigest()[:16]}.{suffix}" and uploads.is_upload(name)
    assert held(home) == [name] and (home / name).read_bytes() == content
    assert uploads.keep(io.BytesIO(content), f"another name.{suffix}") == name and len(held(home)) == 1


def test_what_is_kept_can_be_drawn_from():
    name = uploads.keep(io.BytesIO(npz()), "a.npz")
    dataset = data.load(name)
    assert dataset.name == name and dataset.x_train.shape == (8, 3) and dataset.candidates.tolist() == [2, 5]
    name = uploads.keep(io.BytesIO(pictures()), "a.zip")
    dataset = data.load(name)
    assert dataset.class_names == ("cat", "dog") and len(dataset.y_train) + len(dataset.y_test) == 8
    assert dataset.image_shape == (28, 28) and uploads.load(name).fingerprint == dataset.fingerprint


def test_other_content_has_another_name(home):
    names = {uploads.keep(io.BytesIO(npz(y_query=np.array([0, label]))), "a.npz") for label in (0, 1)}
    assert len(names) == 2 and len(held(home)) == 2


@pytest.mark.parametrize(("content", "filename", "said"), [
    (npz(), "mine.csv", "is not a text file"),
    (npz(), "mine.doc", "neither .npz nor .zip"),
    (npz(), "npz", "neither"),
    (b"", "mine.npz", "cannot be opened"),
    (b"nonsense", "mine.zip", "cannot be opened"),
    (npz()[:200], "mine.npz", "cannot be opened|cut short"),
    (npz(x_train=np.full((8, 3), np.nan)), "mine.npz", "NaN"),
    (npz(y_train=np.zeros(8, int)), "mine.npz", "two or more classes"),
    (npz(x_train=np.array([[{}] * 3] * 8)), "mine.npz", "never unpickled"),
    (npz(candidates=np.array([99])), "mine.npz", "candidate 99"),
    (npz(), "mine.zip", "two or more|class|images"),
    (pictures(), "mine.npz", "has no `x_train`"),
    (pictures(classes=("cat",)), "mine.zip", "class"),
    (zip_of("a.txt", "b/c.txt"), "mine.zip", "class"),
    (zip_of("../evil/cat/1.png", "x/dog/1.png"), "mine.zip", "outside"),
    (zip_of("x/cat/1.png", "x/dog/1.png"), "mine.zip", "None of the images"),
])
def test_a_bad_file_is_refused_and_not_kept(content, filename, said, home):
    with pytest.raises(InvalidInput, match=said) as caught:
        uploads.keep(io.BytesIO(content), filename)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert not home.exists() or not list(home.iterdir())


def test_a_file_that_is_too_large_is_not_read_to_its_end(home, monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            assert 0 <= size <= 1001
            self.given += size
            return b"x" * size

    monkeypatch.setattr(uploads, "MOST_BYTES", 1000)
    with pytest.raises(InvalidInput, match="larger than"):
        uploads.keep(Endless(), "mine.npz")
    assert not home.exists() or not list(home.iterdir())


def test_any_failure_while_loading_keeps_nothing(home, monkeypatch):
    """Whatever a loader raises: a file that nobody can load must not stay and be taken for a known one."""
    for error in (MissingData("It is gone."), OSError("disk"), MemoryError()):
        def fail(name, error=error):
            raise error

        monkeypatch.setattr(uploads, "load", fail)
        with pytest.raises(type(error)):
            uploads.keep(io.BytesIO(npz()), "mine.npz")
        assert not list(home.iterdir())


def test_a_refusal_of_records_names_no_file_of_this_program(home):
    with pytest.raises(InvalidInput, match="write a list of objects") as error:
        uploads.keep(io.BytesIO(b'[{"prompt": "a", "response": "b"},]'), "r.json")
    assert "upload-" not in str(error.value)


def test_an_upload_that_is_gone(home):
    name = uploads.keep(io.BytesIO(npz()), "a.npz")
    (home / name).unlink()
    with pytest.raises(MissingData, match="no longer on this machine; upload"):
        uploads.load(name)


@pytest.mark.parametrize("name", [
    "upload-", "upload-../../etc/passwd", "upload-0123456789abcdef.exe", "upload-0123456789ABCDEF.npz",
    "upload-0123456789abcdef.npz/..", "upload-0123456789abcdef.npz\n", "upload-" + "0" * 1000 + ".npz",
])
def test_names_that_are_none(name):
    with pytest.raises(InvalidInput, match="not the name of an upload") as caught:
        data.load(name)
    assert len(str(caught.value)) < 200


def test_a_stored_file_that_was_cut_is_refused_and_stored_again(tmp_path):
    content = b"a,label\n" + b"".join(b"%d,%s\n" % (row, b"xy"[row % 2:][:1]) for row in range(40))
    name = uploads.keep(io.BytesIO(content), "t.csv")
    path = uploads.FILES.path(name)
    path.write_bytes(content[:len(content) // 2])
    with pytest.raises(MissingData, match="is damaged on this machine; upload the file again"):
        uploads.load(name)
    assert uploads.keep(io.BytesIO(content), "t.csv") == name and path.read_bytes() == content
    assert len(uploads.load(name).y_train) + len(uploads.load(name).y_test) == 40

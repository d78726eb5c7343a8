"""A user's pictures: both layouts, zips, limits, and files that are not what they seem."""

import io
import stat
import zipfile
import zlib

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from engine.basics.errors import InvalidInput, MissingData
from engine.data import image_folder, load_image_folder, uploads


def picture(path, value=100, size=(12, 12), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value if mode == "L" else (value, value // 2, 0)).save(path)


def plain(root, classes=("cat", "dog"), count=8):
    for label, name in enumerate(classes):
        for k in range(count):
            picture(root / name / f"{k}.png", 10 * k + 100 * label)
    return root


def split(root):
    plain(root / "train", ("ant", "bee", "cow"), 3)
    plain(root / "test", ("bee", "cow"), 2)
    return root


def zipped(root):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(root.rglob("*")):
            archive.write(path, path.relative_to(root.parent))
    file.seek(0)
    return file


def archive_of(*members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    file.seek(0)
    return file


def refused(said, source, error=InvalidInput, **options):
    with pytest.raises(error, match=said) as caught:
        load_image_folder(source, **options)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_one_folder_a_class_is_split_by_class(tmp_path):
    data = load_image_folder(plain(tmp_path))
    assert data.x_train.shape == (12, 784) and data.x_test.shape == (4, 784)
    assert np.array_equal(np.bincount(data.y_train), [6, 6]) and np.array_equal(np.bincount(data.y_test), [2, 2])
    assert data.class_names == ("cat", "dog") and data.image_shape == (28, 28) and data.left_out == () == data.said
    grays = np.concatenate([data.raw_train[:, 0], data.raw_test[:, 0]])
    assert len(set(grays)) == 16  # each of the 16 different pictures is in exactly one split
    assert "12 training and 4 test images" in data.note and data.test_from_train


def test_split_follows_its_seed(tmp_path):
    plain(tmp_path)
    one, same, other = (load_image_folder(tmp_path, seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    for seed in range(5):
        assert np.array_equal(np.bincount(load_image_folder(tmp_path, seed=seed).y_test), [2, 2])


def test_train_and_test_folders_share_the_training_numbers(tmp_path):
    data = load_image_folder(split(tmp_path), size=4, color="rgb")
    assert data.class_names == ("ant", "bee", "cow") and data.image_shape == (4, 4, 3)
    assert np.array_equal(data.y_train, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert np.array_equal(data.y_test, [1, 1, 2, 2])
    assert data.x_train.shape == (9, 48)


def test_pixels_are_those_of_the_picture(tmp_path):
    split(tmp_path)
    picture(tmp_path / "train" / "ant" / "0.png", 200)
    data = load_image_folder(tmp_path, size=5, color="rgb")
    assert np.array_equal(data.image("train", 0), np.broadcast_to([200, 100, 0], (5, 5, 3)))
    assert np.allclose(data.x_train[0].reshape(5, 5, 3)[..., 0], 200 / 255)


def test_sixteen_bit_gray_is_scaled_and_not_clipped(tmp_path):
    split(tmp_path)
    Image.fromarray(np.full((6, 6), 257 * 80, dtype=np.uint16)).save(tmp_path / "train" / "ant" / "0.png")
    assert (load_image_folder(tmp_path, size=6).image("train", 0) == 80).all()


def test_pictures_are_turned_upright(tmp_path):
    split(tmp_path)
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by 180 degrees
    pixels = np.zeros((8, 8), dtype=np.uint8)
    pixels[:4] = 250
    Image.fromarray(pixels).save(tmp_path / "train" / "ant" / "0.png", exif=exif)
    image = load_image_folder(tmp_path, size=8).image("train", 0)
    assert image[0, 0] < 10 and image[7, 7] > 240


def test_unreadable_files_are_skipped_listed_and_counted(tmp_path):
    plain(tmp_path)
    (tmp_path / "cat" / "broken.png").write_bytes(b"not an image")
    (tmp_path / "dog" / "cut.png").write_bytes((tmp_path / "dog" / "0.png").read_bytes()[:40])
    (tmp_path / "dog" / "notes.txt").write_text("left alone")
    data = load_image_folder(tmp_path)
    assert dict(data.left_out) == {"cat/broken.png": image_folder.UNREADABLE, "dog/cut.png": image_folder.UNREADABLE,
                                   "dog/notes.txt": "not a supported image format"}
    assert any("`cat/broken.png` and 1 more (it cannot be read as an image)" in said for said in data.said)
    assert len(data.y_train) + len(data.y_test) == 16


def test_postscript_in_disguise_is_not_handed_to_another_program(tmp_path, monkeypatch):
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *args: pytest.fail("another program was called"))
    plain(tmp_path)
    Image.new("RGB", (4, 4)).save(tmp_path / "x.eps")
    (tmp_path / "x.eps").rename(tmp_path / "cat" / "x.png")
    assert load_image_folder(tmp_path).left_out == (("cat/x.png", image_folder.UNREADABLE),)


def test_hidden_folders_are_no_classes(tmp_path):
    plain(tmp_path)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "__MACOSX").mkdir()
    assert load_image_folder(tmp_path).class_names == ("cat", "dog")


def test_no_such_path(tmp_path):
    refused("There is no image folder or zip", tmp_path / "absent", MissingData)


def test_faults_of_the_layout(tmp_path):
    refused("no images in the folder", tmp_path)
    picture(tmp_path / "a.png")
    refused("no class folders in the folder", tmp_path)
    plain(tmp_path, ("cat",))
    refused("only one class, `cat`", tmp_path)
    (tmp_path / "dog").mkdir()
    refused("only one class, `cat`", tmp_path)
    picture(tmp_path / "dog" / "0.png")
    data = load_image_folder(tmp_path)
    assert "class `dog` has a single image: too small to verify" in " ".join(data.said)
    assert data.y_train.tolist().count(1) == 1 and 1 not in data.y_test
    assert ("a.png", "in no class folder") in data.left_out
    (tmp_path / "dog" / "0.png").write_bytes(b"broken")
    refused("only one class, `cat`", tmp_path)


def test_faults_of_train_and_test_folders(tmp_path):
    split(tmp_path)
    picture(tmp_path / "test" / "emu" / "0.png")
    data = load_image_folder(tmp_path)
    assert data.class_names == ("ant", "bee", "cow") and len(data.y_test) == 4
    assert data.left_out == (("test/emu/0.png", "its class `emu` is not in `train`"),)
    assert data.said[:2] == ("`train` (9) is searched; `test` (4) hold the verified queries.",
                             "`emu` of the queries is no class of `train`: 1 queries are left out.")
    plain(tmp_path / "second" / "train", ("cat",))
    plain(tmp_path / "second" / "test", ("cat",))
    refused("only one class, `cat`", tmp_path / "second")
    (tmp_path / "third" / "train").mkdir(parents=True)
    (tmp_path / "third" / "test").mkdir()
    refused("no images in the folder", tmp_path / "third")


def test_limits(tmp_path):
    plain(tmp_path / "a")
    assert len(load_image_folder(tmp_path / "a", max_images=16).y_train) == 12
    refused("more than 15 images", tmp_path / "a", max_images=15)
    refused("images have 0 MB", tmp_path / "a", max_bytes=500)
    refused("16 images of size 200 take 1 MB", tmp_path / "a", max_bytes=600_000, size=200)
    split(tmp_path / "b")
    assert len(load_image_folder(tmp_path / "b", max_images=13).y_test) == 4
    refused("more than 12 images", tmp_path / "b", max_images=12)


@pytest.mark.parametrize("options, said", [
    ({"size": 3}, "from 4 to 256"), ({"size": 10_000}, "from 4 to 256"), ({"size": 28.0}, "whole number"),
    ({"color": "cmyk"}, "`grayscale` or `rgb`"), ({"seed": -1}, "split seed"), ({"test_share": 0.9}, "test share"),
    ({"width": 3}, "no such option .*`size`"),
])  # fmt: skip
def test_refused_options(tmp_path, options, said):
    refused(said, plain(tmp_path), **options)


def bomb_png(width, height):
    """A few bytes that declare themselves a picture of width × height."""

    def chunk(kind, body):
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 0, 0, 0, 0])
    chunks = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(99))), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("side", [7_100, 100_000])
def test_decompression_bomb(tmp_path, side):
    plain(tmp_path)
    (tmp_path / "cat" / "bomb.png").write_bytes(bomb_png(side, side))
    refused("`cat/bomb.png` unpacks to more than 50 million pixels", tmp_path)


def test_zip_gives_the_same_as_the_folder(tmp_path):
    folder = plain(tmp_path / "pets")
    (folder / "cat" / "bad.png").write_bytes(b"bad")
    from_folder, from_zip = load_image_folder(folder), load_image_folder(zipped(folder))
    assert from_zip.fingerprint == from_folder.fingerprint and from_zip.class_names == ("cat", "dog")
    assert from_zip.left_out == from_folder.left_out == (("cat/bad.png", image_folder.UNREADABLE),)


def test_zip_by_path_with_train_and_test(tmp_path):
    folder = split(tmp_path / "farm")
    (tmp_path / "farm.zip").write_bytes(zipped(folder).getvalue())
    data = load_image_folder(tmp_path / "farm.zip")
    assert data.fingerprint == load_image_folder(folder).fingerprint and len(data.y_test) == 4


def test_zip_of_a_single_class_is_not_searched_deeper(tmp_path):
    refused("only one class, `cat`", zipped(plain(tmp_path / "cat_only", ("cat",)) / "cat"))


@pytest.mark.parametrize("name", ["../evil.png", "cat/../../evil.png", "/evil.png", "cat\\..\\evil.png", "C:/evil.png"])
def test_zip_that_reaches_outside(name):
    refused("points outside of it", archive_of(("cat/a.png", b"x"), (name, b"x")))


def test_zip_with_a_file_without_a_name():
    packed = archive_of(("cat/a.png", b"x"), ("?at/b.png", b"x")).getvalue()
    refused("a file without a name", io.BytesIO(packed.replace(b"?at", b"\0at")))  # a name ends before a zero


def test_zip_with_a_link():
    link = zipfile.ZipInfo("cat/link.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    refused("a link `cat/link.png`", archive_of((link, "/etc/passwd")))


def test_zip_bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cat/a.png", bytes(3_000_000))
    refused("would unpack to 3 MB", file, max_bytes=1_000_000)


def test_zip_with_too_many_files():
    refused("holds 31 files", archive_of(*((f"cat/{k}.png", b"") for k in range(31))), max_images=3)


def test_zip_that_is_cut_short_damaged_or_foreign(tmp_path):
    content = zipped(plain(tmp_path / "pets")).getvalue()
    refused("cut short", io.BytesIO(content[:-200]))
    refused("cut short", io.BytesIO(b"not a zip"))
    flipped = bytearray(content)
    at = content.index(b"IDAT")
    flipped[at + 6] ^= 0xFF
    refused("cannot be read .*damaged", io.BytesIO(bytes(flipped)))


def test_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    refused("a different format", tmp_path / "a.txt")


def test_a_list_of_wrong_labels_gives_flags(tmp_path):
    root = plain(tmp_path / "mine")
    (root / image_folder.WRONG_LABELS).write_text("cat/3.png\n./dog/0.png\n\ncat/5.png\n", encoding="utf-8")
    for found in (load_image_folder(root, color="rgb"), load_image_folder(zipped(root), color="rgb")):
        red = found.raw_train[:, 0]  # tells every picture from the others
        np.testing.assert_array_equal(found.flags, np.isin(red, [30, 50, 100]))
        assert found.flags.any() and found.flags.dtype == bool
    both = split(tmp_path / "both")
    (both / image_folder.WRONG_LABELS).write_text("train/bee/1.png\n", encoding="utf-8")
    assert list(load_image_folder(both).flags) == [place == 4 for place in range(9)]
    assert load_image_folder(plain(tmp_path / "other")).flags is None


def test_a_list_that_names_no_picture_is_refused(tmp_path):
    root = plain(tmp_path)
    (root / image_folder.WRONG_LABELS).write_text("cat/99.png\n", encoding="utf-8")
    refused("lists `cat/99.png`, which is not an image of the folder", root)
    (root / image_folder.WRONG_LABELS).write_bytes(b"\xff\xfe\xfa")
    refused("cannot be read; save it as UTF-8", root)


def test_a_folder_of_tables_is_refused_with_what_to_give(tmp_path):
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text("a,label\n1,x\n2,y\n")
    with pytest.raises(InvalidInput, match="no images, but `test.csv`; give that file itself"):
        uploads.keep_path(tmp_path)

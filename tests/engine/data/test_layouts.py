"""Folders, zips and pictures as people have them: which class, which split, which levels, and what is said of it."""

import io
import json
import os
import struct
import unicodedata
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from engine import data as datasets
from engine.basics.errors import InvalidInput
from engine.data import load_image_folder, uploads
from engine.data.layout import by_folders, common
from engine.data.packing import packed
from engine.data.pixels import survey


def square(seed=0, side=12):
    return np.random.default_rng(seed).integers(0, 256, (side, side)).astype(np.uint8)


def png(pixels, mode=None, form="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels, mode).save(file, form)
    return file.getvalue()


def folder(root, files, content=None):
    for place, file in enumerate(files):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(place) if content else png(square(place)))
    return root


def listing(*tops, classes="AB", count=2):
    return [f"{top}{label}/{place}.png" for top in tops for label in classes for place in range(count)]


def zip_of(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


@pytest.mark.parametrize(("train", "others"), [
    ("train", ["val"]), ("Training", ["VALID"]), ("train", ["validation", "testing"]), ("TRAIN", ["dev", "eval"]),
    ("train", ["val", "test"]), ("train2017", ["val2017"]), ("training_set", ["test_set"]),
    ("train-images", ["val images"]), ("seg_train", ["seg_test"]), ("train", ["test1"]),
    ("train/train", ["test/test"])])
def test_splits_by_any_name_are_searched_and_asked_about(train, others, tmp_path):
    root = folder(tmp_path, listing(f"{train}/", *(f"{name}/" for name in others)))
    data = load_image_folder(root)
    assert data.class_names == ("A", "B") and not data.test_from_train
    assert len(data.y_train) == 4 and len(data.y_test) == 4 * len(others)
    assert all(file.startswith(f"{train}/") for file in data.files)
    assert data.said[0].startswith("`train` (4) is searched; ") and data.said[0].count("(4)") == 1 + len(others)


@pytest.mark.parametrize(("files", "classes", "split"), [
    (listing("A/", "B/", classes=("s1", "s2")), {"A", "B"}, {""}),
    (listing("A/", "B/", classes=("train", "val")), {"A", "B"}, {"train", "val"}),
    (["train/0.png", "car/0.png", "test/0.png", "bus/1.png"], {"train", "car", "test", "bus"}, {""}),
    (["train/0.png", "val/0.png"], set(), set())])
def test_folders_of_classes_and_splits(files, classes, split):
    found = by_folders(files)
    assert {row.label for row in found.rows} == classes and {row.split for row in found.rows} == split


@pytest.mark.parametrize("other", ["holdout", "unlabeled", "extra"])
def test_a_folder_beside_train_that_is_no_split_is_no_class(other):
    with pytest.raises(InvalidInput, match=f"`{other}` does not name a split; call it `test`"):
        by_folders(listing("train/", f"{other}/"))


def test_annotations_of_objects_are_no_classes(tmp_path):
    rows = [json.dumps({"file_name": f"{k}.png", "objects": {"categories": [k % 2]}}) for k in range(8)]
    root = folder(tmp_path, [f"{k}.png" for k in range(8)])
    (root / "metadata.jsonl").write_text("\n".join(rows))
    with pytest.raises(InvalidInput, match="its column `objects` holds lists or objects, not classes"):
        load_image_folder(root)


def test_queries_without_anything_to_search_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"images in `val` \(4\) and `test` \(4\) but none in `train`"):
        load_image_folder(folder(tmp_path, listing("val/", "test/")))


def test_wrapping_folders_are_shared_ones_with_folders_below():
    assert common(["a/b/x/1.png", "a/b/y/1.png"]) == "a/b/" and common(["a/1.png", "a/2.png"]) == ""
    assert common(["a/1.png", "b/x/1.png"]) == "" and common([]) == ""


def test_links_are_followed_once_and_loops_are_not(tmp_path):
    root, store = folder(tmp_path / "d", listing("")), folder(tmp_path / "s", ["x/0.png", "x/1.png"])
    os.symlink("..", root / "A" / "up")
    os.symlink(tmp_path, root / "B" / "around")
    os.symlink(store / "x", root / "C")
    os.symlink(store / "x", root / "D")
    os.symlink(root / "gone.png", root / "A" / "gone.png")
    data = load_image_folder(root)
    assert data.class_names == ("A", "B", "C") and len(data.y_train) + len(data.y_test) == 6
    assert {file for file, _ in data.left_out} == {"A/up", "B/around", "D", "A/gone.png"}
    with zipfile.ZipFile(packed(root)) as archive:
        assert archive.read("A/gone.png") == b"" and archive.read("C/0.png")


def test_what_is_hidden_is_left_out_by_name(tmp_path):
    root = folder(tmp_path, [*listing(""), "A/.ipynb_checkpoints/0-checkpoint.png", "A/._0.png", "__MACOSX/A/0.png"])
    data = load_image_folder(root)
    assert len(data.y_train) + len(data.y_test) == 4 and len(data.left_out) == 3
    assert "`A/._0.png` and 2 more (hidden or system file)" in data.said[-1]
    assert ("A/.ipynb_checkpoints/0-checkpoint.png", "hidden or system file") in data.left_out


def unflagged(packed):
    """A zip whose names are UTF-8 without the flag that says so, as the Finder writes it."""
    content = bytearray(packed.getvalue())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(mark)
        while start >= 0:
            bits = struct.unpack_from("<H", content, start + at)[0]
            struct.pack_into("<H", content, start + at, bits & ~0x800)
            start = content.find(mark, start + 4)
    return io.BytesIO(bytes(content))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("finder", [False, True])
def test_names_in_any_normal_form(form, finder):
    files = {unicodedata.normalize(form, f"{name}/{place}.png"): png(square(place))
             for name in ("Äpfel", "Bäume") for place in range(3)}
    packed = zip_of({**files, "wrong_labels.txt": unicodedata.normalize("NFC" if form == "NFD" else "NFD",
                                                                        "Äpfel/1.png").encode()})
    data = load_image_folder(unflagged(packed) if finder else packed)
    assert data.class_names == ("Bäume", "Äpfel") and int(data.flags.sum() + data.test_flags.sum()) == 1


def test_an_old_code_page_and_backslashes_are_read():
    files = {f"{name}\\{place}.png": png(square(place)) for name in ("M?dchen", "B") for place in range(3)}
    content = zip_of(files).getvalue().replace(b"M?dchen", b"M\x84dchen")
    assert load_image_folder(io.BytesIO(content)).class_names == ("B", "Mädchen")


def labelled(root, name, text, pictures=("images/0.png", "images/1.png", "images/2.png", "images/3.png")):
    folder(root, pictures)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")
    return load_image_folder(root)


@pytest.mark.parametrize(("name", "text"), [
    ("labels.csv", "file,label\n" + "".join(f"images/{k}.png,{'ab'[k % 2]}\n" for k in range(4))),
    ("labels.csv", "name;class\n" + "".join(f"{k}.png;{'ab'[k % 2]}\n" for k in range(4))),
    ("images/metadata.csv", "file_name,label\n" + "".join(f"{k}.png,{'ab'[k % 2]}\n" for k in range(4))),
    ("images/metadata.jsonl", "".join(json.dumps({"file_name": f"{k}.png", "label": "ab"[k % 2]}) + "\n"
                                      for k in range(4))),
    ("labels.csv", "".join(f"{k}.png,{'ab'[k % 2]}\n" for k in range(4))),
    ("train.csv", "id,breed\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(4))),
    ("annotations.json", json.dumps({
        "images": [{"id": k, "file_name": f"{k}.png"} for k in range(4)],
        "categories": [{"id": 7, "name": "a"}, {"id": 9, "name": "b"}],
        "annotations": [{"image_id": k, "category_id": 9 if k % 2 else 7} for k in (0, 1, 2, 3, 3)]}))])
def test_labels_from_a_file_beside_the_pictures(name, text, tmp_path):
    data = labelled(tmp_path, name, text)
    assert data.class_names == ("a", "b") and f"`{name}`" in data.said[0]
    labels = dict(zip((*data.files, *data.test_files), [*data.y_train, *data.y_test], strict=True))
    assert labels == {f"images/{k}.png": k % 2 for k in range(4)}


def test_a_table_beside_pictures_says_splits_and_what_it_lacks(tmp_path):
    text = ("file,label,split\nimages/0.png,a,train\nimages/1.png,b,training\nimages/2.png,a,dev\nnone.png,a,train\n"
            "images/3.png,,train\n")
    data = labelled(tmp_path, "labels.csv", text)
    assert data.files == ("images/0.png", "images/1.png") and data.test_files == ("images/2.png",)
    assert data.left_out[0] == ("images/3.png", "labelled with none")
    assert "1 row of it matches no image here" in data.said[1]


@pytest.mark.parametrize(("changes", "said"), [
    ({"images": []}, "its `images` is empty"), ({"annotations": [{"image_id": 0}]}, "lacks a key")])
def test_annotations_that_name_no_picture_are_refused(changes, said, tmp_path):
    whole = {"images": [{"id": 0, "file_name": "0.png"}], "categories": [{"id": 1, "name": "a"}],
             "annotations": [{"image_id": 0, "category_id": 1}]}
    with pytest.raises(InvalidInput, match=said):
        labelled(tmp_path, "annotations.json", json.dumps({**whole, **changes}))


def levels(root, content):
    data = load_image_folder(folder(root, listing(""), content), size=12)
    return np.unique(data.raw_train).size, data


def tif(pixels):
    return png(pixels, form="TIFF")


@pytest.mark.parametrize("content", [
    lambda k: png(square(k).astype(np.uint16)), lambda k: png(square(k).astype(np.uint16) * 16),
    lambda k: png(square(k).astype(np.uint16) * 257), lambda k: png(square(k).astype(np.uint16) + 30_000),
    lambda k: tif((square(k) / 255).astype(np.float32)), lambda k: tif(square(k).astype(np.float32)),
    lambda k: tif(square(k).astype(np.float32) / 9000), lambda k: tif(square(k).astype(np.int32) - 100),
], ids=["8 of 16", "12 of 16", "16", "offset", "0..1", "0..255", "small", "negative"])
def test_deep_pictures_keep_their_levels(content, tmp_path):
    count, data = levels(tmp_path, content)
    assert count > 100 and "more than eight bits per channel" in data.said[0]


def test_pixels_that_are_not_finite_are_said_with_their_number(tmp_path):
    holed = []

    def content(k):
        values = square(k).astype(np.float32)
        if len(holed) < 2:
            values[0, :2] = np.nan, np.inf
            holed.append(k)
        return tif(values)

    data = levels(tmp_path, content)[1]
    assert "2 images have pixels that are not finite: NaN and −∞ are read as black, ∞ as white." in data.said


def test_an_eight_bit_picture_in_sixteen_is_the_same_picture(tmp_path):
    plain = levels(tmp_path / "a", lambda k: png(square(k)))[1]
    deep = levels(tmp_path / "b", lambda k: png(square(k).astype(np.uint16)))[1]
    np.testing.assert_array_equal(plain.raw_train, deep.raw_train)


@pytest.mark.parametrize(("ink", "paper"), [(0, "white"), (255, "black")])
def test_shapes_in_the_alpha_channel_are_seen(ink, paper, tmp_path):
    def content(k):
        pixels = np.full((12, 12, 4), ink, np.uint8)
        pixels[..., 3] = square(k)
        return png(pixels, "RGBA")

    count, data = levels(tmp_path, content)
    assert count > 100 and f"get a {paper} background" in data.said[0]


def test_pictures_that_are_all_alike_are_said_to_be(tmp_path):
    assert "All images are identical" in levels(tmp_path, lambda k: png(np.zeros((12, 12), np.uint8)))[1].said[0]


def test_sixteen_bits_in_colour_palettes_cmyk_and_frames():
    def deep(k):  # a PNG of sixteen bits a channel that uses eight of them
        rows = b"".join(b"\0" + np.repeat(row[:, None], 3, 1).astype(">u2").tobytes() for row in square(k))
        parts = [(b"IHDR", struct.pack(">IIBBBBB", 12, 12, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)),
                 (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(
            ">I", zlib.crc32(kind + body)) for kind, body in parts)

    files = {f"{label}/{k}.png": deep(k) for label in "AB" for k in range(2)}
    assert np.unique(load_image_folder(zip_of(files), size=12).raw_train).size > 100
    frames = io.BytesIO()
    Image.fromarray(square()).save(frames, "GIF", save_all=True, append_images=[Image.fromarray(square(1))])
    contents = {"a.gif": frames.getvalue(), "b.jpg": png(np.stack([square()] * 4, -1), "CMYK", "JPEG")}
    found = survey(lambda name: contents[name], list(contents))
    assert found.framed == 1 and "1 image has several frames, of which the first is read." in found.said


def test_a_table_of_pictures_is_told_from_one_of_something_else(tmp_path):
    root = folder(tmp_path, listing(""))
    pd.DataFrame({"file": ["A/0.png"], "given": ["A"], "label": ["B"]}).to_csv(root / "decided.csv", index=False)
    data = load_image_folder(root)
    assert data.class_names == ("A", "B") and ("decided.csv", "not a supported image format") in data.left_out


def test_pictures_of_kinds_that_are_not_read_are_named(tmp_path):
    root = folder(tmp_path, listing("A/", "B/"))
    (root / "A" / "photo.heic").write_bytes(b"x")
    for read in (load_image_folder(root), datasets.load(uploads.keep_path(root))):
        assert read.left_out == (("A/photo.heic", "not a supported image format"),)
        assert "`A/photo.heic` (not a supported image format)" in read.said[-1]

"""A user's arrays, from Python and from npz: what is accepted, and one sentence for each fault."""

import io
import zipfile

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput, MissingData
from engine.data import draw, from_arrays, load_npz

RNG = np.random.default_rng(0)
GOOD = {
    "x_train": RNG.normal(size=(6, 3)), "y_train": np.array([0, 1, 2, 0, 1, 2]),
    "x_query": RNG.normal(size=(2, 3)), "y_query": np.array([2, 0]), "candidates": np.array([4, 0, 2]),
}  # fmt: skip


def with_value(name, row, value):
    array = GOOD[name].astype(float)
    array[row] = value
    return {name: array}


FAULTS = {
    "nan": (with_value("x_train", (3, 1), np.nan), "`x_train` has NaN or infinity in row 3"),
    "inf": (with_value("x_query", (1, 0), -np.inf), "`x_query` has NaN or infinity in row 1"),
    "huge feature": (with_value("x_train", (2, 0), 1e200), "above 1e\\+100 in row 2"),
    "other shapes": ({"x_train": np.zeros((6, 2, 2))}, "`x_query` has 3 features but `x_train` has 4"),
    "flat features": ({"x_query": np.zeros(3)}, "`x_query` has 1 dimensions instead of 2"),
    "label columns": ({"y_train": np.zeros((6, 1), int)}, "`y_train` has 2 dimensions instead of 1"),
    "scalar": ({"y_query": np.array(1)}, "`y_query` has 0 dimensions"),
    "label count": ({"y_train": np.array([0, 1, 2])}, "3 labels but `x_train` has 6 rows"),
    "query label count": ({"y_query": np.array([0])}, "1 labels but `x_query` has 2 rows"),
    "feature count": ({"x_query": np.zeros((2, 4))}, "4 features but `x_train` has 3"),
    "fractional label": (with_value("y_train", 1, 1.5), "`y_train` holds 1.5"),
    "nan label": (with_value("y_query", 1, np.nan), "`y_query` holds nan"),
    "infinite label": (with_value("y_train", 1, np.inf), "`y_train` holds inf"),
    "enormous label": ({"y_train": np.array([0, 1, 2, 0, 1, 2**63], np.uint64)}, "not a usable whole number"),
    "bool labels": ({"y_query": np.array([True, False])}, "`y_query` has the type bool"),
    "text labels": ({"y_query": np.array(["a", "b"])}, "`y_query` has the type <U1"),
    "text features": ({"x_query": np.full((2, 3), "1")}, "`x_query` has the type <U1"),
    "complex features": ({"x_query": np.zeros((2, 3), complex)}, "`x_query` has the type complex"),
    "negative label": ({"y_train": np.array([0, 1, -1, 0, 1, 2])}, "negative label -1"),
    "negative query label": ({"y_query": np.array([0, -2])}, "negative label -2"),
    "unseen query label": ({"y_query": np.array([0, 3])}, "label 3, but `y_train` has only 0 to 2"),
    "one class": ({"y_train": np.zeros(6, int)}, "of class 0"),
    "gap": ({"y_train": np.array([0, 1, 3, 0, 1, 3])}, "label 2 never occurs"),
    "from one": ({"y_train": np.array([1, 2, 3, 1, 2, 3])}, "label 0 never occurs"),
    "no training": ({"x_train": np.zeros((0, 3)), "y_train": np.zeros(0, int)}, "`x_train` is empty"),
    "no features": ({"x_train": np.zeros((6, 0)), "x_query": np.zeros((2, 0))}, "`x_train` is empty"),
    "no queries": ({"x_query": np.zeros((0, 3)), "y_query": np.zeros(0, int)}, "`x_query` is empty"),
    "no candidates": ({"candidates": np.zeros(0, int)}, "`candidates` is empty"),
    "duplicate": ({"candidates": np.array([4, 1, 4])}, "candidate 4 is named more than once"),
    "above": ({"candidates": np.array([0, 6])}, "candidate 6 is not a row .* 0 to 5"),
    "below": ({"candidates": np.array([0, -1])}, "candidate -1 is not a row"),
    "fractional candidate": ({"candidates": np.array([0.5])}, "`candidates` holds 0.5"),
    "mask": ({"candidates": np.array([True] * 6)}, "`candidates` has the type bool"),
    "candidate columns": ({"candidates": np.array([[0, 1]])}, "`candidates` has 2 dimensions"),
}


def refused(said, call, *args, error=InvalidInput, **kwargs):
    with pytest.raises(error, match=said) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text and len(text) < 250


def saved(arrays, save=np.savez):
    file = io.BytesIO()
    save(file, **arrays)
    file.seek(0)
    return file


def rezipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def members_of(arrays):
    with zipfile.ZipFile(saved(arrays)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_from_python(fault):
    change, said = FAULTS[fault]
    refused(said, from_arrays, **(GOOD | change))


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_from_npz(fault):
    change, said = FAULTS[fault]
    refused(said if "type <U" not in said else "has the type <U1", load_npz, saved(GOOD | change))


def test_good_arrays_are_taken_over_unchanged():
    problem = from_arrays(**GOOD)
    for name, array in GOOD.items():
        assert np.array_equal(getattr(problem, name), array)
    assert problem.x_train.dtype == np.float64 and problem.y_train.dtype == np.int64 and problem.n_classes == 3
    assert problem.candidates.dtype == np.int64


def test_arrays_are_copies_and_read_only():
    mine = GOOD["x_train"].copy()
    problem = from_arrays(**(GOOD | {"x_train": mine}))
    mine[:] = 9
    assert np.array_equal(problem.x_train, GOOD["x_train"])
    with pytest.raises(ValueError, match="read-only"):
        problem.y_train[0] = 1


def test_lists_tensors_whole_floats_and_small_types_are_accepted():
    problem = from_arrays(
        torch.tensor(GOOD["x_train"], dtype=torch.float32), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0],
        GOOD["x_query"].astype(np.float16), torch.tensor([2, 0], dtype=torch.int8),
    )  # fmt: skip
    assert problem.x_train.dtype == problem.x_query.dtype == np.float64
    assert problem.y_train.dtype == problem.y_query.dtype == np.int64
    assert np.array_equal(problem.candidates, np.arange(6))


def test_ragged_lists_and_objects_are_refused():
    refused("cannot be read as an array", from_arrays, **(GOOD | {"x_query": [[1, 2, 3], [1, 2]]}))
    refused("Python objects", from_arrays, **(GOOD | {"x_query": np.array([[None] * 3] * 2)}))
    needs_grad = torch.zeros(2, 3, requires_grad=True)
    refused("cannot be read as an array", from_arrays, **(GOOD | {"x_query": needs_grad}))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_round_trip_by_path_and_by_file(tmp_path, save):
    path = tmp_path / "problem.npz"
    save(path, **GOOD)
    expected = from_arrays(**GOOD).fingerprint
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        assert load_npz(source).fingerprint == expected


def test_candidates_are_optional():
    without = {name: array for name, array in GOOD.items() if name != "candidates"}
    assert np.array_equal(load_npz(saved(without)).candidates, np.arange(6))


def test_fingerprint_sees_the_candidates():
    assert from_arrays(**GOOD).fingerprint != from_arrays(**(GOOD | {"candidates": [0, 4, 2]})).fingerprint


@pytest.mark.parametrize("key", ["x_train", "y_train", "x_query", "y_query"])
def test_missing_key(key):
    refused(f"has no `{key}`", load_npz, saved({k: v for k, v in GOOD.items() if k != key}))


def test_unknown_key_and_foreign_member():
    refused("unknown array `x_valid`", load_npz, saved(GOOD | {"x_valid": np.zeros(3)}))
    refused("unknown array `notes.txt`", load_npz, rezipped(members_of(GOOD) | {"notes.txt": b"hello"}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_array_held_twice():
    file = saved(GOOD)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("y_query.npy", members_of(GOOD)["y_query.npy"])
    refused("holds an array twice", load_npz, file)


def test_object_arrays_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    payload = np.empty((2, 3), dtype=object)
    payload[:] = Evil()
    refused("`x_query` is an array of Python objects, which is never unpickled", load_npz,
            saved(GOOD | {"x_query": payload}))
    assert not (tmp_path / "ran").exists()


def test_no_such_file_and_a_folder(tmp_path):
    refused("There is no npz file", load_npz, tmp_path / "absent.npz", error=MissingData)
    refused("is not a file", load_npz, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"x_train,y_train\n1,2\n", b"\x80\x04N."])
def test_not_an_npz(tmp_path, content):
    path = tmp_path / "problem.npz"
    path.write_bytes(content)
    refused("cannot be opened", load_npz, path)


def test_single_npy_is_not_an_npz(tmp_path):
    np.save(tmp_path / "x.npy", GOOD["x_train"])
    refused("cannot be opened", load_npz, tmp_path / "x.npy")


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.99])
def test_truncated(keep):
    content = saved(GOOD, np.savez_compressed).getvalue()
    refused("cannot be opened", load_npz, io.BytesIO(content[: int(keep * len(content))]))


@pytest.mark.parametrize("n_features, said", [(3, "`x_train` .* cannot be read"), (9_000, "npz file is damaged")])
def test_flipped_bytes_are_noticed(n_features, said):
    """Small arrays are read whole with their header, large ones later."""
    x_train = RNG.normal(size=(6, n_features))
    content = bytearray(saved(GOOD | {"x_train": x_train}).getvalue())
    content[content.index(x_train.tobytes()) + x_train.nbytes - 4] ^= 0xFF
    refused(said, load_npz, io.BytesIO(bytes(content)))


def test_array_that_declares_more_than_it_holds():
    members = members_of(GOOD)
    members["x_train.npy"] = members["x_train.npy"].replace(b"(6, 3), ", b"(999999999, 3), ")
    refused("not have its declared length", load_npz, rezipped(members))
    members["x_train.npy"] = members_of(GOOD)["x_train.npy"][:-8]
    refused("not have its declared length", load_npz, rezipped(members))


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00\x10\x00garbage garbage!"])
def test_member_that_is_no_array(content):
    refused("`y_query` in the npz file cannot be read", load_npz, rezipped(members_of(GOOD) | {"y_query.npy": content}))


def test_zip_bomb_is_refused_by_its_declared_size(monkeypatch):
    bomb = rezipped(members_of(GOOD) | {"x_query.npy": bytes(2_000_000)})
    assert len(bomb.getvalue()) < 20_000
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *a, **k: pytest.fail("read before it was refused"))
    refused("would unpack to 2 MB", load_npz, bomb, max_bytes=1_000_000)


def test_file_that_is_too_large(tmp_path):
    path = tmp_path / "problem.npz"
    with open(path, "wb") as sparse:
        sparse.truncate(500_000_000)
    refused("has 500 MB; give one below 500 MB", load_npz, path)


def test_small_types_count_as_float64():
    arrays = GOOD | {"x_train": np.zeros((6, 100), np.int8), "x_query": np.zeros((2, 100), np.int8)}
    assert load_npz(saved(arrays), max_bytes=7_000).x_train.shape == (6, 100)
    refused("in float64", load_npz, saved(arrays), max_bytes=6_000)


def test_as_a_dataset():
    problem = from_arrays(**GOOD)
    data = problem.dataset(title="Mine")
    assert np.array_equal(data.x_test, GOOD["x_query"]) and np.array_equal(data.y_test, GOOD["y_query"])
    assert data.class_names == ("0", "1", "2") and data.image("train", 0) is None and data.title == "Mine"
    sample = draw(data, seed=0)
    assert set(sample.train_index[sample.candidates]) == {0, 2, 4}


@pytest.mark.parametrize(("shape", "image", "axis"), [
    ((28, 20), (28, 20), None), ((28, 20, 1), (28, 20), None), ((1, 28, 20), (28, 20), None),
    ((12, 16, 3), (12, 16, 3), -1), ((3, 12, 16), (12, 16, 3), 1), ((28, 2), None, None), ((12, 16, 5), None, None),
    ((64,), None, None)])
def test_arrays_of_the_shape_of_pictures_are_pictures_with_their_colours_last(shape, image, axis):
    x = np.random.default_rng(0).integers(0, 256, (6, *shape))
    dataset = from_arrays(x, [0, 1] * 3, x[:2], [0, 1]).dataset()
    assert dataset.image_shape == image
    if image is None:
        assert dataset.image("train", 1) is None and np.array_equal(dataset.raw_train, x.reshape(6, -1))
    else:
        shown = np.moveaxis(x[1], 0, -1) if axis == 1 else x[1]
        assert np.array_equal(dataset.image("train", 1), shown.reshape(image))
        assert np.array_equal(dataset.features("train")[1], shown.reshape(-1))


@pytest.mark.parametrize(("low", "high", "levels"), [(0, 1, (0, 1)), (0, 200, (0, 255)), (-2, 3, (-2, 3))])
def test_pictures_in_arrays_are_shown_from_black_to_white_by_the_values_that_they_use(low, high, levels):
    x = np.linspace(low, high, 64).reshape(1, 8, 8).repeat(2, 0)
    dataset = from_arrays(x, [0, 1], x, [0, 1]).dataset()
    expected = np.rint((x[0] - levels[0]) * 255 / (levels[1] - levels[0]))
    assert dataset.levels == levels and np.array_equal(dataset.image("test", 0), expected)
    assert ("black" in dataset.said[0]) == (low < 0)


def test_a_mask_of_candidates_as_whole_numbers_is_told_from_rows():
    x, y = np.zeros((4, 2)), [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match="mask of 0 and 1"):
        from_arrays(x, y, x, y, candidates=[0, 1, 1, 0])

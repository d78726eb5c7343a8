"""FashionMNIST: torchvision's layout, packed and plain, damaged, absent, and the real files where they are at hand."""

import gzip
import os
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import FashionMNIST

from engine.basics.errors import InvalidInput, MissingData
from engine.data import describe, fashion_mnist, load

REAL = os.environ.get("WHICHFLUENCE_DATA", "")
COUNTS = {"train": 20, "t10k": 10}


def pixels(part):
    return np.random.default_rng(len(part)).integers(0, 256, size=(COUNTS[part], 28, 28), dtype=np.uint8)


def write_layout(root, opener=gzip.open, suffix=".gz"):
    raw = root / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for part, n in COUNTS.items():
        with opener(raw / f"{part}-images-idx3-ubyte{suffix}", "wb") as file:
            file.write(struct.pack(">4I", 0x0803, n, 28, 28) + pixels(part).tobytes())
        with opener(raw / f"{part}-labels-idx1-ubyte{suffix}", "wb") as file:
            file.write(struct.pack(">2I", 0x0801, n) + (np.arange(n) % 10).astype(np.uint8).tobytes())
    return raw


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """(data, home): both variables point into an empty folder, and the network is off."""
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(FashionMNIST, "download", lambda self: pytest.fail("nothing was to be downloaded"))
    return tmp_path / "data", tmp_path / "home"


def files_under(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check(data):
    assert np.array_equal(data.x_train, pixels("train").reshape(20, 784) / 255.0)
    assert np.array_equal(data.x_test, pixels("t10k").reshape(10, 784) / 255.0)
    assert data.raw_train.dtype == np.uint8 and data.x_train.dtype == np.float64
    assert np.array_equal(data.y_train, np.arange(20) % 10) and data.y_train.dtype == np.int64
    assert np.array_equal(data.image("test", 3), pixels("t10k")[3])
    assert data.class_names[9] == "Ankle boot" and data.n_classes == 10


def test_gzipped_files_are_read_without_touching_their_folder(folders):
    data, home = folders
    raw = write_layout(data)
    before = files_under(data)
    raw.chmod(0o555)
    try:
        check(fashion_mnist.load())
    finally:
        raw.chmod(0o755)
    assert files_under(data) == before and files_under(home) == []


def test_replaced_source_is_noticed(folders):
    raw = write_layout(folders[0])
    fashion_mnist.load()
    with gzip.open(raw / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">2I", 0x0801, 20) + bytes([7] * 20))
    assert (fashion_mnist.load().y_train == 7).all()


def test_plain_files_are_read_in_place(folders):
    write_layout(folders[0], open, "")
    check(fashion_mnist.load())
    assert not folders[1].exists()


def test_files_in_home_serve_when_the_data_folder_has_none(folders):
    write_layout(folders[1] / "datasets", open, "")
    check(fashion_mnist.load())
    found, sentence = fashion_mnist.available()
    assert found and "WHICHFLUENCE_HOME" in sentence


def test_remnant_of_an_interrupted_download_is_replaced(folders, monkeypatch):
    remnant = folders[1] / "datasets" / "FashionMNIST" / "raw"
    remnant.mkdir(parents=True)
    (remnant / "train-images-idx3-ubyte").write_bytes(b"cut")
    monkeypatch.setattr(FashionMNIST, "download", lambda self: write_layout(Path(self.root), open, ""))
    check(fashion_mnist.load())


@pytest.mark.parametrize("error", [RuntimeError("Error downloading"), TimeoutError("timed out")])
def test_no_network(folders, monkeypatch, error):
    def fail(self):
        raise error

    monkeypatch.setattr(FashionMNIST, "download", fail)
    with pytest.raises(MissingData, match="could not be downloaded; set WHICHFLUENCE_DATA") as caught:
        fashion_mnist.load()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert files_under(folders[1]) == []


def test_download_can_be_forbidden(folders):
    with pytest.raises(MissingData, match="set WHICHFLUENCE_DATA .* or allow the download"):
        fashion_mnist.load(download=False)


def test_downloaded_files_land_in_home(folders, monkeypatch):
    def fetch(self):
        write_layout(Path(self.root), open, "")
        (Path(self.raw_folder) / "train-images-idx3-ubyte.gz").write_bytes(b"packed")

    monkeypatch.setattr(FashionMNIST, "download", fetch)
    check(fashion_mnist.load())
    assert files_under(folders[1]) == sorted(f"datasets/FashionMNIST/raw/{name}" for name in fashion_mnist.FILES)


def test_one_file_missing_is_named(folders):
    (write_layout(folders[0]) / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(MissingData, match="raw/t10k-labels-idx1-ubyte.gz is missing"):
        fashion_mnist.load(download=False)


def test_truncated_gzip_leaves_nothing_behind(folders):
    path = write_layout(folders[0]) / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(MissingData, match="train-images-idx3-ubyte.gz or its labels are damaged"):
        fashion_mnist.load()
    assert files_under(folders[1]) == []


@pytest.mark.parametrize("content", [
    b"", b"\0\0", struct.pack(">4I", 0x0803, 20, 28, 28) + b"short", struct.pack(">2I", 0x0801, 3) + b"abc",
    struct.pack(">4I", 0x0803, 20, 2, 2) + bytes(80), b"\xff" * 64,
])  # fmt: skip
def test_foreign_plain_file(folders, content):
    (write_layout(folders[0], open, "") / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(MissingData, match="train-images-idx3-ubyte or its labels are damaged"):
        fashion_mnist.load()


def test_home_that_cannot_be_written(folders):
    folders[1].write_text("a file where the folder should be")
    with pytest.raises(MissingData, match="could not be written to WHICHFLUENCE_HOME .*; set WHICHFLUENCE_HOME"):
        fashion_mnist.load()


def test_full_disk(folders, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fashion_mnist.tempfile, "TemporaryDirectory", full)
    with pytest.raises(MissingData, match="No space left on device"):
        fashion_mnist.load()
    assert files_under(folders[1]) == []


def test_load_by_name_is_cached_and_follows_the_variables(folders, monkeypatch, tmp_path):
    write_layout(folders[0])
    first = load("fashion_mnist")
    assert load("fashion_mnist") is first
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(MissingData):
        load("fashion_mnist", download=False)


def test_unknown_names_and_options():
    with pytest.raises(InvalidInput, match="did you mean `digits`"):
        load("digit")
    with pytest.raises(InvalidInput, match="no options; leave out `size`"):
        load("digits", size=3)
    with pytest.raises(InvalidInput, match="did you mean `download`"):
        load("fashion_mnist", downlod=True)


def test_describe_names_the_variable_and_relative_files(folders, monkeypatch):
    rows = {name: (found, sentence) for name, found, sentence in describe()}
    assert list(rows)[:5] == ["digits", "fashion_small", "fashion_backdoor", "fashion_mnist", "cifar10"]
    assert rows["digits"][0]
    assert not rows["fashion_mnist"][0] and "set WHICHFLUENCE_DATA" in rows["fashion_mnist"][1]
    monkeypatch.delenv("WHICHFLUENCE_DATA")
    assert "WHICHFLUENCE_DATA is not set" in fashion_mnist.available()[1]
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(folders[0]))
    write_layout(folders[0])
    found, sentence = fashion_mnist.available()
    assert found and "WHICHFLUENCE_DATA" in sentence and "train-images-idx3-ubyte.gz" in sentence
    assert str(folders[0]) not in sentence


@pytest.mark.data
@pytest.mark.skipif(not REAL, reason="WHICHFLUENCE_DATA is not set")
def test_real_files(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    if not fashion_mnist.available()[0]:
        pytest.skip("WHICHFLUENCE_DATA has no FashionMNIST")
    data = fashion_mnist.load(download=False)
    assert data.raw_train.shape == (60000, 784) and data.raw_test.shape == (10000, 784)
    assert np.array_equal(np.bincount(data.y_train), [6000] * 10)
    assert np.array_equal(np.bincount(data.y_test), [1000] * 10)
    assert abs(data.raw_train.mean() / 255 - 0.2860) < 1e-4  # the mean that FashionMNIST is known for
    start = time.perf_counter()
    assert fashion_mnist.load(download=False).fingerprint == data.fingerprint
    assert time.perf_counter() - start < 5  # a second on an idle machine

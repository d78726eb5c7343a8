"""CIFAR-10: parquet files found, decoded once, damaged, absent, and the real files where they are at hand."""

import io
import os
import time
from pathlib import Path

import huggingface_hub
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from PIL import Image

from engine.basics.errors import MissingData
from engine.data import DATASETS, cifar10, load

REAL = os.environ.get("WHICHFLUENCE_DATA", "")
COUNTS = {"train": 20, "test": 10}


def pixels(split):
    return np.random.default_rng(len(split)).integers(0, 256, size=(COUNTS[split], 32, 32, 3), dtype=np.uint8)


def encoded(image, kind="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()


def write(path, images, labels):
    rows = [{"bytes": content, "path": f"{place}.png"} for place, content in enumerate(images)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"img": rows, "label": pa.array(labels, pa.int64())}), path, row_group_size=7)


def write_layout(root):
    folder = root / "cifar10" / "plain_text"
    for split, n in COUNTS.items():
        write(folder / cifar10.FILES[split], [encoded(image) for image in pixels(split)], np.arange(n) % 10)
    return folder


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """(data, home): both variables point into an empty folder, and the network is off."""
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **options: pytest.fail("nothing to be downloaded"))
    return tmp_path / "data", tmp_path / "home"


def files_under(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check(data):
    assert np.array_equal(data.raw_train, pixels("train").reshape(20, 3072)) and data.raw_train.dtype == np.uint8
    assert np.array_equal(data.x_test, pixels("test").reshape(10, 3072) / 255.0)
    assert np.array_equal(data.y_train, np.arange(20) % 10) and data.y_train.dtype == np.int64
    assert np.array_equal(data.image("test", 3), pixels("test")[3]) and data.image_shape == (32, 32, 3)
    assert data.class_names[3] == "cat" and data.n_classes == 10 and data.title == "CIFAR-10"


def test_files_are_decoded_without_touching_their_folder(folders):
    before = files_under(write_layout(folders[0]))
    check(cifar10.load())
    assert files_under(folders[0] / "cifar10" / "plain_text") == before
    kept = files_under(folders[1])
    assert len(kept) == 2 and all(name.endswith(".npy") for name in kept)
    check(load("cifar10"))


def test_second_load_does_not_decode_again(folders, monkeypatch):
    write_layout(folders[0])
    cifar10.load()
    monkeypatch.setattr(cifar10, "_decode", lambda *args: pytest.fail("decoded twice"))
    check(cifar10.load())


def test_replaced_source_is_noticed(folders):
    folder = write_layout(folders[0])
    cifar10.load()
    black = np.zeros((32, 32, 3), dtype=np.uint8)
    write(folder / cifar10.FILES["test"], [encoded(black)] * 3, [1, 2, 3])
    data = cifar10.load()
    assert data.raw_test.shape == (3, 3072) and not data.raw_test.any() and data.y_test.tolist() == [1, 2, 3]


@pytest.mark.parametrize("damage", [
    lambda content: b"", lambda content: b"cut short", lambda content: b"\x93NUMPY\x01\x00",
    lambda content: content[:-1] + bytes([content[-1] ^ 1])])
def test_damaged_memory_of_pixels_is_replaced(folders, damage):
    write_layout(folders[0])
    cifar10.load()
    for path in folders[1].rglob("*.npy"):
        path.write_bytes(damage(path.read_bytes()))
    check(cifar10.load())
    assert len(list(folders[1].rglob("*.npy"))) == 2
    assert all(path.stat().st_size > 3072 for path in folders[1].rglob("*.npy"))


def test_a_home_that_cannot_be_written_only_costs_time(folders):
    write_layout(folders[0])
    folders[1].write_text("a file where the folder should be")
    check(cifar10.load())


def test_jpeg_and_grey_pictures(folders):
    folder = write_layout(folders[0])
    grey = np.full((32, 32), 77, dtype=np.uint8)
    write(folder / cifar10.FILES["test"], [encoded(grey), encoded(grey, "JPEG")], [0, 9])
    assert np.abs(cifar10.load().raw_test.astype(int) - 77).max() <= 1


def test_files_in_home_serve_when_the_data_folder_has_none(folders):
    write_layout(folders[1] / "datasets")
    check(cifar10.load())
    found, sentence = cifar10.available()
    assert found and "WHICHFLUENCE_HOME" in sentence


def test_download_lands_in_home_and_fetches_only_what_is_lacking(folders, monkeypatch):
    asked, source = [], write_layout(folders[0].parent / "hub").parent

    def fetch(*, repo_id, repo_type, filename, local_dir):
        asked.append((repo_id, repo_type, filename))
        target = Path(local_dir) / filename
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((source / filename).read_bytes())

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    check(cifar10.load())
    assert asked == [("uoft-cs/cifar10", "dataset", f"plain_text/{name}") for name in cifar10.FILES.values()]
    (folders[1] / "datasets/cifar10/plain_text" / cifar10.FILES["test"]).unlink()
    check(cifar10.load())
    assert asked[2:] == [("uoft-cs/cifar10", "dataset", f"plain_text/{cifar10.FILES['test']}")]


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("offline"), TimeoutError("slow"),
                                   RuntimeError("odd"), OSError(28, "No space left on device")])
def test_no_network(folders, monkeypatch, error):
    def fail(**options):
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    with pytest.raises(MissingData, match="could not be downloaded; set WHICHFLUENCE_DATA") as caught:
        cifar10.load()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_download_can_be_forbidden_and_a_missing_file_is_named(folders):
    with pytest.raises(MissingData, match="set WHICHFLUENCE_DATA .* or allow the download"):
        cifar10.load(download=False)
    (write_layout(folders[0]) / cifar10.FILES["test"]).unlink()
    with pytest.raises(MissingData, match="plain_text/test-00000-of-00001.parquet is missing"):
        cifar10.load(download=False)
    folders[1].write_text("a file where the folder should be")
    with pytest.raises(MissingData, match="cannot be downloaded to WHICHFLUENCE_HOME .*; set WHICHFLUENCE_HOME"):
        cifar10.load()


WHITE = np.full((32, 32, 3), 255, dtype=np.uint8)
DAMAGE = {
    "no parquet": lambda path: path.write_bytes(b"hello"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:3000]),
    "other columns": lambda path: pq.write_table(pa.table({"image": [1, 2]}), path),
    "no rows": lambda path: write(path, [], []),
    "label 10": lambda path: write(path, [encoded(WHITE)], [10]),
    "other size": lambda path: write(path, [encoded(WHITE[:31])], [1]),
    "no image": lambda path: write(path, [b"hello"], [1]),
    "half an image": lambda path: write(path, [encoded(pixels("test")[0])[:900]], [1]),
    "null": lambda path: write(path, [None], [1]),
    "numbers for images": lambda path: pq.write_table(pa.table({"img": [1, 2], "label": [1, 2]}), path),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_named(folders, damage):
    DAMAGE[damage](write_layout(folders[0]) / cifar10.FILES["train"])
    with pytest.raises(MissingData, match="plain_text/train-00000-of-00001.parquet is damaged") as caught:
        cifar10.load()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_it_is_registered(folders, monkeypatch):
    source = DATASETS["cifar10"]
    assert source.needs_download and not source.available()[0] and "is missing" in source.available()[1]
    monkeypatch.delenv("WHICHFLUENCE_DATA")
    assert "WHICHFLUENCE_DATA is not set" in source.available()[1]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not REAL, reason="WHICHFLUENCE_DATA is not set")
def test_real_files(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    if not cifar10.available()[0]:
        pytest.skip("WHICHFLUENCE_DATA has no CIFAR-10")
    data = cifar10.load(download=False)
    assert data.raw_train.shape == (50000, 3072) and data.raw_test.shape == (10000, 3072)
    assert np.array_equal(np.bincount(data.y_train), [5000] * 10)
    assert np.array_equal(np.bincount(data.y_test), [1000] * 10)
    channels = data.raw_train.reshape(-1, 3).mean(0) / 255
    assert np.abs(channels - [0.4914, 0.4822, 0.4465]).max() < 2e-3  # the means that CIFAR-10 is known for
    start = time.perf_counter()
    assert np.array_equal(cifar10.load(download=False).raw_train[:100], data.raw_train[:100])
    assert time.perf_counter() - start < 5  # a tenth of a second on an idle machine

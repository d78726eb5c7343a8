"""The store: whole or nothing, verified on every read, never overwritten in silence."""

import errno
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

import engine.basics.files
import engine.store.sealed
from engine.basics.errors import InvalidInput, StoreError
from engine.store.results import Store, atomic_write, device_name, digest_of, home, versions
from engine.store.sealed import ARRAYS
from tests.processes import FRESH, start

DIGEST, OTHER = digest_of("one"), digest_of("two")
MANIFEST = {"spec": {"behavior": "query_loss"}, "seeds": [0, 1], "wall_seconds": 1.5}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home")


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1.5, float("nan"), -2.0], "b": ["x", "y", None]}, index=[3, 1, 2])


@pytest.fixture
def written(store, frame):
    scores = np.arange(12.0).reshape(3, 4)
    return store.write(DIGEST, MANIFEST, {"scores": frame}, {"scores": scores, "converged": scores[0] > 1})


def drafts(store):
    return list((store.root / "tmp").glob("*")) if (store.root / "tmp").exists() else []


def one_sentence(error):
    text = str(error.value)
    assert "\n" not in text and text.endswith(".") and not text[0].islower()
    return text


def test_what_is_written_is_read(store, written, frame):
    assert store.has(DIGEST) and not store.has(OTHER)
    result = store.read(DIGEST)
    pd.testing.assert_frame_equal(result.table("scores"), frame)
    assert result.tables == ["scores"] and set(result.arrays()) == {"scores", "converged"}
    np.testing.assert_array_equal(result.array("scores"), np.arange(12.0).reshape(3, 4))
    assert result.array("converged").dtype == bool
    assert result.manifest["seeds"] == [0, 1] and result.manifest["digest"] == DIGEST
    assert result.manifest == written.manifest and result == written
    assert not drafts(store)


@pytest.mark.parametrize("array", [
    np.arange(12, dtype=np.float32).reshape(3, 4).T,
    np.arange(24.0).reshape(2, 3, 4)[:, ::2, ::-1],
    np.float64(2.5),
    np.zeros((0, 3), dtype=np.int64),
], ids=["transposed", "strided", "scalar", "empty"])
def test_arrays_keep_dtype_shape_and_order(store, array):
    back = store.write(DIGEST, {}, arrays={"a": array}).array("a")
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_tensors_and_shared_memory(store):
    weight = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    result = store.write(DIGEST, {}, arrays={"w": weight, "tied": weight.T, "n": np.ones(2)})
    tensors = load_file(result.store.folder(DIGEST) / ARRAYS)
    assert torch.equal(tensors["tied"], weight.T) and tensors["w"].dtype == torch.bfloat16


def test_manifest_takes_what_results_hold(store):
    given = {"gap": np.float64("nan"), "n": np.int64(3), "grid": (0.1, np.array([1, 2]))}
    manifest = store.write(DIGEST, given).manifest
    assert manifest["gap"] is None and manifest["n"] == 3 and manifest["grid"] == [0.1, [1, 2]]
    assert store.read(DIGEST).manifest == manifest


@pytest.mark.parametrize(("tables", "arrays", "manifest", "said"), [
    ({}, {"a": np.array(["x"], dtype=object)}, {}, "table"),
    ({}, {"a": np.array(["x"])}, {}, "table"),
    ({"t": pd.DataFrame({"x": [object()]})}, {}, {}, "parquet"),
    ({"../t": pd.DataFrame({"x": [1]})}, {}, {}, "letters"),
    ({}, {}, {"where": Path("x")}, "PosixPath"),
])
def test_what_cannot_be_stored_is_refused(store, tables, arrays, manifest, said):
    with pytest.raises(InvalidInput, match=said) as error:
        store.write(DIGEST, manifest, tables, arrays)
    one_sentence(error)
    assert not store.has(DIGEST) and not drafts(store)


@pytest.mark.parametrize("digest", ["../../etc", "abc", DIGEST.upper(), 3, DIGEST + "\n"])
def test_only_digests_name_results(store, digest):
    with pytest.raises(InvalidInput, match="hexadecimal"):
        store.read(digest)


def test_missing_result_table_and_array(store, written):
    with pytest.raises(StoreError, match="no result"):
        store.read(OTHER)
    with pytest.raises(StoreError, match="no table `x`; it has: `scores`"):
        written.table("x")
    with pytest.raises(StoreError, match="no array `x`"):
        written.array("x")


def test_same_run_is_kept_and_another_is_refused(store, written):
    again = store.write(DIGEST, {**MANIFEST, "wall_seconds": 9.0}, arrays={"scores": np.zeros(1)})
    assert again.manifest["wall_seconds"] == 1.5 and again.array("scores").shape == (3, 4)
    with pytest.raises(StoreError, match="differs in `seeds`.*not overwritten") as error:
        store.write(DIGEST, {**MANIFEST, "seeds": [5]})
    one_sentence(error)
    assert store.read(DIGEST) == written


def truncate(folder):
    path = folder / "scores.parquet"
    path.write_bytes(path.read_bytes()[:-10])


def alter(folder):
    path = folder / "arrays.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def edit_manifest(folder, old="query_loss", new="soft_margin"):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace(old, new))


def borrow_manifest(folder):
    store = Store(folder.parents[1])
    shutil.copy(store.folder(store.write(OTHER, {}).digest) / "manifest.json", folder)


def seal_anew(folder):
    """As somebody writes it who knows how seals are made."""
    path = folder / "manifest.json"
    record = {**json.loads(path.read_text()), "files": {"scores.parquet": 1}}
    del record["seal"]
    path.write_text(json.dumps({**record, "seal": digest_of(record)}))


def link_away(folder):
    (folder / "scores.parquet").rename(folder.parents[1] / "elsewhere")
    (folder / "scores.parquet").symlink_to(folder.parents[1] / "elsewhere")


DAMAGE = {
    "truncated": (truncate, "`scores.parquet` has .* bytes instead of"),
    "altered": (alter, "`arrays.safetensors` was altered"),
    "foreign": (lambda f: (f / "evil.pkl").write_bytes(b"x"), "`evil.pkl` does not belong"),
    "folder": (lambda f: (f / "sub").mkdir(), "`sub` does not belong"),
    "lost": (lambda f: (f / "scores.parquet").unlink(), "`scores.parquet` is missing"),
    "link": (link_away, "`scores.parquet` does not belong"),
    "other manifest": (borrow_manifest, "belongs to another result"),
    "edited manifest": (edit_manifest, "manifest was altered"),
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "manifest is missing"),
    "garbage": (lambda f: (f / "manifest.json").write_text("{]"), "not JSON"),
    "binary": (lambda f: (f / "manifest.json").write_bytes(b"\xff\x00\x80"), "not valid JSON"),
    "deep": (lambda f: (f / "manifest.json").write_text("[" * 100_000), "lists or objects nested"),
    "list": (lambda f: (f / "manifest.json").write_text("[1]"), "holds a list, not an object"),
    "nan": (lambda f: edit_manifest(f, "1.5", "NaN"), "holds NaN"),
    "twice": (lambda f: edit_manifest(f, '"seeds"', '"spec": 1, "seeds"'), "the key `spec` twice"),
    "sizes": (lambda f: edit_manifest(f, '"size"', '"weight"'), "manifest was altered"),
    "sealed anew": (seal_anew, "not written by this program"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_set_aside_and_said(store, written, name):
    harm, said = DAMAGE[name]
    harm(store.folder(DIGEST))
    with pytest.raises(StoreError, match=said) as error:
        store.read(DIGEST)
    assert "can be repeated" in one_sentence(error) and str(store.root) not in str(error.value)
    assert not store.folder(DIGEST).exists()
    reasons = list((store.root / "set-aside").glob("*/reason.txt"))
    assert len(reasons) == 1 and (reasons[0].parent / DIGEST).is_dir()
    assert store.write(DIGEST, MANIFEST).manifest == store.read(DIGEST).manifest


@pytest.mark.parametrize("harm", [edit_manifest, seal_anew, lambda folder: edit_manifest(folder, '"size"', '"weight"')])
def test_a_manifest_that_is_not_ours_is_not_listed(store, written, harm):
    harm(store.folder(DIGEST))
    assert [result.size for result in store.entries()] == [] and store.folder(DIGEST).exists()


@pytest.mark.parametrize("manifest", [{"deep": json.loads("[" * 80 + "]" * 80)}, {"many": 10**1_200}])
def test_no_manifest_is_written_that_would_not_be_read(store, manifest):
    with pytest.raises(InvalidInput):
        store.write(DIGEST, manifest)
    assert store.entries() == [] and not store.folder(DIGEST).exists()


def test_damage_found_while_writing_is_kept_aside(store, written):
    truncate(store.folder(DIGEST))
    assert store.write(DIGEST, MANIFEST, arrays={"new": np.ones(1)}).array("new") == 1
    assert len(list((store.root / "set-aside").iterdir())) == 1


def test_damage_after_reading(store, written):
    result = store.read(DIGEST)
    truncate(store.folder(DIGEST))
    with pytest.raises(StoreError, match="instead of"):
        result.table("scores")
    with pytest.raises(StoreError, match="no result"):
        result.arrays()


def test_full_disk_leaves_nothing(store, frame, monkeypatch):
    real = engine.store.sealed.write_synced

    def full(path, content):
        if path.name == "arrays.safetensors":
            path.write_bytes(content[:5])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(engine.store.sealed, "write_synced", full)
    with pytest.raises(StoreError, match="disk is full") as error:
        store.write(DIGEST, MANIFEST, {"t": frame}, {"a": np.ones(3)})
    one_sentence(error)
    assert not store.folder(DIGEST).exists() and not drafts(store)
    monkeypatch.undo()
    assert store.write(DIGEST, MANIFEST, {"t": frame}).tables == ["t"]


@pytest.fixture
def tiny_disk():
    place = tempfile.mkdtemp()
    if shutil.which("mount") is None or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True).returncode:
        os.rmdir(place)
        pytest.skip("mounting a tiny disk is not allowed here")
    yield Path(place)
    subprocess.run(["umount", place], check=True)
    os.rmdir(place)


def test_a_really_full_disk(tiny_disk):
    store = Store(tiny_disk / "home")
    small = store.write(OTHER, {}, arrays={"a": np.ones(10)})
    with pytest.raises(StoreError, match="disk is full"):
        store.write(DIGEST, {}, arrays={"a": np.ones(100_000)})
    with pytest.raises(StoreError, match="disk is full"):
        atomic_write(tiny_disk / "scores.npz", lambda file: np.savez(file, scores=np.ones(100_000)))
    assert not store.folder(DIGEST).exists() and not drafts(store) and os.listdir(tiny_disk) == ["home"]
    assert store.read(OTHER) == small


def test_unwritable_home(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="does not exist; create it"):
        Store(tmp_path / "file" / "home").write(DIGEST, {})


def write_same(root, barrier, queue, value):
    barrier.wait()
    queue.put(float(Store(root).write(DIGEST, MANIFEST, arrays={"a": np.full(200_000, value)}).array("a")[0]))


def test_two_processes_write_the_same_result(store):
    barrier, queue = FRESH.Barrier(3), FRESH.Queue()
    writers = [start(write_same, store.root, barrier, queue, float(i)) for i in range(3)]
    seen = {queue.get(timeout=20) for _ in writers}
    for writer in writers:
        writer.join(20)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(seen) == 1 and store.read(DIGEST).array("a")[0] in seen and not drafts(store)


def test_a_rival_finishes_first(store, monkeypatch):
    real = engine.store.sealed.fill

    def slow(*arguments):
        monkeypatch.setattr("engine.store.results.fill", real)
        store.write(DIGEST, {"seeds": [rival]})
        return real(*arguments)

    rival = 1
    monkeypatch.setattr("engine.store.results.fill", slow)
    assert store.write(DIGEST, {"seeds": [1], "wall_seconds": 3}).manifest.get("wall_seconds") is None
    store.delete(DIGEST)
    rival = 2
    monkeypatch.setattr("engine.store.results.fill", slow)
    with pytest.raises(StoreError, match="differs in `seeds`"):
        store.write(DIGEST, {"seeds": [1]})
    assert not drafts(store)


def test_entries_delete_and_sweep(store, written):
    store.write(OTHER, {"written": "2099-01-01T00:00:00Z"})
    (store.shelf / "notes").mkdir()
    assert [entry.digest for entry in store.entries()] == [OTHER, DIGEST]
    assert written.size > 0
    store.delete(DIGEST)
    store.delete(DIGEST)
    assert [entry.digest for entry in store.entries()] == [OTHER]
    (store.root / "tmp" / "left").mkdir()
    store.sweep()
    assert len(drafts(store)) == 1
    store.sweep(older_than=-1.0)
    assert not drafts(store)


def test_atomic_write(tmp_path, monkeypatch):
    path = atomic_write(tmp_path / "a.csv", "α\n")
    assert path.read_text(encoding="utf-8") == "α\n"
    atomic_write(path, lambda file: np.savez(file, x=np.ones(2)))
    with np.load(path, allow_pickle=False) as back:
        assert back["x"].sum() == 2

    def breaks(file):
        file.write(b"half")
        raise InvalidInput("No.")

    with pytest.raises(InvalidInput):
        atomic_write(path, breaks)
    monkeypatch.setattr(engine.basics.files.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(StoreError, match="disk is full"):
        atomic_write(path, b"x")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a.csv"] and path.stat().st_size > 100
    with pytest.raises(StoreError, match="does not exist"):
        atomic_write(tmp_path / "no" / "b", b"")
    with pytest.raises(StoreError, match="cannot be written"):
        atomic_write(tmp_path, b"")


def test_provenance_names_no_machine(monkeypatch, tmp_path):
    text = json.dumps(versions()) + device_name("cpu")
    assert {"whichfluence", "python", "torch", "numpy", "scipy", "platform"} <= set(versions())
    assert os.uname().nodename not in text and os.getcwd() not in text
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    assert home() == tmp_path and Store().root == tmp_path
    monkeypatch.delenv("WHICHFLUENCE_HOME")
    assert home().name == "whichfluence"


def test_digest_refuses_what_json_cannot_hold():
    assert digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    with pytest.raises(InvalidInput, match="no digest"):
        digest_of({"x": float("nan")})
    with pytest.raises(InvalidInput, match="no digest"):
        digest_of(object())

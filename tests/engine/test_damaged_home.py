"""What a home holds, damaged: it is computed anew, or one sentence says what is wrong and what to do; never other
numbers, and whatever else lies there goes on."""

import io
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.applications.lessons.answers import Answer, Answers
from engine.basics.errors import WhichfluenceError
from engine.basics.folders import home_folder
from engine.data import embeddings, record_files, uploads
from engine.external import saved_tables
from engine.external.table import Table
from engine.library import SHELVES, notes, views
from engine.models import own_weights
from engine.models.checkpoint import read_state, save_checkpoint
from engine.models.pretrained.row_cache import cached_rows
from engine.models.recorded import Recorder
from engine.models.recorded import stored_recordings as recordings
from engine.store import comparisons, external_scores
from engine.store.external_scores import ExternalScores

HARMS = {"emptied": lambda content: b"", "cut": lambda content: content[:len(content) // 2],
         "a byte short": lambda content: content[:-1], "garbled": lambda content: b"\xa5" * len(content),
         "altered": lambda content: content[:-4] + bytes(4) if any(content[-4:]) else content[:-4] + b"\1\2\3\4"}
ROWS = np.random.default_rng(0).normal(size=(40, 32)).astype("f4") + 9
SCORES = ExternalScores(np.arange(6.0).reshape(2, 3) + 1, np.arange(3), "data", {"file": "f.npy"})
RECORDS = b"".join(b'{"prompt": "%d", "response": "b"}\n' % row for row in range(20))


@dataclass(frozen=True)
class Kept:
    """write: () -> None stores it; read: () -> what it says, as plain data; anew: whether it can be computed again."""

    write: object
    read: object
    files: str
    anew: bool = False


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    buffer.seek(0)
    return buffer


def _upload():
    table = "a,b,label\n" + "".join(f"{row},{row % 7},{'xy'[row % 2]}\n" for row in range(30))
    return uploads.keep(io.BytesIO(table.encode()), "t.csv")


def _features():
    return cached_rows("own", [bytes([row]) * 16 for row in range(40)], 32, lambda index: ROWS[index], 10).tolist()


def _weights():
    torch.manual_seed(0)
    buffer = io.BytesIO()
    torch.save(torch.nn.Linear(4, 2).state_dict(), buffer)
    buffer.seek(0)
    return own_weights.keep(buffer, "w.pt", torch.nn.Linear(4, 2))


def _recording():
    torch.manual_seed(0)
    model, (x, y) = torch.nn.Linear(2, 2), (torch.ones(2, 2), torch.tensor([0, 1]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    folder = home_folder() / "run"
    shutil.rmtree(folder, ignore_errors=True)
    with Recorder(folder, model, optimizer) as recorder:
        recorder.batch(x, y)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        recorder.close()
    recordings.keep(folder)


def _model():
    return save_checkpoint({"w": torch.arange(1.0, 40.0)}, home_folder() / "model.safetensors", {"passes": "float32"})


def _saved():
    comparisons.save("Mine", "note", "metric=sign")


KEPT = {
    "upload": Kept(_upload, lambda: uploads.load(_name("uploads/upload-*.csv")).x_train.tolist(),
                   "uploads/upload-*.csv"),
    "records": Kept(lambda: record_files.keep(RECORDS), lambda: Path(record_files.path_of(_name(
        "uploads/records-*"))).read_bytes(), "uploads/records-*"),
    "embeddings": Kept(lambda: embeddings.keep(_npy(ROWS), "e.npy"),
                       lambda: embeddings.read(_name("uploads/embeddings-*")).rows.tolist(), "uploads/embeddings-*"),
    "own weights": Kept(_weights, lambda: own_weights.load(_name("models/own/own-*", ".safetensors"), torch.nn.Linear(
        4, 2)).weight.tolist(), "models/own/own-*"),
    "trained weights": Kept(_model, lambda: read_state(home_folder() / "model.safetensors")["w"].tolist(),
                            "model.safetensors"),
    "recording": Kept(_recording, lambda: recordings.load(_name("models/own/run-*")).state(1)["bias"].tolist(),
                      "models/own/run-*/*"),
    "features": Kept(_features, _features, "features/*.sqlite", anew=True),
    "imported scores": Kept(lambda: external_scores.keep(SCORES), lambda: external_scores.load(
        SCORES.digest).values.tolist(), "brought/*/*"),
    "imported table": Kept(lambda: saved_tables.keep(Table(ROWS), "a.npy"), lambda: saved_tables.load(
        saved_tables.digest_of(Table(ROWS)))[0].values.tolist(), "brought/*/*"),
}


def _name(pattern, suffix=""):
    return next(home_folder().glob(pattern)).name.removesuffix(suffix)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_damaged_is_computed_anew_or_said(home, name, harm):
    kept = KEPT[name]
    kept.write()
    before = kept.read()
    for path in sorted(home.glob(kept.files)):
        path.write_bytes(HARMS[harm](path.read_bytes()))
        try:
            assert kept.read() == before
        except WhichfluenceError as error:
            assert not kept.anew and str(error).count(". ") == 0 and ";" in str(error)
            assert "run can be repeated" not in str(error), "nothing of what was given can be"
        kept.write()  # given again, it is whole
        assert kept.read() == before


@pytest.mark.parametrize("harm", ["emptied", "cut", "garbled"])
def test_a_damaged_file_of_answers_is_a_sentence_that_names_it(home, harm):
    log = Answers(home)
    log.keep("visitor", "step", Answer(1))
    path = home / "lessons.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(HARMS[harm](path.read_bytes()))
    try:
        assert log.of("visitor") == {}
    except WhichfluenceError as error:
        assert "is damaged; move it away" in str(error)


@pytest.mark.parametrize("harm", HARMS)
def test_the_library_lists_what_is_whole_beside_what_is_damaged(home, harm):
    for name in ("Whole", "Broken"):
        entry = comparisons.save(name, "note", "metric=sign")
        notes.write("comparisons", entry.key, "note", "tag")
        views.seen(entry.key, "compare", "metric=sign")
    for path in home.rglob(f"*{entry.key}.json"):
        path.write_bytes(HARMS[harm](path.read_bytes()))
    titles = {each.title: each.trouble for each in SHELVES["comparisons"].entries()}
    assert titles.pop("Whole") == "" and len(titles) == 1
    [(title, trouble)] = titles.items()
    assert title == "Broken" or "delete it" in trouble


@pytest.mark.parametrize("harm", ["emptied", "cut", "garbled", "altered", "gone", "newer"])
@pytest.mark.parametrize("name", ["imported scores", "imported table"])
def test_the_library_lists_an_import_whose_manifest_is_damaged(home, name, harm):
    KEPT[name].write()
    [path] = home.glob("brought/*/manifest.json")
    if harm == "gone":
        path.unlink()
    elif harm == "newer":
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    else:
        path.write_bytes(HARMS[harm](path.read_bytes()))
    [entry] = SHELVES["brought"].entries()
    assert (entry.key, entry.page) == (path.parent.name, "")
    assert "newer version" in entry.trouble if harm == "newer" else "import its source file" in entry.trouble
    assert entry.trouble.count(". ") == 0
    SHELVES["brought"].delete(entry.key)
    assert not SHELVES["brought"].entries()
    KEPT[name].write()
    [whole] = SHELVES["brought"].entries()
    assert not whole.trouble


def test_a_comparison_that_a_newer_version_saved_stays_and_says_so(home):
    entry = comparisons.save("Theirs", "", "metric=sign")
    path = home / "saved" / f"{entry.key}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, "more": 1}))
    comparisons.save("Ours", "", "metric=sign")
    listed = {each.title: each.trouble for each in SHELVES["comparisons"].entries()}
    assert listed.pop("Ours") == "" and "newer version" in (trouble := listed.popitem()[1]) and "delete" not in trouble
    assert [each.saved.name for each in comparisons.entries()] == ["Ours"]

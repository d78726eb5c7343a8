"""Every door through which foreign content comes: how it is read, and what is rightly read there."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import save as save_arrays

from app.widgets.words.plain_text import sentence
from engine.applications.noisy_labels.decision_file import read_decisions
from engine.basics.folders import at_home, home_folder
from engine.basics.strict_json import parse_json
from engine.cli.reading import read_columns
from engine.cli.spec_files import read_source, read_spec, read_specs
from engine.data import load_npz, record_files, uploads
from engine.data.image_folder import load_image_folder
from engine.data.records import read_jsonl
from engine.data.tables import load_table
from engine.external.files import read_table
from engine.library import views
from engine.models import own_weights
from engine.models.checkpoint import read_state
from engine.models.recorded import Recorder
from engine.models.recorded import stored_recordings as recordings
from engine.store import comparisons

STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": 0.1}}
TABLE = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
LONG = pd.DataFrame([(q, k, 0.5 * q - k) for q in range(3) for k in range(4)], columns=["query", "candidate", "score"])


@dataclass(frozen=True)
class Door:
    """read: takes the path of a file with the content; corpus: contents that it takes."""

    suffix: str
    read: Callable[[Path], object]
    corpus: tuple[bytes, ...]


def _bytes(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _json(*values: object) -> tuple[bytes, ...]:
    return tuple(json.dumps(value).encode() for value in values)


def _pictures() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for label in ("cat", "dog"):
            for place in range(3):
                file = io.BytesIO()
                Image.fromarray(np.full((4, 4, 3), 40 * place, np.uint8)).save(file, "png")
                archive.writestr(f"{label}/{place}.png", file.getvalue())
    return buffer.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _labelled() -> bytes:
    """Pictures beside a table of their classes, and a list of those that are known to be wrong."""
    with zipfile.ZipFile(io.BytesIO(_pictures())) as archive:
        files = {name.replace("/", "-"): archive.read(name) for name in archive.namelist()}
    rows = "".join(f"{name},{name[:3]}\n" for name in files)
    return zip_of({"labels.csv": f"file,label\n{rows}".encode(), "wrong_labels.txt": b"cat-0.png\n", **files})


def _recorded() -> bytes:
    """The folder of a recorded training of one step."""
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tempfile.TemporaryDirectory() as folder, Recorder(run := Path(folder) / "run", model, optimizer) as recorder:
        x, y = torch.ones(2, 2), torch.tensor([0, 1])
        recorder.batch(x, y)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        recorder.close()
        return zip_of({path.name: path.read_bytes() for path in sorted(run.iterdir())})


def _score_folder() -> bytes:
    """Scores as bergson writes them."""
    kind = np.dtype({"names": ["score_0", "written_0"], "formats": ["<f4", "?"], "offsets": [0, 4], "itemsize": 8})
    rows = np.zeros(4, kind)
    rows["score_0"], rows["written_0"] = np.arange(4), True
    info = {"num_rows": 4, "num_scores": 1, "dtype": {
        "names": list(kind.names), "formats": ["float32", "bool"], "offsets": [0, 4], "itemsize": 8}}
    return zip_of({"info.json": json.dumps(info).encode(), "scores.bin": rows.tobytes()})


def _at_home(read: Callable[[Path, io.BytesIO], object]) -> Callable[[Path], object]:
    """read: (path, its content as an upload), in a home of its own that is empty each time."""
    def run(path: Path) -> object:
        with tempfile.TemporaryDirectory() as home, at_home(Path(home)):
            return read(path, io.BytesIO(path.read_bytes()))

    return run


def _view(path: Path, content: io.BytesIO) -> object:
    """Where something was last seen: what cannot be read is nothing."""
    folder = home_folder() / "library" / "views"
    folder.mkdir(parents=True)
    (folder / "key.json").write_bytes(content.read())
    return views.of("key")


UPLOAD = _at_home(lambda path, content: uploads.keep(content, path.name))


def _saved(path: Path) -> object:
    """A saved comparison, read as the page reads it."""
    return comparisons.Saved.parse(parse_json(path.read_bytes(), "The file"))


ROWS = {"x_train": np.eye(4), "y_train": np.array([0, 1, 0, 1]), "x_query": np.eye(4)[:2], "y_query": np.array([0, 1])}
OWN = pd.DataFrame({"id": list("abcdefgh"), "label": ["x", "y"] * 4, "split": ["train"] * 6 + ["test"] * 2,
                    "u": np.arange(8.0), "v": np.arange(8)})
DOORS = {
    "problem": Door(".npz", load_npz, (_bytes(lambda file: np.savez(file, **ROWS)),)),
    "spec": Door(".json", read_spec, _json(STEP, {**STEP, "estimator": "first_order"})),
    "specs": Door(".json", read_specs, _json([{"name": "a", "spec": STEP}, {"name": "b", "spec": STEP}])),
    "source": Door(".json", read_source, _json({"dataset": "digits", "n_train": 60, "model": "softmax", "seed": 1})),
    "npy": Door(".npy", read_table, (_bytes(lambda file: np.save(file, TABLE.to_numpy())),)),
    "npz": Door(".npz", read_table, (_bytes(lambda file: np.savez(file, scores=TABLE, candidates=np.arange(4))),)),
    "safetensors": Door(".safetensors", read_table, (save_arrays({"scores": TABLE.to_numpy()}),)),
    "torch scores": Door(".pt", read_table, (
        _bytes(lambda file: torch.save(torch.ones(3, 4), file)),
        _bytes(lambda file: torch.save({"scores": torch.ones(3, 4), "other": torch.ones(2)}, file)))),
    "parquet": Door(".parquet", read_table, (_bytes(TABLE.to_parquet), _bytes(LONG.to_parquet))),
    "csv": Door(".csv", read_table, (TABLE.to_csv().encode(), LONG.to_csv(index=False).encode())),
    "changes": Door(".csv", read_decisions, (b"row,label\n3,\n5,2\n",
                                              b"file,label,verdict,right_label\na,b,wrong,c\n")),
    "records": Door(".jsonl", read_jsonl, (b'{"prompt": "a", "response": "The answer is B.", "spans": {"answer": '
                                           b'[14, 15]}, "choices": ["A", "B"]}\n{"prompt": "a", "response": "b"}\n',)),
    "pictures": Door(".zip", load_image_folder, (_pictures(),)),
    "table": Door(".parquet", load_table, (_bytes(OWN.to_parquet), _bytes(OWN.drop(columns="split").to_parquet))),
    "columns": Door(".csv", lambda path: read_columns(path, "file", "label"), (b"file,label\ncat/0.png,dog\nb,\n",)),
    "checkpoint": Door(".pt", read_state, (_bytes(lambda file: torch.save({"a": torch.ones(3)}, file)),
                                           save_arrays({"a": np.ones(3)}))),
    "saved": Door(".json", _saved, _json({"name": "a", "note": "", "created": "2026-01-01", "address": "s=1"})),
    "table in CSV": Door(".csv", load_table, (OWN.to_csv(index=False).encode(),
                                              OWN.to_csv(sep=";", decimal=",").encode("utf-16"))),
    "table in TSV": Door(".tsv", load_table, (OWN.to_csv(sep="\t").encode(),)),
    "table in Arrow": Door(".arrow", load_table, (_bytes(OWN.to_feather),)),
    "table in JSON lines": Door(".ndjson", load_table, (OWN.to_json(orient="records", lines=True).encode(),)),
    "table in JSON": Door(".json", load_table, (OWN.to_json(orient="records").encode(),)),
    "labelled images": Door(".zip", load_image_folder, (_labelled(),)),
    "uploaded arrays": Door(".npz", UPLOAD, (_bytes(lambda file: np.savez(file, **ROWS)),)),
    "uploaded table": Door(".parquet", UPLOAD, (_bytes(OWN.to_parquet),)),
    "uploaded records": Door(".jsonl", UPLOAD, (b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant",'
                                                b' "content": "b"}]}\n{"prompt": "a", "completion": "c"}\n',
                                                b'[{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}]'
                                                )),
    "records for a study": Door(".jsonl", _at_home(lambda path, content: record_files.keep(content.read())), (
        b'{"instruction": "a", "input": "", "output": "b"}\n',)),
    "weights": Door(".safetensors", _at_home(lambda path, content: own_weights.keep(
        content, path.name, torch.nn.Linear(2, 2))), (save_arrays({"weight": np.ones((2, 2)), "bias": np.ones(2)}),)),
    "recording": Door(".zip", _at_home(lambda path, content: recordings.keep_zip(content)), (_recorded(),)),
    "score folder": Door(".zip", read_table, (_score_folder(),)),
    "view": Door(".json", _at_home(_view), _json({"format": 1, "page": "compare", "address": "a=1"})),
    "message": Door(".txt", lambda path: sentence(path.read_bytes().decode("latin-1")), (b"There is no `x`.",)),
}

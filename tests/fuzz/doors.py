"""Every door through which foreign content comes: how it is read, and what is rightly read there."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import save as save_arrays

from app.widgets.words.plain_text import sentence
from engine.basics.strict_json import parse_json
from engine.cli.changes import read_changes
from engine.cli.reading import read_columns
from engine.cli.spec_files import read_source, read_spec, read_specs
from engine.data import load_npz
from engine.data.image_folder import load_image_folder
from engine.data.records import read_jsonl
from engine.data.tables import load_table
from engine.external.files import read_table
from engine.models.checkpoint import read_state
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
    "parquet": Door(".parquet", read_table, (_bytes(TABLE.to_parquet), _bytes(LONG.to_parquet))),
    "csv": Door(".csv", read_table, (TABLE.to_csv().encode(), LONG.to_csv(index=False).encode())),
    "changes": Door(".csv", read_changes, (b"row,label\n3,\n5,2\n",)),
    "records": Door(".jsonl", read_jsonl, (b'{"prompt": "a", "response": "The answer is B.", "spans": {"answer": '
                                           b'[14, 15]}, "choices": ["A", "B"]}\n{"prompt": "a", "response": "b"}\n',)),
    "pictures": Door(".zip", load_image_folder, (_pictures(),)),
    "table": Door(".parquet", load_table, (_bytes(OWN.to_parquet), _bytes(OWN.drop(columns="split").to_parquet))),
    "columns": Door(".csv", lambda path: read_columns(path, "file", "label"), (b"file,label\ncat/0.png,dog\nb,\n",)),
    "checkpoint": Door(".pt", read_state, (_bytes(lambda file: torch.save({"a": torch.ones(3)}, file)),
                                           save_arrays({"a": np.ones(3)}))),
    "saved": Door(".json", _saved, _json({"name": "a", "note": "", "created": "2026-01-01", "address": "s=1"})),
    "message": Door(".txt", lambda path: sentence(path.read_bytes().decode("latin-1")), (b"There is no `x`.",)),
}

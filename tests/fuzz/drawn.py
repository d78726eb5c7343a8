"""Files that are drawn as people write them, each kind with what is right and what is wrong in it."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import save as save_tensors

from engine.cli.spec_files import read_spec
from engine.data.new_examples import read_arrays
from engine.data.tables import load_table, rows_beside
from engine.estimators import ESTIMATORS
from engine.external.files import read_table
from tests.fuzz.doors import OWN, UPLOAD, zip_of

DTYPES = ("uint8", "int16", "uint16", "bool", "float16", "float32", "float64", "int64", "complex64", "U3")
ODD = (None, True, 0, -1, 1.5, "", " ", "a", "Ä\u2028", "=1+1", [], {}, ["a"], {"a": 1}, 10**30)
CELLS = {
    "numbers": st.floats(-1e3, 1e3).map(lambda value: f"{value:.3f}"),
    "decimal commas": st.floats(-1e3, 1e3).map(lambda value: f"{value:.2f}".replace(".", ",")),
    "thousands": st.integers(1_000, 10**7).map(lambda value: f"{value:,}".replace(",", ".") + ",5"),
    "dates": st.dates().map(str), "German dates": st.dates().map(lambda day: f"{day:%d.%m.%Y}"),
    "times": st.datetimes(timezones=st.none() | st.timezones()).map(lambda time: time.isoformat()),
    "categories": st.sampled_from(["red", "green", "blue", ""]),
    "flags": st.sampled_from(["true", "False", "yes", "1"]),
    "texts": st.text(max_size=12), "nothing": st.just(""), "codes": st.sampled_from(["007", "7", "1e5", "0x1", "NaN"]),
    "cells of programs": st.sampled_from(["#REF!", "\u22121", "1'000", "[1, 2]", "[1. 2.]", "[]", "[a]", "A\u0308 "])}
HEADS = st.sampled_from(["label", "Target", "split", "id", "name", "x", "y", "date", "price €", "", "a", "x",
                         "Unnamed: 0"])
SPLITS = st.sampled_from(["train", "Training", "val", "valid", "validation", "dev", "test", "testing", "eval", "TEST",
                          "extra", "seg_train", "seg_test", ".hidden", "__MACOSX", ".ipynb_checkpoints", "train/train"])
CLASSES = st.sampled_from(["cat", "dog", "Stra\u00dfe", "A\u0308", "\u00c4", "0", "a/b", "con", " "])


@dataclass(frozen=True)
class Drawn:
    """read: takes the path of a file; files: (ending, content) to draw."""

    read: Callable[[Path], object]
    files: st.SearchStrategy[tuple[str, bytes]]

    @classmethod
    def of(cls, suffix: str, read: Callable[[Path], object], contents: st.SearchStrategy[bytes]) -> Drawn:
        """Of files of one ending."""
        return cls(read, contents.map(lambda content: (suffix, content)))


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


@st.composite
def arrays(draw: Any, shapes: st.SearchStrategy[tuple[int, ...]], dtypes: tuple[str, ...] = DTYPES) -> np.ndarray:
    """Of small numbers, now and then with one that is none."""
    shape, dtype = draw(shapes), draw(st.sampled_from(dtypes))
    made = (np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape) * 9).astype(dtype)
    if made.size and made.dtype.kind == "f" and draw(st.booleans()):
        made.flat[0] = draw(st.sampled_from([np.nan, np.inf, 1e30]))
    return made


@st.composite
def pictures_npz(draw: Any, names: tuple[str, ...] = ("train", "query")) -> bytes:
    """Pictures in any layout, with labels that mostly fit them."""
    side, channels = draw(st.integers(1, 6)), draw(st.sampled_from([(), (1,), (3,), (4,), (2,)]))
    last, held = draw(st.booleans()), {}
    for name in names:
        count = draw(st.integers(0, 8))
        shape = (count, side, side, *channels) if last else (count, *channels, side, side)
        held[f"x_{name}" if name else "x"] = draw(arrays(st.just(shape)))
        held[f"y_{name}" if name else "y"] = draw(arrays(st.just((count,)), ("int64",)) | st.just(
            np.arange(count) % 2) | arrays(st.just((count, 2)), ("float64", "U3")))
    if draw(st.booleans()):
        held["candidates"] = draw(arrays(st.tuples(st.integers(0, 4)), ("int64", "bool", "float64")))
    return _written(lambda file: np.savez(file, **held))


@st.composite
def tables(draw: Any) -> bytes:
    """A CSV of cells as people write them, in any dialect."""
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    rows, separator = draw(st.integers(0, 14)), draw(st.sampled_from([",", ";", "\t", "|"]))
    heads = [draw(HEADS) for _ in kinds]
    lines = [heads, *([draw(CELLS[kind]) for kind in kinds] for _ in range(rows))]
    quoted = [[f'"{cell}"' if separator in cell or '"' in cell or "\n" in cell else cell for cell in line]
              for line in lines]
    text = draw(st.sampled_from(["\n", "\r\n"])).join(separator.join(line) for line in quoted)
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])), "replace")


WORDS = st.text(max_size=20) | st.sampled_from(["The answer is B.", "Why?"]) | st.sampled_from(ODD)
ROLES = st.sampled_from(["user", "assistant", "system", "human", "gpt", "tool", "User", "judge", "", None, 1])
TURN = st.fixed_dictionaries({}, optional={
    "role": ROLES, "from": ROLES, "content": WORDS | st.lists(st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image"])}, optional={"text": WORDS}), max_size=2),
    "value": WORDS, "weight": st.sampled_from(ODD), "train": st.sampled_from(ODD), "tool_calls": st.sampled_from(ODD)})
TALK = st.lists(TURN, max_size=4) | st.sampled_from(ODD)
OBJECT = st.fixed_dictionaries({}, optional={
    "messages": TALK, "conversations": TALK, "history": st.lists(st.lists(WORDS, max_size=2), max_size=2),
    "system": WORDS, "context": WORDS, "question": WORDS, "instruction": WORDS, "input": WORDS, "output": WORDS,
    "prompt": WORDS | TALK, "response": WORDS,
    "completion": WORDS | TALK, "chosen": WORDS | TALK, "id": st.sampled_from(ODD), "label": WORDS, "answer": WORDS,
    "spans": st.dictionaries(st.sampled_from(["answer", "explanation", "other"]), st.lists(
        st.integers(-2, 30), max_size=3), max_size=2) | st.sampled_from(ODD),
    "choices": st.lists(WORDS, max_size=3), "metadata": st.sampled_from(ODD), "flags": st.sampled_from(ODD)})
RECORDS = st.one_of(
    st.lists(OBJECT | st.sampled_from(ODD), min_size=1, max_size=6).map(
        lambda rows: "\n".join(json.dumps(row) for row in rows).encode()),
    st.lists(OBJECT, max_size=6).map(lambda rows: json.dumps(rows).encode()))


FORMS = [("L", "png"), ("RGBA", "png"), ("P", "gif"), ("I;16", "png"), ("CMYK", "jpeg"), ("F", "tiff"), ("1", "bmp")]


@cache
def _picture(mode: str, size: int, kind: str) -> bytes:
    return _written(lambda file: Image.new(mode, (size, size), 1).save(file, kind))


@st.composite
def folders(draw: Any) -> bytes:
    """A zip of classes within splits, with what else lies in such folders."""
    files = {}
    for number in range(draw(st.integers(1, 12))):
        split, label = draw(st.none() | SPLITS), draw(CLASSES)
        mode, kind = draw(st.sampled_from(FORMS))
        files["/".join(filter(None, [split, label, f"{number}.{kind}"]))] = _picture(
            mode, draw(st.integers(1, 5)), kind)
    more = draw(st.dictionaries(st.sampled_from(["labels.csv", "train/labels.csv", "wrong_labels.txt", "notes.txt",
                                                 "annotations.json", "metadata.jsonl"]),
                                st.sampled_from([b"", b"file,label\n0.png,cat\n", b"{}", b"cat/0.png\n", b"\xff"]),
                                max_size=2))
    return zip_of({**files, **more})


SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
NUMBERS = ("float32", "float64", "float16", "int64", "uint8", "bool")


@st.composite
def score_files(draw: Any) -> tuple[str, bytes]:
    """Arrays as libraries save them, alone and by name."""
    made = [draw(arrays(SHAPES, NUMBERS)) for _ in range(draw(st.integers(1, 3)))]
    names = ["scores", "all_modules", "other"][:len(made)]
    tensors = {name: torch.as_tensor(one).to(draw(st.sampled_from([torch.float32, torch.bfloat16, torch.int8])))
               for name, one in zip(names, made, strict=True)}
    labels = np.array([f"row {row}" for row in range(draw(st.integers(0, 5)))])
    suffix, write = draw(st.sampled_from([
        (".npy", lambda file: np.save(file, made[0])), (".mmap", lambda file: np.save(file, made[0])),
        (".npz", lambda file: np.savez(file, **dict(zip(names, made, strict=True)))),
        (".npz", lambda file: np.savez(file, scores=made[0], candidates=labels, queries=labels[:2])),
        (".pt", lambda file: torch.save(tensors["scores"], file)), (".pt", lambda file: torch.save(tensors, file)),
        (".pth", lambda file: torch.save(list(tensors.values()), file)),
        (".pt", lambda file: torch.save((torch.arange(made[0].size), torch.ones(made[0].size)), file)),
        (".safetensors", lambda file: file.write(save_tensors(tensors)))]))
    return suffix, _written(write)


@st.composite
def specs(draw: Any) -> bytes:
    """A specification whose estimator carries settings, of which some are its own."""
    name = draw(st.sampled_from(sorted(ESTIMATORS)))
    values = st.integers(-5, 10**6) | st.floats() | st.sampled_from(["", "yes", "1e999", "a=b", "1,5", "ü"])
    known = ESTIMATORS[name].settings
    own = [*(known.model_fields if known else ()), "unknown", ""]
    given = draw(st.lists(st.tuples(st.sampled_from(own), values), max_size=3))
    process = draw(st.sampled_from([{"kind": "one_step", "eta": 0.1}, {"kind": "local_response", "damping": 0.1},
                                    {"kind": "reoptimize"}, {"kind": "retrain", "seeds": 2}]))
    done = draw(st.sampled_from([{"kind": "add_occurrence"}, {"kind": "infinitesimal"}, {"kind": "remove"},
                                 {"kind": "upweight", "alpha": 1e-3}]))
    chosen = ";".join([name, *(f"{field}={value}" for field, value in given)])
    return json.dumps({"behavior": "query_loss", "intervention": done, "process": process,
                       "estimator": chosen}).encode()


def _rows(path: Path) -> object:
    """New candidates of a table, beside the table that was trained on."""
    with tempfile.TemporaryDirectory() as folder:
        origin = Path(folder) / "old.parquet"
        OWN.to_parquet(origin)
        return rows_beside(path, origin, load_table(origin).x_train)


NEW = tables() | st.permutations(list(OWN.columns)).map(lambda names: OWN[list(names)].to_csv(index=False).encode())
DRAWN = {
    "arrays of images": Drawn.of(".npz", UPLOAD, pictures_npz()),
    "tables as people write them": Drawn.of(".csv", UPLOAD, tables()),
    "conversations and instructions": Drawn.of(".jsonl", UPLOAD, RECORDS),
    "folders with splits": Drawn.of(".zip", UPLOAD, folders()),
    "scores of other libraries": Drawn(read_table, score_files()),
    "settings": Drawn.of(".json", read_spec, specs()),
    "new candidates of a table": Drawn.of(".csv", _rows, NEW),
    "new candidates of arrays": Drawn.of(".npz", read_arrays, pictures_npz(("",))),
}

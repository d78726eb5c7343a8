"""A dataset as a folder in the layout of the Hugging Face hub: Parquet files with their features, and a card that names
them. `datasets.load_dataset(FOLDER)` reads it, and so does every door for own data here (`engine.data.hub_folder`)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.basics.files import make_folder, write_together
from engine.basics.provenance import versions
from engine.data.dataset import SPLITS, Dataset
from engine.data.hub_folder import NOTES
from engine.data.records import SPANS, Record
from engine.data.split_names import TEST, TRAIN, VAL

if TYPE_CHECKING:
    import pyarrow as pa

HUB = {TRAIN: "train", VAL: "validation", TEST: "test"}
"""Our name of a split -> the hub's."""
CARD = "README.md"
TEXT = {"dtype": "string", "_type": "Value"}


def write(dataset: Dataset, folder: Path) -> dict[str, int]:
    """Write a dataset; returns how many examples each split has, by the hub's name. Pictures become PNG of eight bits
    as they are shown, other examples lists of numbers as they are read, records their texts with the answers and
    explanations that are marked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    make_folder(folder / "data")
    files: dict[Path, bytes | str] = {}
    sizes = {}
    for name, split, rows in _splits(dataset):
        columns, features = _columns(dataset, split, rows)
        notes = {NOTES: json.dumps({"info": {"features": features}}).encode()}
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns).replace_schema_metadata(notes), buffer)
        files[folder / "data" / f"{name}-00000-of-00001.parquet"] = buffer.getvalue()
        sizes[name] = len(rows)
    write_together({**files, folder / CARD: _card(dataset, sizes)})
    return sizes


def _splits(dataset: Dataset) -> Iterator[tuple[str, str, np.ndarray]]:
    """(the hub's name of a split, ours of the two, its rows) of those that have examples."""
    yield HUB[TRAIN], SPLITS[0], np.arange(len(dataset.y_train))
    said = np.array(dataset.test_splits or [TEST] * len(dataset.y_test))
    for one in (VAL, TEST):
        if len(rows := np.flatnonzero(said == one)):
            yield HUB[one], SPLITS[1], rows


def _columns(dataset: Dataset, split: str, rows: np.ndarray) -> tuple[dict[str, pa.Array], dict[str, Any]]:
    """(column -> values, column -> what the hub calls its feature)."""
    import pyarrow as pa

    if dataset.records is not None:
        records = [dataset.records[SPLITS.index(split)][row] for row in rows]
        return _texts(records), dict.fromkeys(("id", "prompt", "response", *SPANS), TEXT)
    label = pa.array(dataset.labels(split)[rows], pa.int64())
    named = {"label": {"names": list(dataset.class_names), "_type": "ClassLabel"}}
    if dataset.image_shape is not None:
        pictures = [{"bytes": _png(one), "path": f"{row:07d}.png"}
                    for row, one in zip(rows, dataset.pictures(split, rows), strict=True)]
        kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        return {"image": pa.array(pictures, kind), "label": label}, {"image": {"_type": "Image"}, **named}
    numbers = pa.array(list(dataset.features(split, rows)), pa.list_(pa.float64()))
    feature = {"feature": {"dtype": "float64", "_type": "Value"}, "_type": "List"}
    return {"features": numbers, "label": label}, {"features": feature, **named}


def _texts(records: Sequence[Record]) -> dict[str, pa.Array]:
    import pyarrow as pa

    spans = {name: [one.response[slice(*one.spans[name])] if name in one.spans else None for one in records]
             for name in SPANS}
    columns = {name: [getattr(one, name) for one in records] for name in ("id", "prompt", "response")}
    return {name: pa.array(values, pa.string()) for name, values in {**columns, **spans}.items()}


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _card(dataset: Dataset, sizes: dict[str, int]) -> str:
    """The header that the hub reads, then what the dataset is, in sentences."""
    files = "".join(f"\n  - split: {name}\n    path: data/{name}-*" for name in sizes)
    counts = "".join(f"| {name} | {size:,} |\n" for name, size in sizes.items())
    classes = "" if dataset.records is not None else (
        "\nClasses: " + ", ".join(f"`{name}`" for name in dataset.class_names) + ".\n")
    said = "\n".join([dataset.note, *dataset.said]).strip()
    return (f"---\npretty_name: {json.dumps(dataset.title)}\nconfigs:\n- config_name: default\n  data_files:{files}\n"
            f"---\n\n# {dataset.title}\n\n{said}\n\n| split | examples |\n|---|---|\n{counts}{classes}\n"
            f"Written by Whichfluence {versions()['whichfluence']}; sha256 of the examples "
            f"`{dataset.fingerprint}`.\n")

"""A result as files that other programs read: tables as CSV or parquet, arrays as npz with the manifest next to
them."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd

from engine.basics.csv_text import csv_text
from engine.question.direction import QUANTITY
from engine.store.results import Result


def csv(result: Result, name: str) -> bytes:
    """One table, UTF-8, without an index; no text in it is a formula to a spreadsheet."""
    return csv_text(_quantity_named(result, name)).encode()


def parquet(result: Result, name: str) -> bytes:
    """One table, with its types."""
    buffer = io.BytesIO()
    _quantity_named(result, name).to_parquet(buffer)
    return buffer.getvalue()


def npz(result: Result) -> bytes:
    """Every array (`|` in its name becomes `_`), with the manifest as JSON text under `manifest`."""
    buffer = io.BytesIO()
    names: dict[str, Any] = {name.replace("|", "_"): array for name, array in result.arrays().items()}
    np.savez_compressed(buffer, manifest=json.dumps(result.manifest, ensure_ascii=False), **names)
    return buffer.getvalue()


def has_arrays(result: Result) -> bool:
    """Whether a result holds arrays besides its tables."""
    return any(name.endswith(".safetensors") for name in result.manifest["files"])


def _quantity_named(result: Result, name: str) -> pd.DataFrame:
    """A table, with a column that says what its numbers with a sign are, where the manifest says it."""
    quantity = result.manifest.get(QUANTITY, {}).get(name)
    return result.table(name).assign(**({QUANTITY: quantity} if quantity else {}))

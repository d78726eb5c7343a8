"""How much a file of scores may ask for, checked by what it declares before it is decoded."""

from __future__ import annotations

from engine.basics.errors import InvalidInput
from engine.data.archive import megabytes

MOST_BYTES = 500_000_000
"""Of a file, and of what it declares to hold unpacked."""
MOST_VALUES = MOST_BYTES // 4
"""Of a table: what a file of the largest size holds as float32, and a gigabyte once it is read as float64."""
MOST_HEADER = 10_000_000
"""Bytes of the JSON that a safetensors file starts with."""
MOST_COLUMNS = 200_000
"""Of a table whose columns have names or are told apart one by one (CSV, parquet): each costs far more than a number
does. Arrays have no such bound."""


def check_bytes(size: int, what: str = "The file has") -> None:
    """Raises `InvalidInput` for a file, or the content that it declares, above `MOST_BYTES`."""
    if size > MOST_BYTES:
        raise InvalidInput(too_large(what))


def too_large(what: str = "The file has") -> str:
    """The sentence about a file above `MOST_BYTES`."""
    return f"{what} more than {megabytes(MOST_BYTES)}; save the scores as float32, or fewer."


def check_values(values: int) -> None:
    """Raises `InvalidInput` for a table (rows × columns, or distinct queries × training examples) above
    `MOST_VALUES`, which is eight bytes each in float64."""
    if values > MOST_VALUES:
        raise InvalidInput(f"The table has {spelled(values)} values, and at most {MOST_VALUES:,} are read; give fewer "
                           "queries or training examples.")


def check_columns(columns: int) -> None:
    """Raises `InvalidInput` for a CSV or a parquet file of more than `MOST_COLUMNS` columns."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(f"The table has {spelled(columns)} columns, and at most {MOST_COLUMNS:,} of a CSV or a "
                           "parquet file are read; save it as npy or npz, or with one row per training example.")


def spelled(count: int) -> str:
    """A count as people write it, however large."""
    return f"{count:,}" if abs(count) < 10**15 else f"{float(min(count, 10**300)):.1e}"

"""Data as a front end offers them: which there are and how large, a user's own, and rows that a filter picks."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.basics.errors import WhichfluenceError
from engine.data import DATASETS, Dataset, Sample, fashion_small, holds_records, load, originals, title, uploads
from engine.data.arrays import spelled
from engine.data.columns import UnclearLabels
from engine.data.embeddings import keep as keep_embeddings
from engine.data.filters import AND, OR, rows_in, too_many
from engine.data.filters import Listing as Filter
from engine.data.new_files import SUFFIXES as NEW_FILES
from engine.data.new_files import has as has_new
from engine.data.new_files import keep as keep_new
from engine.data.preview import Preview, preview
from engine.data.record_sets import NO_ANSWER
from engine.data.records import Record
from engine.data.sample_folder import EACH, sample_zip
from engine.data.sample_folder import NAME as SAMPLE_ZIP
from engine.data.unusual import Cell, Usual, rows_of
from engine.data.upload_options import UploadOptions, parse_trusted
from engine.data.uploads import content, holds_pictures, is_upload, keep, keep_reading, reading

FIRST = fashion_small.NAME
"""What every page begins with: pictures to look at, that are part of the program."""
UNKNOWN = 60_000, 10_000


def limits(name: str) -> tuple[int, int]:
    """Training and test examples that there are; a dataset still to be fetched is not fetched for this."""
    try:
        if name in DATASETS and not DATASETS[name].available()[0]:
            return UNKNOWN
        dataset = load(name)
    except WhichfluenceError:
        return UNKNOWN
    return len(dataset.y_train), len(dataset.y_test)


def thumbnail(name: str, file: str, side: int) -> bytes | None:
    """A picture of a kept zip as a PNG of at most side × side pixels; None where it is none, or cannot be read."""
    path = uploads.base(name)
    return originals.thumbnail(path, file, (file,), side) if path.suffix == uploads.PICTURES else None

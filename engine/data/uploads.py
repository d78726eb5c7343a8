"""A user's own data, stored by content under HOME/uploads: an npz of arrays, a zip of an image folder, a table, records
as JSONL, and readings of these."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from engine.basics.errors import InvalidInput, MissingData, WhichfluenceError
from engine.basics.files import atomic_write, disk_errors
from engine.basics.own_files import OwnFiles, Stored
from engine.basics.sizes import spell_bytes
from engine.basics.strict_json import parse_object
from engine.basics.values import canonical_json
from engine.data import embeddings, hub_folder, record_sets, spellings
from engine.data.dataset import Dataset
from engine.data.frames import READERS
from engine.data.image_folder import load_image_folder
from engine.data.npz import load_npz
from engine.data.packing import packed
from engine.data.record_forms import are_records
from engine.data.tables import load_table
from engine.data.target_tables import load_targets
from engine.data.upload_options import UploadOptions

PREFIX = "upload-"
MOST_BYTES = 500_000_000
LONGEST_FILE, LONGEST_TITLE = 200, 60
TITLES = {".npz": "Your arrays (npz)", ".zip": "Your images (zip)", ".parquet": "Your table (Parquet)",
          ".arrow": "Your table (Arrow)", ".csv": "Your table (CSV)", ".tsv": "Your table (TSV)",
          ".ndjson": "Your table (JSONL)", ".jsonl": "Your records (JSONL)"}
ALIASES = {".feather": ".arrow", ".json": ".jsonl", ".txt": ".csv", ".tab": ".tsv"}
"""Endings that mean the same as another one."""
RECORDS, PICTURES, ARRAYS, READ, ROWS = ".jsonl", ".zip", ".npz", ".reading", ".ndjson"
TABLES = tuple(suffix for suffix in TITLES if suffix in READERS and suffix != RECORDS)
READ_AS = {PICTURES: "as layouts and pixels say", RECORDS: "answers of several letters by key",
           ARRAYS: "images channels first", **dict.fromkeys(TABLES, "numbers and dates as people write them")}
"""Part of what identifies data beside their bytes, changed whenever the same bytes are read as other numbers."""
OF_RECORDS = {"turns", "mark"}
"""Fields of a reading that say how records are read, and no other data."""
FILES = OwnFiles("uploads", rf"{PREFIX}[0-9a-f]{{16}}\.(npz|zip|parquet|arrow|csv|tsv|ndjson|(jsonl\.)?reading|jsonl)",
                 "an upload", "upload the file again", hashed=True)


def is_upload(name: str) -> bool:
    return name.startswith(PREFIX)


def title(name: str) -> str:
    """An upload's name for people: that of its file, plain text whatever it holds; of a file that is not known, what
    kind of data it is."""
    called = " ".join(re.sub(r"[^\w .,+()-]", " ", _file(name)).split())[:LONGEST_TITLE]
    if not re.search(r"\w", called):
        return _kind(name)
    return f"{called}, with your settings" if name.endswith(READ) else called


def _kind(name: str) -> str:
    """What kind of data an upload is."""
    suffix = Path(name).suffix
    return f"{_kind(reading(name).of)}, with your settings" if suffix == READ else TITLES[suffix]


def holds_records(name: str) -> bool:
    """Whether an upload holds records of a language model."""
    return name.endswith((RECORDS, RECORDS + READ))


def holds_pictures(name: str) -> bool:
    """Whether an upload, or a reading of one, is of picture files. Raises `MissingData` where it is not there."""
    return base(name).suffix == PICTURES


def keep(file: BinaryIO, filename: str, **read_as: Any) -> str:
    """Check an uploaded file, keep it, and return its dataset name `upload-<digest>` with its suffix, or that of the
    reading by `read_as`, fields of `UploadOptions`.

    Raises `InvalidInput` for another kind of file, one that is too large, or one that does not load, and
    `UnclearLabels` where another column may hold the labels of a table; nothing is stored then.
    """
    suffix = ALIASES.get(ending := Path(filename).suffix.lower(), ending)
    if suffix not in TITLES:
        raise InvalidInput(f"`{filename}` is neither .npz nor .zip nor a table nor .jsonl; give arrays as npz, an "
                           "image folder as zip, a table as CSV, TSV, Parquet, Arrow or JSONL, or the records of a "
                           "language model as JSONL.")
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"`{filename}` is larger than {MOST_BYTES // 1_000_000} MB; give a smaller file.")
    if suffix == RECORDS and not are_records(content):
        suffix = ROWS
    name = _store(content, suffix, read_as)
    atomic_write(_named(name), Path(filename).name[:LONGEST_FILE])
    return keep_reading(UploadOptions.parse({**read_as, "of": name})) if read_as else name


def entries() -> list[Stored]:
    """All uploads of whoever asks, and the readings of them."""
    uploads = []
    for name, written, size in FILES.all():
        kind, trouble = "Your data", ""
        try:
            base(name)
            kind = _kind(name)
        except WhichfluenceError as error:
            trouble = str(error)
        uploads.append(Stored(name, _file(name) or kind, f"{kind} · {spell_bytes(size)}", written, trouble))
    return uploads


def delete(name: str) -> None:
    """Forget an upload; one that is gone already is fine. Raises `InvalidInput` for what is no upload's name."""
    FILES.delete(name)
    with disk_errors(f"the upload `{name}`"):
        _named(name).unlink(missing_ok=True)


def _file(name: str) -> str:
    """What the file of an upload, or that of a reading, was called; empty where it is not known."""
    with suppress(InvalidInput, MissingData, OSError, UnicodeDecodeError):
        called = _named(reading(name).of).read_text("utf-8")
        return "".join(letter for letter in called if letter.isprintable())[:LONGEST_FILE]
    return ""


def ending(name: str) -> str:
    """The ending that the file of an upload, or of a reading of it, came with; of a folder that of a zip."""
    stored, came = base(name).suffix, Path(_file(name)).suffix.lower()
    return came if came in ALIASES or came in TITLES else stored


def _named(name: str) -> Path:
    """Where the name of its file is stored."""
    return FILES.path(name).with_name(f"{name}.called")


def _store(content: bytes, suffix: str, read_as: Mapping[str, Any] | None = None) -> str:
    """Keep the content of a file that loads; returns its name. Raises as loading does, and keeps nothing then."""
    name = f"{PREFIX}{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    fresh = FILES.keep(name, content)
    try:
        if read_as:
            read(UploadOptions.parse({**read_as, "of": name}), name)
        else:
            load(name)
    except BaseException:
        if fresh:
            FILES.delete(name)
        raise
    return name


def keep_reading(chosen: UploadOptions) -> str:
    """Keep a reading of an upload; returns its dataset name, that of the upload itself where it is read as usual.

    Raises `InvalidInput` where the reading does not fit the data, and `MissingData` where these are no longer there.
    """
    if chosen.is_plain:
        load(chosen.of)
        return chosen.of
    suffix = RECORDS + READ if holds_records(chosen.of) else READ
    return _store(canonical_json(chosen.model_dump(mode="json")).encode(), suffix)


def reading(name: str) -> UploadOptions:
    """How an upload is read: what was chosen, or the usual way. Raises `MissingData` where it is no longer there."""
    if not name.endswith(READ):
        return UploadOptions(of=name)
    chosen = UploadOptions.parse(parse_object(FILES.require(name).read_bytes(), "the stored reading"))
    if not FILES.is_name(chosen.of) or chosen.of.endswith(READ) or holds_records(chosen.of) != holds_records(name):
        raise InvalidInput("Import settings apply to uploaded data; upload these again.")
    return chosen


def keep_path(path: Path, **read_as: Any) -> str:
    """`keep` for the path of a file, the folder of an image folder, or that of a dataset of the hub. Raises as `keep`
    does, and `MissingData` where nothing is there."""
    if not path.exists():
        raise MissingData(f"There is no file or folder `{path}`; check the path.")
    if path.is_dir() and hub_folder.is_dataset(path):
        content, called = hub_folder.packed(path, MOST_BYTES)
        content.seek(0)
        return keep(content, called, **read_as)
    if path.is_dir():
        return keep(packed(path, MOST_BYTES), f"{path.name or 'folder'}.zip", **read_as)
    try:
        with open(path, "rb") as file:
            return keep(file, path.name, **read_as)
    except OSError as error:
        raise InvalidInput(f"`{path}` cannot be read ({error.strerror}); check its permissions.") from None


def load(name: str) -> Dataset:
    """A stored upload as a dataset. Raises `MissingData` where it is no longer there."""
    FILES.require(name)
    return read(reading(name), name)


def read(chosen: UploadOptions, name: str) -> Dataset:
    """The dataset of a reading, by a name. Raises as `load` does, and `InvalidInput` where it does not fit the data."""
    path, usual = FILES.require(chosen.of), UploadOptions(of=chosen.of)
    given = {field for field in UploadOptions.model_fields if getattr(chosen, field) != getattr(usual, field)}
    if chosen.targets and path.suffix not in (ARRAYS, *TABLES):
        raise InvalidInput("A loss of your own is for targets in an npz or a table; leave out the loss for images by "
                           "class and for records.")
    unfit = given - OF_RECORDS if path.suffix == RECORDS else given & OF_RECORDS
    if unfit or chosen.embeddings and path.suffix == ARRAYS:
        raise InvalidInput(f"`{min(unfit, default='embeddings')}` does not apply to such data; leave it out.")
    files = chosen.model_copy(update={"classes": {}, "trusted": {}, "queries": ""})
    dataset = chosen.applied(replace(_loaded(path, path.stat().st_mtime_ns,
                                             canonical_json(files.model_dump(mode="json"))), name=name))
    if dataset.records or chosen.targets:
        return dataset
    return replace(dataset, said=(*dataset.said, *spellings.sentences(dataset)))


@lru_cache(maxsize=1)
def _loaded(path: Path, written: int, read_as: str) -> Dataset:
    """The dataset of a file before classes, verified examples and queries are chosen: a preview, a check and the use of
    one file read it once."""
    chosen = UploadOptions.parse(parse_object(read_as.encode(), "the reading"))
    return LOADERS[path.suffix](path, path.name, chosen)


def _pictures(path: Path, name: str, chosen: UploadOptions) -> Dataset:
    dataset = load_image_folder(path, name=name, title="Your images", max_bytes=MOST_BYTES, color=chosen.color,
                                size=chosen.size, photos=True)
    rows = embeddings.read(chosen.embeddings)
    return dataset if rows is None else rows.of_pictures(dataset)


LOADERS: dict[str, Callable[[Path, str, UploadOptions], Dataset]] = {
    ARRAYS: lambda path, name, chosen: load_npz(path, max_bytes=MOST_BYTES, targets=chosen.targets).dataset(
        name, "Your arrays"),
    RECORDS: lambda path, name, chosen: record_sets.own(path, name, "Your records", chosen.turns, chosen.mark),
    PICTURES: _pictures,
    **dict.fromkeys(TABLES, lambda path, name, chosen: (load_targets if chosen.targets else load_table)(
        path, name=name, title="Your table", max_bytes=MOST_BYTES, label=chosen.label,
        embeddings=embeddings.read(chosen.embeddings)))}


def base(name: str) -> Path:
    """The stored file that an upload, or a reading of it, is made of. Raises `MissingData` where it is not there."""
    return FILES.require(reading(name).of)


def content(name: str) -> str:
    """The digest of what the stored file holds and how it is read; empty where it is not here."""
    if not (digest := FILES.content(name)):
        return ""
    if name.endswith(READ):
        return hashlib.sha256(f"{digest} {content(reading(name).of)}".encode()).hexdigest()
    read_as = READ_AS.get(Path(name).suffix)
    return digest if read_as is None else hashlib.sha256(f"{digest} {read_as}".encode()).hexdigest()

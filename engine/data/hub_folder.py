"""A dataset of the Hugging Face hub as it lies in a folder, as one file that is read like any other of the user's own.

Read are the Parquet files of a repository (`data/train-00000-of-00001.parquet`, `train/0000.parquet`, …) and what
`save_to_disk` of the library `datasets` writes (Arrow files beside `state.json`). Splits are named by files or folders,
classes by the features that the files state. Records become JSONL without their splits, pictures a zip with a folder a
class, every other dataset a Parquet table with a column `split`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.basics.strict_json import parse_object
from engine.data.archive import megabytes
from engine.data.columns import LABELS, SPLITS
from engine.data.frames import arrow_table
from engine.data.image_folder import EXTENSIONS
from engine.data.packing import OLDEST
from engine.data.record_forms import are_records
from engine.data.split_names import TRAIN, split_of
from engine.data.splits import UNFIT

if TYPE_CHECKING:
    import pyarrow as pa

NOTES, STATE = b"huggingface", "state.json"
"""Where a file's schema states its features; what `save_to_disk` writes beside the files of a split."""
ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"RIFF": ".webp"}


def is_dataset(folder: Path) -> bool:
    """Whether a folder holds a dataset in the hub's layout."""
    return bool(_files(folder))


def packed(folder: Path, max_bytes: int) -> tuple[io.BytesIO, str]:
    """(its content as one file, the file's name). Raises `InvalidInput` for several configurations, columns that differ
    between splits, pictures that lie elsewhere, and one that reaches `max_bytes`."""
    files = _files(folder)
    if (total := sum(file.stat().st_size for file in files)) >= max_bytes:
        raise InvalidInput(f"The dataset in `{folder}` has {megabytes(total)}; give one below {megabytes(max_bytes)}.")
    if len(configurations := sorted({_configuration(folder, file) for file in files})) > 1:
        raise InvalidInput(f"`{folder}` holds several configurations ({', '.join(configurations)[:200]}); give the "
                           "folder of one of them.")
    table = _joined(folder, files, max_bytes)
    features = _features(table)
    picture = next((name for name, one in features.items() if one.get("_type") == "Image"), None)
    first = table.drop_columns([SPLITS[0]]).slice(0, 1).to_pylist()
    if picture is not None:
        return _pictures(table, picture, _label(features)), f"{folder.name}.zip"
    if first and are_records(json.dumps(first[0], default=str).encode()):
        rows = table.drop_columns([SPLITS[0]]).to_pylist()
        lines = "\n".join(json.dumps(row, default=str, ensure_ascii=False) for row in rows)
        return io.BytesIO(lines.encode()), f"{folder.name}.jsonl"
    return _table(table, features), f"{folder.name}.parquet"


def _files(folder: Path) -> list[Path]:
    """Its Arrow files where `save_to_disk` wrote it, else its Parquet files."""
    states = [path for path in (folder / STATE, *sorted(folder.glob(f"*/{STATE}"))) if path.is_file()]
    if states:
        return [file for state in states for file in _stated(state)]
    if any(path.suffix.lower() in EXTENSIONS for path in folder.glob("*/*")):
        return []  # a folder of pictures, whatever lies beside them
    return sorted(path for path in folder.rglob("*.parquet") if not any(
        part.startswith(".") for part in path.relative_to(folder).parts))


def _stated(state: Path) -> list[Path]:
    """The files beside `state.json` that it names. Raises `InvalidInput` for none, or one that is not there."""
    stated = parse_object(read_whole(state, "state of the dataset"), f"`{state.name}`").get("_data_files")
    named = [one.get("filename") if isinstance(one, Mapping) else None for one in stated] if isinstance(
        stated, list) else []
    names = [name for name in named if isinstance(name, str)]
    if not names or len(names) < len(named):
        raise InvalidInput(f"`{state.name}` in `{state.parent}` names no data files; write the dataset again with "
                           "`save_to_disk`.")
    files = [state.parent / Path(name).name for name in names]
    if missing := next((file.name for file in files if not file.is_file()), ""):
        raise InvalidInput(f"`{state.name}` in `{state.parent}` names `{missing}`, which is missing; copy the whole "
                           "folder.")
    return files


def _split(folder: Path, file: Path) -> str:
    """`train`, `val` or `test`, by the name of a file or of the folder nearest to it; `train` where none says it."""
    *parents, name = file.relative_to(folder).with_suffix("").parts
    said = (split_of(word) for word in (name.split("-")[0], *reversed(parents)))
    return next(filter(None, said), TRAIN)


def _configuration(folder: Path, file: Path) -> str:
    """The folders that name no split and are not called `data`."""
    parents = file.relative_to(folder).parts[:-1]
    return "/".join(part for part in parents if part != "data" and split_of(part) is None)


def _joined(folder: Path, files: list[Path], max_bytes: int) -> pa.Table:
    """The rows of all files with a column `split`, training rows first."""
    import pyarrow as pa

    tables = []
    for file in sorted(files, key=lambda one: (_split(folder, one) != TRAIN, one)):
        try:
            own = arrow_table(read_whole(file, "file of the dataset"), file.suffix, max_bytes)
        except (pa.ArrowException, ValueError):
            raise InvalidInput(f"`{file.name}` cannot be read as {file.suffix[1:].title()}; download it again."
                               ) from None
        own = own.drop_columns([name for name in own.column_names if name == SPLITS[0]])
        tables.append(own.append_column(SPLITS[0], pa.array([_split(folder, file)] * len(own))))
    if any(own.column_names != tables[0].column_names for own in tables):
        raise InvalidInput(f"The files in `{folder}` have different columns; give splits with the same ones.")
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _features(table: pa.Table) -> Mapping[str, Mapping[str, Any]]:
    """Column -> what the files say that it is; a column of `bytes` and `path` is one of pictures in any case."""
    import pyarrow as pa

    notes = parse_object((table.schema.metadata or {}).get(NOTES, b"{}"), "the notes of the dataset")
    info = notes.get("info")
    stated = info.get("features") if isinstance(info, Mapping) else None
    pictures = {field.name: {"_type": "Image"} for field in table.schema if pa.types.is_struct(field.type) and {
        "bytes", "path"} == {inner.name for inner in field.type}}
    readable = {name: one for name, one in stated.items() if isinstance(one, Mapping) and (
        one.get("_type") != "ClassLabel" or isinstance(one.get("names"), list))} if isinstance(stated, Mapping) else {}
    return {**readable, **pictures}


def _label(features: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """(the column of classes, their names)."""
    classes = [name for name, one in features.items() if one.get("_type") == "ClassLabel"]
    chosen = classes if len(classes) == 1 else [name for name in classes if name in LABELS][:1]
    if not chosen:
        raise InvalidInput(f"The images of this dataset have {'several columns' if classes else 'no column'} of "
                           "classes; keep one, as a `ClassLabel` called `label`.")
    return chosen[0], [str(name) for name in features[chosen[0]]["names"]]


def _pictures(table: pa.Table, picture: str, label: tuple[str, list[str]]) -> io.BytesIO:
    """A zip of SPLIT/CLASS/NUMBER with the bytes of every picture as they are."""
    column, names = label
    buffer, several = io.BytesIO(), len(set(table[SPLITS[0]].to_pylist())) > 1
    with zipfile.ZipFile(buffer, "w") as out:
        for row, (one, number, split) in enumerate(zip(*(table[name].to_pylist() for name in (
                picture, column, SPLITS[0])), strict=True)):
            content = (one or {}).get("bytes")
            if not content or number is None or not 0 <= number < len(names):
                raise InvalidInput(f"Row {row:,} has {'no class' if content else 'its image in another file'}; save "
                                   "the dataset with its images and classes inside.")
            ending = next((own for magic, own in ENDINGS.items() if content.startswith(magic)), ".tiff")
            path = "/".join([*([split] if several else []), UNFIT.sub("_", names[number]), f"{row:07d}{ending}"])
            out.writestr(zipfile.ZipInfo(path, OLDEST), content)
    return buffer


def _table(table: pa.Table, features: Mapping[str, Mapping[str, Any]]) -> io.BytesIO:
    """Parquet with the names of classes in place of their numbers, and without `split` where there is one alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, one in features.items():
        if one.get("_type") == "ClassLabel" and name in table.column_names:
            named = list(_named(table[name].to_pylist(), one["names"]))
            table = table.set_column(table.column_names.index(name), name, pa.array(named, pa.string()))
    if len(set(table[SPLITS[0]].to_pylist())) == 1:
        table = table.drop_columns([SPLITS[0]])
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), buffer)
    return buffer


def _named(numbers: list[Any], names: list[str]) -> Iterator[str | None]:
    """-1 is a label that is not there."""
    for number in numbers:
        yield str(names[number]) if number is not None and 0 <= number < len(names) else None

"""Tables of scores in npy, npz, safetensors and torch's files: what a header declares is checked before an array is
made."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import parse_object
from engine.data.archive import open_zip
from engine.data.npz import read_header
from engine.external import budgets
from engine.external.table import Table, Wanted

KRONFLUENCE = "all_modules"
PREFERRED = ("scores", KRONFLUENCE)
"""What the array is called in our own files, and in kronfluence's."""
NUMBERS = "biuf"
NEVER = "The file contains Python objects, which are never unpickled; save the scores as numbers."


@dataclass(frozen=True)
class HeaderArray:
    """What a header says of an array. kind: its type in the file's own words; numeric: whether it holds numbers."""

    shape: tuple[int, ...]
    kind: str
    numeric: bool


def read_npy(content: bytes, wanted: Wanted) -> Table:
    """The one array of an npy file; raises as `engine.external.files.read_table` does, or whatever numpy raises."""
    _check(_npy_header(io.BytesIO(content)))
    return Table(np.load(io.BytesIO(content), allow_pickle=False).astype(np.float64))


def read_npz(content: bytes, wanted: Wanted) -> Table:
    """The array that is meant of an npz file, with `candidates` beside it; no other array is unpacked."""
    with open_zip(io.BytesIO(content), "npz file", budgets.MOST_BYTES) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        declared = {name: _member_header(archive, member) for name, member in members.items()}
        numeric = {name: header for name, header in declared.items() if header.numeric}
        if not numeric and any(header.kind == "object" for header in declared.values()):
            raise InvalidInput(NEVER)
        name = _pick(numeric, wanted.key)
        named = numeric.get("candidates")
        read = [name] if named is None or len(named.shape) != 1 else [name, "candidates"]
        arrays = {one: _unpacked(archive, members[one], numeric[one]) for one in read}
    return Table(arrays[name].astype(np.float64), name, _named(arrays.get("candidates")))


def read_safetensors(content: bytes, wanted: Wanted) -> Table:
    """The array that is meant of a safetensors file, also one of bfloat16 or of eight bits, as float64."""
    import torch
    from safetensors.torch import load

    declared = _safetensors_header(content)
    numeric = {name: header for name, header in declared.items() if header.numeric}
    if wanted.by_module and not wanted.key and len(modules := _modules(numeric)) > 1:
        _check(HeaderArray((len(modules), *numeric[modules[0]].shape), "numbers", True))
        held = load(content)
        return Table(torch.stack([held[name].to(torch.float64) for name in modules]).sum(0).numpy(), KRONFLUENCE,
                     remark=f"The file holds the scores of {len(modules):,} modules, which are summed.")
    name = _pick(numeric, wanted.key)
    _check(declared[name])
    if any(not header.numeric for header in declared.values()):
        raise InvalidInput("The file contains arrays of an unsupported type; save the scores alone, as float32.")
    return Table(load(content)[name].to(torch.float64).numpy(), name)


def read_torch(content: bytes, wanted: Wanted) -> Table:
    """The tensor of a file of `torch.save`, or the one that is meant of a dictionary of tensors, as float64; nothing in
    the file is run."""
    import torch

    with open_zip(io.BytesIO(content), "torch file", budgets.MOST_BYTES):  # what it unpacks to is checked
        saved = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if isinstance(saved, list | tuple) and saved and all(
            isinstance(one, torch.Tensor) and one.shape == saved[0].shape for one in saved):
        if any(not one.is_floating_point() for one in saved):
            raise InvalidInput("The file contains several tensors, one of whole numbers, as the indices of the most "
                               "influential examples; save the scores of all examples alone.")
        saved = torch.stack(list(saved))  # one a checkpoint
    named = saved if isinstance(saved, Mapping) else {wanted.key: saved}
    tensors = {str(name): value for name, value in named.items() if isinstance(value, torch.Tensor)}
    declared = {name: HeaderArray(tuple(value.shape), str(value.dtype), not value.is_complex())
                for name, value in tensors.items()}
    name = wanted.key if not isinstance(saved, Mapping) and declared else _pick(declared, wanted.key)
    _check(declared[name])
    if tensors[name].layout != torch.strided:
        raise InvalidInput("The tensor of scores is sparse; save it as a dense one, with `scores.to_dense()`.")
    return Table(tensors[name].detach().to(torch.float64).numpy(), name if isinstance(saved, Mapping) else "")


def _modules(arrays: Mapping[str, HeaderArray]) -> list[str]:
    """The names of arrays that are tables of one shape, none of them the sum of the others; else no names."""
    alike = {header.shape for header in arrays.values()}
    return list(arrays) if KRONFLUENCE not in arrays and [*map(len, alike)] == [2] else []


def _npy_header(file: IO[bytes]) -> HeaderArray:
    shape, kind = read_header(file)
    return HeaderArray(shape, str(kind), kind.kind in NUMBERS)


def _member_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> HeaderArray:
    with archive.open(member) as file:
        return _npy_header(file)


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, declared: HeaderArray) -> np.ndarray:
    _check(declared)
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _safetensors_header(content: bytes) -> dict[str, HeaderArray]:
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= min(len(content) - 8, budgets.MOST_HEADER):
        raise ValueError("no header")
    header = parse_object(content[8:8 + length], "The header of the file")
    return {name: HeaderArray(tuple(entry["shape"]), entry["dtype"], entry["dtype"] in SAFE)
            for name, entry in header.items() if name != "__metadata__"}


SAFE = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}
"""Types of safetensors that are numbers here."""


SPARSE = {"indices", "indptr", "data", "shape"}
"""What SciPy writes of a sparse matrix."""


def _check(declared: HeaderArray) -> None:
    """Raises `InvalidInput` for what is not numbers, or too many of them."""
    if declared.kind == "object":
        raise InvalidInput(NEVER)
    if not declared.numeric:
        raise InvalidInput(f"The scores have the type {declared.kind[:40]}; save them as numbers.")
    if any(length < 0 for length in declared.shape):
        raise ValueError("a negative length")
    budgets.check_values(math.prod(declared.shape))


def _pick(arrays: Mapping[str, HeaderArray], key: str) -> str:
    """The array that is named, or the one that can be meant."""
    if arrays.keys() >= SPARSE:
        raise InvalidInput("The scores are a sparse matrix; save them as a dense one, with `scores.toarray()`.")
    tables = next(filter(None, ([name for name, header in arrays.items() if len(header.shape) == axes]
                                for axes in (2, 3, 1))), [])
    if key:
        if key not in arrays:
            raise InvalidInput(f"The file has no array `{key[:60]}`; it holds {_listed(arrays) or 'none of numbers'}.")
        return key
    preferred = [name for name in PREFERRED if name in tables]
    if preferred or len(tables) == 1:
        return (preferred or tables)[0]
    if not tables:
        raise InvalidInput("The file contains no table of numbers; save the scores as (queries, candidates).")
    raise InvalidInput(f"The file contains several tables, {_listed(tables)}; give the name of the one that holds the "
                       "scores.")


def _listed(names: Mapping[str, HeaderArray] | list[str], most: int = 20) -> str:
    shown = ", ".join(f"`{name[:60]}`" for name in list(names)[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _named(candidates: np.ndarray | None) -> np.ndarray | None:
    if candidates is None or candidates.dtype.kind not in "iu":
        return None
    return candidates.astype(np.int64)

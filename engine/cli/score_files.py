"""scores.npz and the manifest beside it, which `influence` and `bring` write and other commands read."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.files import read_whole, write_together
from engine.basics.noted import manifest_part
from engine.cli.spec_files import read_object
from engine.external import importing
from engine.problems import Problem
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.sealed import plain

LONGEST_NAME = 200
"""Bytes of a file's name; file systems take 255, and a draft's name is longer than its file's."""


def check_output(out: Path, suffix: str, inputs: Sequence[Path], also: Sequence[Path] = ()) -> None:
    """Refuse, before anything is computed, an output that could not be written or that would replace an input."""
    if out.suffix.lower() != suffix:
        raise InvalidInput(f"--out is `{out}`; give a file name that ends in `{suffix}`.")
    if not out.parent.is_dir():
        raise InvalidInput(f"The folder of --out `{out}` does not exist; create it or choose another folder.")
    for path in (out, *also):
        if len(path.name.encode()) > LONGEST_NAME:
            raise InvalidInput(f"The name of --out, `{out.name[:40]}…`, is too long for a file name; give a shorter "
                               "one.")
        if path.is_dir():
            raise InvalidInput(f"`{path}`, which would be written, is a folder; choose another --out.")
        if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
            raise InvalidInput(f"The output `{path}` would replace an input; choose another --out.")
        if vouched := _vouched(path) - {out.name}:
            raise InvalidInput(f"`{path}` is the manifest of `{min(vouched)}`, which could not be read without it; "
                               "choose another --out.")
    if not os.access(out.parent, os.W_OK):
        raise InvalidInput(f"The folder of --out `{out}` is not writable; choose another folder.")


def _vouched(path: Path) -> set[str]:
    """The files beside it that a file vouches for, as their manifest; none of any other file."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return set()
    try:
        files = read_object(path).get("files")
    except WhichfluenceError:
        return set()
    return {name for name in files if (path.parent / name).is_file()} if isinstance(files, dict) else set()


def check_scores_output(out: Path, inputs: Sequence[Path]) -> None:
    """`check_output` for scores.npz and its manifest."""
    check_output(out, ".npz", inputs, also=(manifest_of(out),))


def write_scores(out: Path, scores: Scores, command: str, passes: Collection[str] = ()) -> None:
    """Write scores.npz and its manifest, both or neither. command: the command line that does it again. passes: in
    which precision trainings ran, as `engine.basics.noted` has it."""
    write_vouched(out, scores.npz(), {**scores.provenance, **manifest_part(passes), "command": command})


def write_vouched(out: Path, content: bytes, record: Mapping[str, Any]) -> None:
    """Write a file and the manifest beside it that vouches for it, both or neither."""
    files = {out.name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}}
    write_together({out: content, manifest_of(out): json_text({**record, "files": files})})


def read_vouched(path: Path, noun: str, problem: Problem | None, belong: str, hint: str
                 ) -> tuple[dict[str, Any], bytes]:
    """(manifest, content) of a file that `write_vouched` wrote for this problem, or for any where there is none;
    belong, hint: what is said where it is of another one, and what to do. Raises `InvalidInput` where the two do not
    fit."""
    record, content = read_object(manifest_of(path)), read_whole(path, noun)
    files = record.get("files")
    written = [entry.get("sha256") for entry in files.values() if isinstance(entry, dict)] if isinstance(
        files, dict) else []
    if hashlib.sha256(content).hexdigest() not in written:
        raise InvalidInput(f"`{path}` is not the file that its manifest `{manifest_of(path).name}` describes; {hint}.")
    if problem is not None and record.get("data") != problem.fingerprint:
        raise InvalidInput(f"{belong}, with the same options.")
    return record, content


def read_scores(paths: Sequence[Path], problem: Problem, beside: Collection[str] = ()) -> dict[str, Scores]:
    """name -> scores of scores.npz files with their manifests, by `bring` or by `influence`, for this problem.

    beside: the names of the specifications that they stand beside. Raises `InvalidInput` for files that do not belong
    together or to the problem, and for a name that is given twice.
    """
    by_name: dict[str, Scores] = {}
    for path in paths:
        scores = _read(path, problem)
        name = scores.scoring.route.title if scores.scoring.route.proper else path.stem
        if name in by_name:
            raise InvalidInput(f"Two of the score files are named `{name}`; rename one of them.")
        if name in beside:
            raise InvalidInput(f"Both a specification and a score file are named `{name}`; rename one of them.")
        by_name[name] = scores
    return by_name


def json_text(record: object) -> str:
    """A record as JSON for people to read."""
    return json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"


def manifest_of(out: Path) -> Path:
    return out.with_suffix(".json")


def read_any_scores(path: Path) -> Scores:
    """Scores of a file whatever problem they are of. Raises as `read_scores`."""
    return _read(path, None)


def _read(path: Path, problem: Problem | None) -> Scores:
    record, content = read_vouched(
        path, "score file", problem, f"The scores in `{path}` belong to a different problem from --data; give the "
                                     "problem that they were imported for", "import the scores again")
    try:
        return _parsed(content, record)
    except Exception as error:  # a manifest that was altered by hand makes every reader of it raise something else
        said = f" ({str(error).rstrip('.')})" if isinstance(error, InvalidInput) else ""
        raise InvalidInput(f"`{path}` or its manifest `{manifest_of(path).name}` does not have the form that "
                           f"`influence` and `bring` write{said}; compute or import the scores again.") from None


def _parsed(content: bytes, record: dict[str, Any]) -> Scores:
    """The scores of scores.npz. Raises almost anything for one that neither `influence` nor `bring` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        values, candidates, converged, residual = (arrays[name] for name in ("scores", "candidates", "converged",
                                                                             "residual"))
        resolved, spread, error = (arrays.get(name) for name in ("resolved", "standard_error", "error"))
    k = len(candidates)
    shapes = [(values, (len(values), k), "f"), (candidates, (k,), "iu"), (converged, (k,), "b"), (residual, (k,), "f")]
    if any(array.shape != shape or array.dtype.kind not in kinds for array, shape, kinds in shapes) or (
            any(given is not None and given.shape != values.shape for given in (resolved, spread, error))):
        raise InvalidInput("the arrays have mismatched shapes")
    if importing.is_earlier(record):
        return importing.earlier(values, candidates, converged, record)
    scoring = Scoring.read(record["spec"])
    provenance = {**record, "orientation": scoring.orientation}
    return Scores(scoring, values, candidates, converged, residual, provenance, resolved, spread, error)

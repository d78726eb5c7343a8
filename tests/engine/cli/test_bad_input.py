"""Every bad input of a user: exit code 2, one sentence on stderr, and no file, whole or half."""

import errno
import json
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main

N, D, M = 12, 3, 4
STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": 0.1}}
UPWEIGHT = {"behavior": "query_loss", "intervention": {"kind": "upweight", "alpha": 1e-3},
            "process": {"kind": "reoptimize"}}


def good():
    rng = np.random.default_rng(0)
    return {"x_train": rng.normal(size=(N, D)), "y_train": np.arange(N) % 3, "x_query": rng.normal(size=(M, D)),
            "y_query": np.arange(M) % 3}


def changed(key, place, value):
    arrays = good()
    arrays[key][place] = value
    return arrays


def with_(**arrays):
    return {**good(), **arrays}


def without(key):
    return {name: array for name, array in good().items() if name != key}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    np.savez(tmp_path / "problem.npz", **good())
    (tmp_path / "spec.json").write_text(json.dumps(STEP))
    (tmp_path / "specs.json").write_text(json.dumps([{"name": "a", "spec": STEP}, {"name": "b", "spec": UPWEIGHT}]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder, capsys):
    """Run one command on the files in `folder`; it must be refused and leave the folder as it was."""
    def check(command="influence", *options, code=2) -> str:
        which = ["--spec", "spec.json", "--out", "out.npz"]
        if command == "compare":
            which = ["--specs", "specs.json", "--out", "out.csv"]
        before = {path.name: path.stat().st_size for path in folder.rglob("*")}
        assert main([command, "--data", "problem.npz", *which, *options]) == code
        shown = capsys.readouterr()
        assert shown.out == "" and shown.err.count("\n") == 1 and shown.err.endswith((".\n", "?\n")), shown
        assert {path.name: path.stat().st_size for path in folder.rglob("*")} == before
        return shown.err

    return check


@pytest.mark.parametrize(("arrays", "part"), [
    (changed("x_train", (2, 1), np.nan), "NaN"),
    (changed("x_query", (0, 0), np.inf), "infinity"),
    (changed("x_train", (0, 0), 1e300), "rescale"),
    (changed("y_train", 0, -1), "negative label"),
    (changed("y_query", 0, 3), "label 3"),
    (changed("y_train", 0, 7), "without gaps"),
    (with_(y_train=np.zeros(N, dtype=int)), "two or more classes"),
    (with_(y_train=np.full(N, 0.5)), "whole number"),
    (with_(y_train=np.arange(N - 1) % 3), "one label per row"),
    (with_(x_query=np.ones((M, D + 1))), "same columns"),
    (with_(x_train=np.ones(N)), "dimensions"),
    (with_(x_train=np.ones((0, D)), y_train=np.ones(0, dtype=int)), "empty"),
    (with_(candidates=np.array([], dtype=int)), "empty"),
    (with_(candidates=np.array([1, 2, 1])), "more than once"),
    (with_(candidates=np.array([0, N])), f"candidate {N}"),
    (with_(candidates=np.array([-1])), "candidate -1"),
    (with_(candidates=np.array([0.5])), "whole number"),
    (with_(x_train=np.array([[{}] * D] * N, dtype=object)), "never unpickled"),
    (with_(x_train=np.full((N, D), "1")), "numbers"),
    (with_(x_train=np.full((N, D), 1j)), "numbers"),
    (with_(surplus=np.ones(1)), "surplus"),
    (without("y_query"), "`y_query`"),
])
def test_arrays(folder, refused, arrays, part):
    np.savez("problem.npz", **arrays)
    assert part in refused("influence")
    assert part in refused("compare")


@pytest.mark.parametrize(("content", "part"), [
    (b"", "cannot be opened"),
    (b"\x93NUMPY\x01\x00v\x00", "cannot be opened"),
    (b"PK\x03\x04 and then nonsense", "cannot be opened"),
])
def test_files_that_are_no_npz(folder, refused, content, part):
    Path("problem.npz").write_bytes(content)
    assert part in refused()


def test_a_truncated_npz(folder, refused):
    content = Path("problem.npz").read_bytes()
    Path("problem.npz").write_bytes(content[:len(content) // 2])
    assert "truncated" in refused()


def test_an_absent_problem_and_a_folder_in_its_place(folder, refused):
    Path("problem.npz").unlink()
    assert "check the path" in refused()
    Path("problem.npz").mkdir()
    assert "not a file" in refused()


def test_a_file_of_500_mb(folder, refused):
    with open("problem.npz", "r+b") as file:
        file.truncate(500_000_000)  # sparse: no block of it is on the disk
    assert "500 MB" in refused()


def test_a_small_file_that_declares_500_mb(folder, refused):
    content = bytearray(Path("problem.npz").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24:entry + 28] = struct.pack("<I", 500_000_000)
    Path("problem.npz").write_bytes(content)
    assert "500 MB" in refused()


def test_an_array_header_that_promises_too_much(folder, refused):
    header = str({"descr": "<f8", "fortran_order": False, "shape": (10**9, D)}).encode()
    with zipfile.ZipFile("problem.npz", "w") as archive:
        for key in good():
            archive.writestr(f"{key}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    assert "not have its declared length" in refused()


def step(eta):
    return {**STEP, "process": {"kind": "one_step", "eta": eta}}


def upweight(alpha):
    return {**UPWEIGHT, "intervention": {"kind": "upweight", "alpha": alpha}}


@pytest.mark.parametrize(("spec", "part"), [
    ({**STEP, "behavior": "query_lost"}, "`query_loss`"),
    ({**STEP, "behavior": 3}, "behavior"),
    ({**STEP, "behaviour": "query_loss"}, "`behaviour`"),
    ({**STEP, "estimator": "magic"}, "magic"),
    ({**STEP, "estimator": "cg"}, "does not target"),
    ({**STEP, "intervention": {"kind": "erase"}}, "erase"),
    ({**STEP, "intervention": {"kind": "add_occurrence", "times": 2}}, "times"),
    ({**STEP, "intervention": "remove"}, "intervention"),
    ({**STEP, "intervention": {"kind": "remove"}}, "does not fit"),
    ({**STEP, "process": {"kind": "one_step"}}, "eta"),
    ({"behavior": "query_loss"}, "missing"),
    (step(0), "eta"), (step(-0.1), "eta"), (step(1e9), "eta"), (step("much"), "eta"), (step(True), "eta"),
    (step(10**400), "eta"), (step(None), "eta"),
    (upweight(0), "α of `upweight` is 0"), (upweight(-0.5), "weight α = -0.5"), (upweight(-1), "alpha"),
    ({**STEP, "behavior": "correct", "estimator": "first_order"}, "no gradient"),
    ({**UPWEIGHT, "behavior": "correct", "estimator": "lissa"}, "no gradient"),
    ({**UPWEIGHT, "intervention": {"kind": "relabel", "label": 99}}, "99"),
    ({**STEP, "process": {"kind": "unrolled", "eta": 0.1, "steps": 10**9}}, "steps"),
    ([STEP], "list"), ("query_loss", "text"), (None, "null"), (1, "number"),
])
def test_specifications(folder, refused, spec, part):
    Path("spec.json").write_text(json.dumps(spec))
    assert part in refused()
    Path("specs.json").write_text(json.dumps([{"name": "fine", "spec": STEP}, {"name": "other", "spec": spec}]))
    if part != "weight α = -0.5":  # which depends on the data, so that the other one is still answered
        refused("compare")


@pytest.mark.parametrize(("content", "part"), [
    (b"", "not JSON"),
    (b"{", "line 1"),
    (b'{"behavior": "query_loss",}', "not JSON"),
    (b'{"behavior": "query_loss", "behavior": "correct"}', "twice"),
    (b'{"process": {"kind": "one_step", "eta": NaN}}', "NaN"),
    (b'{"process": {"kind": "one_step", "eta": -Infinity}}', "-Infinity"),
    (json.dumps(STEP).replace("0.1", "1e999").encode(), "eta"),
    (json.dumps(STEP).replace("0.1", "1" * 5000).encode(), "5,000 digits"),
    (b"\xff\xfe\x00", "UTF-8"),
    (b"[" * 100_000, "JSON"),
    (b" " * 1_000_001, "1 MB"),
])
def test_files_that_are_no_specification(folder, refused, content, part):
    Path("spec.json").write_bytes(content)
    assert part in refused()
    Path("specs.json").write_bytes(content)
    assert "specs.json" in refused("compare") or part == "eta"


def test_an_absent_specification(folder, refused):
    Path("spec.json").unlink()
    assert "There is no" in refused()
    Path("spec.json").mkdir()
    assert "cannot be read" in refused()


@pytest.mark.parametrize(("named", "part"), [
    ([], "at least two"),
    ([{"name": "a", "spec": STEP}], "at least two"),
    ([{"name": "a", "spec": STEP}, {"name": "a", "spec": UPWEIGHT}], "are named `a`"),
    ([{"name": "a", "spec": STEP}, {"spec": STEP}], "Entry 2"),
    ([{"name": "a", "spec": STEP, "color": "red"}, {"name": "b", "spec": STEP}], "Entry 1"),
    ([{"name": "", "spec": STEP}, {"name": "b", "spec": STEP}], "name of entry 1"),
    ([{"name": "a\nb", "spec": STEP}, {"name": "b", "spec": STEP}], "name of entry 1"),
    ([{"name": "\ud800", "spec": STEP}, {"name": "b", "spec": STEP}], "a lone surrogate"),
    ([{"name": 1, "spec": STEP}, {"name": "b", "spec": STEP}], "name of entry 1"),
    ([STEP, UPWEIGHT], "Entry 1"),
    ([{"name": "a", "spec": STEP}, {"name": "b", "spec": step(-1)}], "`b`"),
    (STEP, "an object"),
])
def test_lists_of_specifications(folder, refused, named, part):
    Path("specs.json").write_text(json.dumps(named))
    assert part in refused("compare")


@pytest.mark.parametrize(("options", "part"), [
    (["--l2", "0"], "l2"), (["--l2", "-1"], "l2"), (["--l2", "nan"], "l2"), (["--l2", "inf"], "l2"),
    (["--memory", "1e300"], "--memory is 1e+300"), (["--out", "x" * 300 + ".npz"], "too long for a file name"),
    (["--data", "x" * 300], "cannot be"),
    (["--memory", "0"], "--memory"), (["--memory", "nan"], "--memory"), (["--memory", "1e-9"], "memory"),
    (["--device", "abacus"], "abacus"),
    (["--out", "absent/out.npz"], "does not exist"), (["--out", "out.txt"], "ends in"),
    (["--out", "problem.npz"], "replace an input"), (["--out", "spec.npz"], "replace an input"),
    (["--out", "taken.npz"], "is a folder"), (["--out", "half.npz"], "is a folder"),
    (["--out", "problem.npz/out.npz"], "does not exist"),
])
def test_options(folder, refused, options, part):
    Path("taken.npz").mkdir()
    Path("half.json").mkdir()
    assert part in refused("influence", *options)


@pytest.mark.parametrize(("command", "failing"), [("influence", 1), ("influence", 2), ("compare", 1)])
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO])
def test_a_full_or_broken_disk(folder, refused, monkeypatch, command, failing, fault):
    """The fault strikes the first or second file that is forced onto the disk."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) == failing:
            raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(os, "fsync", fsync)
    assert ("disk is full" in refused(command)) == (fault == errno.ENOSPC)


def test_a_disk_that_fills_leaves_earlier_scores_as_they_were(folder, monkeypatch, capsys):
    arguments = ["influence", "--data", "problem.npz", "--spec", "spec.json", "--out", "out.npz"]
    assert main(arguments) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fsync(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    assert main([*arguments, "--l2", "0.5"]) == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_manifest_that_cannot_be_placed_takes_the_scores_with_it(folder, refused, monkeypatch):
    replace = os.replace

    def stops(source, target):
        if str(target).endswith(".json"):
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", stops)
    assert "cannot be written" in refused()


def test_training_features_too_large_to_fit_are_refused(folder, refused):
    np.savez("problem.npz", **with_(x_train=1e99 * good()["x_train"]))
    assert "--l2" in refused()


@pytest.mark.parametrize("spec", [step(100), upweight(1), {**STEP, "behavior": "soft_margin"}])
def test_enormous_queries_still_have_finite_scores(folder, spec):
    np.savez("problem.npz", **with_(x_query=1e99 * good()["x_query"]))
    Path("spec.json").write_text(json.dumps(spec))
    assert main(["influence", "--data", "problem.npz", "--spec", "spec.json", "--out", "out.npz"]) == 0
    assert np.isfinite(np.load("out.npz")["scores"]).all()

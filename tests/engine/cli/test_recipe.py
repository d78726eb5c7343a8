"""`recipe` packs a script with all that it reads, and says what to do with it."""

import ast
import zipfile

import numpy as np

from engine.cli import main


def problem(path):
    rng = np.random.default_rng(0)
    np.savez(path, x_train=rng.normal(size=(20, 4)), y_train=np.arange(20) % 2, x_query=rng.normal(size=(4, 4)),
             y_query=np.arange(4) % 2)


def test_the_zip_holds_script_arrays_and_claim(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    problem("problem.npz")
    assert main(["recipe", "--program", "captum", "--data", "problem.npz", "--out", "captum.zip"]) == 0
    said = capsys.readouterr().out
    assert "run with_captum.py" in said and "one step" in said.lower()
    with zipfile.ZipFile("captum.zip") as archive:
        assert set(archive.namelist()) == {"with_captum.py", "problem.npz", "weights.npz", "claim.json"}
        ast.parse(archive.read("with_captum.py"))
        archive.extractall("packed")
    np.save("captum.npy", np.random.default_rng(1).normal(size=(4, 20)))
    assert main(["bring", "--scores", "captum.npy", "--data", "packed/problem.npz", "--spec", "packed/claim.json",
                 "--sign", "plus", "--out", "ours.npz"]) == 0


def test_an_unknown_program_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    problem("problem.npz")
    assert main(["recipe", "--program", "captun", "--data", "problem.npz", "--out", "a.zip"]) == 2
    assert "did you mean `captum`" in capsys.readouterr().err

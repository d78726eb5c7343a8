"""`noisy-labels` writes a score for every label, and refuses with one sentence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from engine.applications.noisy_labels.source import SMALL_RECIPE
from engine.cli import main
from tests.engine.applications.noisy_labels.sources import source


def test_every_label_has_its_scores(tmp_path, capsys):
    out = tmp_path / "suspicion.csv"
    chosen = source(model="mlp").model_dump_json(exclude_defaults=True)
    assert main(["noisy-labels", "--source", chosen, "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert len(table) == 150 and {"TracIn · target logit", "Confident learning", "label"} <= set(table.columns)
    assert "AUPRC" in capsys.readouterr().out
    theirs = tmp_path / "self-influence.npy"
    np.save(theirs, -table["TracIn · target logit"].to_numpy()[:, None])
    again = ["noisy-labels", "--source", chosen, "--out", str(out), "--scores", str(theirs)]
    assert main(again) == 0
    told = capsys.readouterr().out
    assert "a smaller score means that the label is more likely to be wrong" in told
    assert "Labels known to be wrong were not used" in told
    np.testing.assert_allclose(pd.read_csv(out)["self-influence"], table["TracIn · target logit"])
    np.save(theirs, np.random.default_rng(0).normal(size=150))
    assert main(again) == 2 and "Give --sign plus, or --sign minus" in capsys.readouterr().err
    assert main([*again, "--sign", "plus"]) == 0 and "as given" in capsys.readouterr().out


def test_what_if_reads_changes_and_writes_accuracies(tmp_path, capsys):
    changes, out = tmp_path / "changes.csv", tmp_path / "accuracy.csv"
    changes.write_text("row,label\n3,\n5,2\n")
    asked = ["what-if-labels", "--source", source(model="mlp").model_dump_json(), "--changes", str(changes), "--out",
             str(out), "--seeds", "2"]
    assert main(asked) == 0
    table = pd.read_csv(out).set_index("what")
    assert list(table.index) == ["before", "after", "change"] and (table["n_seeds"] == 2).all()
    changes.write_text("row,label\nx,\n")
    assert main(asked) == 2 and "is not a CSV of decisions" in capsys.readouterr().err
    changes.unlink()
    assert main(asked) == 2 and "There is no file" in capsys.readouterr().err


def folder(root, splits):
    for number, split in enumerate(splits):
        for label, name in enumerate(("cat", "dog")):
            (root / split / name).mkdir(parents=True)
            for place in range(10):
                shade = np.full((12, 12), 40 + 120 * label + place, dtype=np.uint8)
                shade[0, number] = 255
                Image.fromarray(shade).save(root / split / name / f"{place}.png")
    return root


ONE_EPOCH = SMALL_RECIPE.model_copy(update={"epochs": 1, "checkpoints": 1}).model_dump(mode="json")
QUICK = json.dumps({"model": "mlp", "recipe": ONE_EPOCH, "trusted": 2})


def test_a_folder_of_the_users_own_is_searched_as_it_came(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    out, mine = tmp_path / "suspicion.csv", folder(tmp_path / "mine", ("train", "test"))
    assert main(["noisy-labels", "--data", str(mine), "--source", QUICK, "--out", str(out)]) == 0
    table, told = pd.read_csv(out), capsys.readouterr().out
    assert len(table) == 20 and sorted(table["row"]) == list(range(20)) and "TracIn · target logit" in table
    assert all(Path(file).parts[1] == label for file, label in zip(table["file"], table["label"], strict=True))
    assert "4 trusted examples, sampled from your own `test` folder" in told and "AUPRC" not in told
    assert "searched as given" in told


@pytest.mark.slow  # two searches
def test_without_verified_labels_every_label_is_searched_or_a_part_of_them_is_trusted(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    out, mine = tmp_path / "suspicion.csv", folder(tmp_path / "mine", ("",))
    asked = ["noisy-labels", "--data", str(mine), "--source", QUICK, "--out", str(out)]
    assert main(asked) == 0 and "No label is trusted: each of 20 is scored by 3 models" in capsys.readouterr().out
    assert len(pd.read_csv(out)) == 20
    assert main([*asked, "--trust-labels-in-doubt"]) == 0
    assert "4 trusted examples, sampled from the unverified labels" in capsys.readouterr().out
    assert len(pd.read_csv(out)) == 15


@pytest.mark.parametrize(("given", "said"), [
    ([], "No data are given"), (["--data", "nowhere.zip"], "There is no file or folder `nowhere.zip`"),
    (["--data", ".", "--source", json.dumps({"dataset": "digits"})], "Both --data and --source specify the data"),
    (["--data", "."], "There are no images in the folder"), (["--source", "[]"], "--source is not a JSON object")])
def test_what_cannot_be_searched(tmp_path, capsys, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    assert main(["noisy-labels", *given, "--out", "x.csv"]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("given", "said"), [
    ("{", "--source is not JSON"), (json.dumps({"noise": 1}), "`noise` is 1"),
    (json.dumps({"nois": 0}), "Unknown key"), ('{"noise": 0.1, "noise": 0.2}', "has the key `noise` twice"),
    ("[" * 100_000, "objects nested"), (json.dumps({"dataset": "digits", "seed": 2**64}), "less than or equal")])
def test_bad_sources(tmp_path, capsys, given, said):
    assert main(["noisy-labels", "--source", given, "--out", str(tmp_path / "x.csv")]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())

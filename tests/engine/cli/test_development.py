"""`pretrain-embedded`: what it passes on, what it writes, and a place that cannot be written, told before it trains."""

import json

import pytest

from engine.applications.language import pretraining
from engine.applications.language.pretraining import Pretraining
from engine.cli import main


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the training; a training of two steps stands in for it."""
    found, pretrain = [], pretraining.pretrain

    def tiny(spec, progress):
        found.append(spec)
        return pretrain(Pretraining(steps=2, batch=2, questions=20), progress)

    monkeypatch.setattr(pretraining, "pretrain", tiny)
    return found


def test_it_writes_a_model_with_its_manifest(asked, tmp_path, capsys):
    assert main(["pretrain-embedded", "--seed", "3", "--steps", "7", "--lined", "0", "--out", str(tmp_path / "m")]) == 0
    assert asked == [Pretraining(seed=3, steps=7, lined=0.0)]
    for name in ("World-0.4M-long", "World-0.4M-concluded"):
        assert main(["pretrain-embedded", name, "--out", str(tmp_path / name)]) == 0
        assert asked[-1] == pretraining.RECIPES[name] and asked[-1].long
    assert asked[2].concluded and not asked[1].concluded and asked[2].start == "World-0.4M-long"
    assert "on 2 held-out questions" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "m").iterdir()} >= {"model.safetensors", "config.json", "tokenizer.json",
                                                                 "manifest.json"}
    assert json.loads((tmp_path / "m" / "manifest.json").read_text())["spec"]["steps"] == 2


def test_a_model_that_is_none_of_them(asked, capsys):
    assert main(["pretrain-embedded", "World-0.4M-lang"]) == 2 and not asked
    assert "There is no embedded model `World-0.4M-lang`; did you mean `World-0.4M-long`?" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(asked, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["pretrain-embedded", "--out", str(tmp_path / "file")]) == 2 and not asked
    assert "cannot be written" in capsys.readouterr().err

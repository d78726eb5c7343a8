"""`list` and `doctor` tell what is registered and what is found."""

import os

from engine.cli import main


def test_list_names_what_is_registered(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.split()
    assert {"query_loss", "remove", "one_step", "first_order", "lissa", "digits", "table-a6", "figure-4"} <= set(listed)
    assert {"behaviors", "interventions", "processes", "estimators", "datasets", "experiments"} <= set(listed)


def test_doctor_tells_what_is_found(capsys, monkeypatch, tmp_path):
    (tmp_path / "a-model").mkdir()
    monkeypatch.setenv("WHICHFLUENCE_MODELS", str(tmp_path))
    monkeypatch.delenv("WHICHFLUENCE_DATA", raising=False)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for word in ("torch", "digits", "fashion_mnist", "a-model", os.environ["WHICHFLUENCE_HOME"]):
        assert word in shown


def test_costs_at_scale_are_told_and_written(capsys, tmp_path):
    out = tmp_path / "costs.csv"
    assert main(["plan", "--records", "1e9", "--devices", "1000", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "Counted; hours on 1000 devices" in shown and "stores 2.6e+14 bytes" in shown and ", costs " not in shown
    assert main(["plan", "--price", "2.5"]) == 0 and ", costs 229.59" in capsys.readouterr().out
    assert out.read_text().startswith("part,operations,kept_bytes")
    assert main(["plan", "--records", "0"]) == 2 and "give a positive number" in capsys.readouterr().err

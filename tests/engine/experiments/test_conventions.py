"""A study that computes by two readings of the paper: payloads, folders, manifests and commands tell them apart."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.experiments import EXPERIMENTS, Experiment, StudyPreset, conventions, publish, reproduction, scoreboard
from engine.experiments.conventions import AS_AUTHORS, AS_PAPER
from engine.experiments.statements.findings import findings, without_results
from engine.experiments.statements.statement import Clause, Statement
from engine.experiments.study import study
from engine.jobs import KINDS, Output
from tests.engine.cli.commands import one_line

VALUES = {AS_PAPER: 0.25, AS_AUTHORS: 0.75}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The experiment `toy`, whose one number is another by the authors' code."""
    def chunk(payload, key, context):
        return Output(tables={"toy": pd.DataFrame({"value": [VALUES[conventions.of(payload["settings"])]]})})

    def finish(payload, chunks, context):
        own = [chunks[str(seed)].table("toy")["value"].iloc[0] + 0.001 * seed for seed in payload["seeds"]]
        return Output({"toy": pd.DataFrame({"method": ["toy"], "metric": ["AUPRC"], "mean": [sum(own) / len(own)],
                                            "ci95": [0.01], "n_seeds": [len(own)],
                                            "seed_means": [" ".join(map(str, own))]})})

    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    kind = study("toy_study", lambda payload: [str(seed) for seed in payload["seeds"]], chunk, finish)
    presets = {"small": StudyPreset("small", "one number", 2, {"numerics": 1})}
    experiment = Experiment("toy", "Table 0: a toy", kind.name, presets, lambda tables: tables["toy"],
                            ("method", "metric"))
    EXPERIMENTS.add("toy", experiment)
    conventions.CHANGES.add(kind.name, "Its number is another.")
    yield experiment
    EXPERIMENTS.remove("toy")
    conventions.CHANGES.remove(kind.name)
    KINDS.remove(kind.name)


def test_the_papers_words_leave_every_payload_as_it_was(toy):
    assert conventions.KEY not in toy.payload("small")["settings"]
    assert toy.payload("small", conventions=AS_AUTHORS)["settings"] == {"numerics": 1, "conventions": AS_AUTHORS}
    assert reproduction.digest("toy", "small") != reproduction.digest("toy", "small", conventions=AS_AUTHORS)
    assert reproduction.title("toy", "small", conventions=AS_AUTHORS) == "Table 0 · small · the authors' code"
    payload = toy.payload("small", conventions=AS_AUTHORS)
    job = reproduction.digest("toy", "small", conventions=AS_AUTHORS)
    assert list(reproduction.of_job(job, toy.study, payload)) == ["toy"]


def test_a_study_without_the_variant_is_refused(capsys):
    assert reproduction.offered("mixed-precision") == [AS_PAPER]
    with pytest.raises(InvalidInput, match="computed by the paper's words only; omit the other reading"):
        EXPERIMENTS["mixed-precision"].payload("small", conventions=AS_AUTHORS)
    assert main(["reproduce", "mixed-precision", "--as", AS_AUTHORS]) == 2
    assert "omit the other reading" in one_line(capsys)
    assert main(["statements", "--as", "nobody"]) == 2 and "no reading of the paper `nobody`" in one_line(capsys)


def test_both_are_published_side_by_side_and_judged_apart(toy, tmp_path, capsys):
    out = tmp_path / "results"
    statement = Statement("toy", "The toy exceeds one half.", ("toy",), "the number",
                          lambda rows: [Clause.of("", rows["toy"].seeds(metric="AUPRC"), 0.5)])
    assert main(["reproduce", "toy", "--out", str(out)]) == 0
    assert without_results([statement], out, AS_AUTHORS) == [statement]
    assert "`python -m engine reproduce toy --preset small --as authors` computes them" in scoreboard.lacking(
        "toy", AS_AUTHORS, out)
    assert main(["reproduce", "toy", "--as", AS_AUTHORS, "--out", str(out)]) == 0
    capsys.readouterr()
    assert publish.scales("toy", out) == ["small"] and publish.scales("toy", out, AS_AUTHORS) == ["small-authors"]
    for scale, whose in (("small", AS_PAPER), ("small-authors", AS_AUTHORS)):
        manifest = json.loads((out / "toy" / scale / "manifest.json").read_text())
        assert manifest["conventions"] == whose and manifest["command"].endswith(
            "--preset small" if whose == AS_PAPER else "--preset small --as authors")
        table, _ = publish.published("toy", scale, out)
        assert table["mean"].iloc[0] == pytest.approx(VALUES[whose] + 0.0005)
        assert publish.scale_folder(toy, manifest["payload"], "small") == scale
    verdicts = {whose: [finding.verdict for finding in findings([statement], out, whose)] for whose in VALUES}
    assert verdicts == {AS_PAPER: ["contradicted"], AS_AUTHORS: ["confirmed"]}


def test_seeds_of_one_reading_are_not_added_to_another(toy, tmp_path, capsys):
    out = tmp_path / "results"
    assert main(["reproduce", "toy", "--out", str(out)]) == 0
    more = ["reproduce", "toy", "--seeds", "1", "--first-seed", "2", "--add", "--out", str(out)]
    assert main([*more, "--as", AS_AUTHORS]) == 2
    assert "not published at the scale `small-authors` yet" in capsys.readouterr().err
    assert main(more) == 0

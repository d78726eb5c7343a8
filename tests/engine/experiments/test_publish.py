"""Published results: whole or not at all, with a manifest, and joined to the paper cell by cell."""

import errno
import os

import numpy as np
import pandas as pd
import pytest

from engine.basics.errors import StoreError
from engine.experiments import EXPERIMENTS, Experiment, StudyPreset, controlled, conventions, publish
from engine.store.results import Store, digest_of

KEYS = ["axis", "comparison", "parameter", "metric"]
PRESET = StudyPreset("small", "a few numbers", 2, {"n_train": 3})
EXPERIMENT = Experiment("demo", "Table 0: a demonstration", "demo_study", {"small": PRESET},
                        lambda tables: tables["demo"], tuple(KEYS))


@pytest.fixture
def result(tmp_path):
    payload = EXPERIMENT.payload("small")
    table = pd.DataFrame({"axis": ["P", "T"], "comparison": ["a vs. LOO", "b"], "parameter": ["alpha=0.001", ""],
                          "metric": ["Kendall tau", "Sign agreement"], "mean": [0.123456789, 1e-7 / 3],
                          "ci95": [np.nan, 0.5], "n_seeds": [2, 2]})
    manifest = {"kind": "demo_study", "payload": payload, "spec": {"eta": 0.1}, "seeds": payload["seeds"],
                "runs": [{"data": "f" * 64, "convergence": {"flagged": 0}}], "device": "an abacus",
                "versions": {"python": "3.11"}, "wall_seconds": 1.5}
    return Store(tmp_path / "home").write(digest_of("demo"), manifest, {"demo": table})


def test_what_is_published_is_read(result, tmp_path):
    folder = publish.publish(EXPERIMENT, result, "small", tmp_path / "out")
    assert folder == tmp_path / "out" / "demo" / "small"
    assert {path.name for path in folder.iterdir()} == {"results.csv", "manifest.json"}
    lines = (folder / "results.csv").read_text().splitlines()
    assert lines[1] == "P,a vs. LOO,alpha=0.001,Kendall tau,0.123457,,2"
    assert lines[2] == "T,b,,Sign agreement,3.33333e-08,0.5,2"
    table, manifest = publish.published("demo", "small", tmp_path / "out")
    assert table.parameter.tolist() == ["alpha=0.001", ""] and np.isnan(table.ci95[0]) and table.n_seeds.dtype == int
    assert manifest["command"] == "python -m engine reproduce demo --preset small"
    assert manifest["study_digest"] == result.digest and manifest["payload"]["settings"] == {"n_train": 3}
    for key in ("spec", "seeds", "runs", "device", "versions", "wall_seconds", "files", "scale"):
        assert manifest[key]


def test_methods_have_their_present_names():
    table, _ = publish.published("language-lds", "small")
    assert "Gradient norm" in set(table.method) and "Gradient length" not in set(table.method)


def test_nothing_published_is_none_and_an_altered_table_is_refused(result, tmp_path):
    assert publish.published("demo", "small", tmp_path / "out") is None
    folder = publish.publish(EXPERIMENT, result, "small", tmp_path / "out")
    table = (folder / "results.csv").read_text()
    for content in (table[:-5], table.replace("0.123457", "0.999999")):
        (folder / "results.csv").write_text(content)
        with pytest.raises(StoreError, match="do not match their manifest"):
            publish.published("demo", "small", tmp_path / "out")
    (folder / "results.csv").write_text(table)
    (folder / "manifest.json").write_text("[]")
    with pytest.raises(StoreError, match="reproduce `demo` again with the preset `small`"):
        publish.published("demo", "small", tmp_path / "out")


def test_a_full_disk_leaves_what_was_published_before(result, tmp_path, monkeypatch):
    folder = publish.publish(EXPERIMENT, result, "small", tmp_path / "out")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="disk is full"):
            publish.publish(EXPERIMENT, result, "small", tmp_path / "out")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_written_together_stand_or_fall_together(tmp_path, monkeypatch):
    files = {tmp_path / "first": b"1", tmp_path / "second": "zwei — ü"}
    publish.write_together(files)
    assert (tmp_path / "second").read_text(encoding="utf-8") == "zwei — ü"
    for path in files:
        path.unlink()
    replace = os.replace

    def interrupted(source, target):
        if str(target).endswith("second"):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish.write_together(files)
    assert list(tmp_path.iterdir()) == []


PAPER = """axis,comparison,parameter,metric,mean,spread
B,query loss vs. query logit,,Kendall tau,0.408,0.002
B,query loss vs. query logit,,Top-5% overlap,0.500,0.010
P,upweighting vs. exact LOO,alpha=0.001,Sign agreement,0.780,0.001
B,query loss vs. query logit,,Sign agreement,0.700,0.001
T,one-step vs. five-step,,Kendall tau,0.900,0.001
"""


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "paper.csv").write_text(PAPER)
    return tmp_path / "paper.csv"


def test_the_paper_beside_ours_with_tolerances(paper):
    ours = pd.DataFrame([
        ("P", "upweighting vs. exact LOO", "alpha=0.001", "Sign agreement", 0.801, 0.01),  # just outside
        ("B", "query loss vs. query logit", None, "Kendall tau", 0.428, 0.01),  # exactly the tolerance away
        ("B", "query loss vs. query logit", "", "Top-5% overlap", 0.45, 0.01),
        ("B", "query loss vs. query logit", "", "Sign agreement", 0.1, 0.01),  # no tolerance was set
        ("B", "not in the paper", "", "Kendall tau", 0.1, 0.01),
    ], columns=[*KEYS, "mean", "ci95"])
    joined = publish.comparison_with_paper(ours, publish.read_table(paper), controlled.tolerance)
    assert joined.columns.tolist() == [*KEYS, "paper", "spread", "ours", "ci95", "difference", "difference_ci95",
                                       "tolerance", "within"]
    assert joined["paper"].tolist() == [0.408, 0.5, 0.78, 0.7, 0.9]  # the paper's order
    np.testing.assert_allclose(joined.difference, [0.02, -0.05, 0.021, -0.6, np.nan], atol=1e-12)
    assert joined.within.tolist() == [True, True, False, pd.NA, pd.NA]
    np.testing.assert_array_equal(joined.tolerance, [0.02, 0.05, 0.02, np.nan, 0.02])


def test_each_dataset_of_ours_is_compared(paper):
    rows = [("B", "query loss vs. query logit", "", "Kendall tau", value, 0.0, 3, dataset)
            for value, dataset in ((0.4, "digits"), (0.41, "fashion_mnist"))]
    ours = pd.DataFrame(rows, columns=[*KEYS, "mean", "ci95", "n_seeds", "dataset"])
    joined = publish.comparison_with_paper(ours, publish.read_table(paper), controlled.tolerance)
    assert joined[joined.metric == "Kendall tau"].dataset.tolist()[:2] == ["digits", "fashion_mnist"]
    assert len(joined) == 6


def test_every_table_of_the_paper_that_an_experiment_names_is_there_and_can_be_joined():
    for experiment in (found for found in EXPERIMENTS.values() if found.paper_table):
        table = publish.read_table(publish.PAPER / experiment.paper_table)
        assert set(experiment.keys) <= set(table.columns) and table["mean"].dtype == float


def test_published_results_of_this_repository_match_their_manifests():
    for manifest in publish.RESULTS.glob("*/*/manifest.json"):
        name, preset = manifest.parts[-3:-1]
        table, record = publish.published(name, preset)
        whose = conventions.of_folder(preset)
        command = f"python -m engine reproduce {name} --preset {preset.removesuffix(conventions.SUFFIX)}"
        assert len(table) and record["command"].startswith(command)
        assert record["command"].endswith(f" --as {whose}") == (whose != conventions.AS_PAPER)

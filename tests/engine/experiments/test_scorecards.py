"""Published scorecards: means over cards of several seeds, end to end at a tiny size."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.analysis.scorecard import BENCHMARKS, CEILING, Case, Sizes, running
from engine.basics.options import Options
from engine.experiments import scorecards
from engine.experiments.contents import contents
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.store.results import Store
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = {"dataset": "digits", "n_train": 40, "n_queries": 4, "n_candidates": 12}
SIZES = Sizes(candidates=12, models=4, fractions=(0.5,), queries=1, removed=(0.1,), repeats=1, seeds=2, top=3)
SETTINGS = {"numerics": 1, "sources": [SOURCE], "sizes": SIZES.model_dump(mode="json")}
METHODS = ["gradsim", "random"]
MEASURE = "50% of the candidates, 85% of the training data"


def test_a_row_is_the_mean_over_cards(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr(scorecards, "running", lambda problem: ["lds", "stability"])
    monkeypatch.setattr(scorecards, "fitting", lambda problem: METHODS)
    payload = {"study": scorecards.STUDY.name, "preset": "tiny", "seeds": [0, 1], "settings": SETTINGS,
               "contents": contents(SETTINGS)}
    table = run_job(scorecards.STUDY.name, payload, tmp_path).table("cards")
    assert list(table["benchmark"]) == ["lds"] * 3 + ["stability"] * 2
    assert list(table["method"]) == ["gradsim", "random", CEILING, "gradsim", "random"]
    assert list(table["protocol"]) == ["weights"] * 3 + [""] * 2 and list(table["control"])[:3] == [False, True, False]
    assert set(table["n_queries"]) == {4} and list(table["subsets"]) == [4] * 3 + [0] * 2
    row = table[(table["benchmark"] == "lds") & (table["method"] == "gradsim")].iloc[0]
    expected = []
    for seed in (0, 1):
        problem = ProblemSource.parse({**SOURCE, "seed": seed}).build().problem
        case = Case(problem, METHODS, "query_loss", SIZES.model_copy(update={"seed": seed}), Store(tmp_path / "other"),
                    Options())
        expected.append(np.nanmean(BENCHMARKS["lds"].measure(case)["gradsim"][MEASURE].values))
    assert [float(one) for one in row["seed_means"].split()] == pytest.approx(expected, abs=1e-6)
    assert row["model"] == "softmax regression, Handwritten digits, 40 training examples, 4 queries"
    assert row["n_seeds"] == 2


@pytest.mark.parametrize("preset", scorecards.PRESETS.values(), ids=lambda preset: preset.name)
def test_presets_run_every_benchmark_that_fits_on_three_seeds(preset):
    payload = scorecards.SCORECARD.payload(preset.name)
    keys = scorecards.plan(payload)
    kinds = [ProblemSource.parse(source).problem_class for source in preset.settings["sources"]]
    chosen, protocols = (preset.settings.get(name, ()) for name in ("benchmarks", "protocols"))
    names = [name for kind in kinds for name in running(kind) if not chosen or name in chosen]
    assert len(keys) == len(set(keys)) == 3 * len(names) * max(1, len(protocols))


def test_evidence_has_at_least_100_queries_and_subsets_and_its_name_says_the_size():
    """Of what may be published; the quick check says that it is none."""
    for preset in scorecards.PRESETS.values():
        sizes, [source] = preset.settings["sizes"], preset.settings["sources"]
        if preset.is_quick_check:
            assert "not evidence" in preset.title and not folder(preset.name).exists()
            continue
        assert preset.name.endswith(f"-{source['n_train']}") and sizes["among"] == "all"
        for count, noun in ((source["n_train"], "training"), (source["n_queries"], "queries"),
                            (sizes["models"], "subsets")):
            assert count >= 100 and re.search(f"{count} (training )?({noun}|examples|records)", preset.title)


def folder(preset):
    return Path(__file__).parents[3] / "assets" / "results" / "scorecard" / preset


def test_a_stored_card_of_an_earlier_version_had_the_first_protocol():
    old = pd.DataFrame({"model": "m", "benchmark": ["lds", "stability"], "measure": "50% kept", "method": "gradsim"})
    found = scorecards.SCORECARD.view({"cards": old})
    assert list(found["protocol"]) == ["weights", ""] and list(found.columns[:5]) == scorecards.KEYS

"""Published scorecards: means over cards of several seeds, end to end at a tiny size."""

import numpy as np
import pytest

from engine.analysis.scorecard import BENCHMARKS, Case, Sizes, running
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
    assert list(table["benchmark"]) == ["lds"] * 2 + ["stability"] * 2 and list(table["control"]) == [False, True] * 2
    row = table[(table["benchmark"] == "lds") & (table["method"] == "gradsim")].iloc[0]
    expected = []
    for seed in (0, 1):
        problem = ProblemSource.parse({**SOURCE, "seed": seed}).build().problem
        case = Case(problem, METHODS, "query_loss", SIZES.model_copy(update={"seed": seed}), Store(tmp_path / "other"),
                    Options())
        expected.append(np.nanmean(BENCHMARKS["lds"].measure(case)["gradsim"][MEASURE].values))
    assert [float(one) for one in row["seed_means"].split()] == pytest.approx(expected, abs=1e-6)
    assert row["model"] == "softmax regression, Handwritten digits" and row["n_seeds"] == 2


@pytest.mark.parametrize("preset", scorecards.PRESETS.values(), ids=lambda preset: preset.name)
def test_presets_run_every_benchmark_that_fits_on_three_seeds(preset):
    payload = scorecards.SCORECARD.payload(preset.name)
    keys = scorecards.plan(payload)
    kinds = [ProblemSource.parse(source).problem_class for source in preset.settings["sources"]]
    assert len(keys) == len(set(keys)) == 3 * sum(len(running(kind)) for kind in kinds)

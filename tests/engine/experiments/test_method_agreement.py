"""Agreement of methods with exact replay and exact leave-one-out, end to end at a tiny size."""

import numpy as np
import pytest

from engine.basics.options import Options
from engine.experiments import method_agreement
from engine.experiments.agreements import Bounded, per_query
from engine.experiments.contents import contents
from engine.experiments.method_agreement import LOO, OTHERS, OWN, REPLAY
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.problems.variants import trained_on
from engine.scoring.compute import compute
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = {"dataset": "digits", "model": "linear", "n_train": 30, "n_queries": 3, "n_candidates": 5,
          "recipe": {"epochs": 2, "batch_size": 10, "learning_rate": 0.1, "checkpoints": 2}}
SETTINGS = {"numerics": 1, "source": SOURCE, "behavior": "query_loss", "similar": "query_logit",
            "methods": ["gradsim", "tracin", "random"]}
SEEDS = [0, 1, 2]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    payload = {"study": method_agreement.STUDY.name, "preset": "tiny", "seeds": SEEDS, "settings": SETTINGS,
               "contents": contents(SETTINGS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(home))
        return run_job(method_agreement.STUDY.name, payload, home).table("agreement").set_index(
            list(method_agreement.KEYS))


@pytest.fixture(scope="module")
def runs():
    """Of every seed: what is asked -> oriented scores."""
    first = ProblemSource.parse({**SOURCE, "seed": 0}).build().problem
    trained = [trained_on(first, first.examples, Options(), seed) for seed in SEEDS]
    return [{title: Bounded.of(compute(problem, [scoring])[0])
             for title, scoring in method_agreement.scorings_of(SETTINGS).items()} for problem in trained]


@pytest.mark.parametrize("method,reference", [("GradSim", LOO), ("TracIn", REPLAY), (LOO, REPLAY)])
def test_rows_compare_a_run_with_its_own_answer_and_with_the_mean_of_the_others(table, runs, method, reference):
    def mean(place, exact):
        return np.nanmean(per_query(runs[place][method], exact)["kendall_tau"])

    own = [mean(place, runs[place][reference]) for place in range(3)]
    others = [mean(place, Bounded((runs[place - 1][reference].values + runs[place - 2][reference].values) / 2))
              for place in range(3)]
    for run, expected in ((OWN, own), (OTHERS, others)):
        row = table.loc[(method, reference, run, "Kendall tau")]
        np.testing.assert_allclose([float(value) for value in row["seed_means"].split()], expected, atol=1e-6)
        assert row["mean"] == pytest.approx(np.mean(expected), abs=1e-6) and row["n_seeds"] == 3


def test_an_answer_is_not_compared_with_itself_but_with_other_runs(table):
    assert (LOO, LOO, OWN, "Kendall tau") not in table.index and (LOO, LOO, OTHERS, "Kendall tau") in table.index


@pytest.mark.parametrize("preset", method_agreement.PRESETS.values(), ids=lambda preset: preset.name)
def test_at_least_twelve_methods_over_ten_seeds(preset):
    assert len(preset.settings["methods"]) >= 12 and preset.seeds == 10
    kind = ProblemSource.parse(preset.settings["source"]).problem_class.kind
    for title, scoring in method_agreement.scorings_of(preset.settings).items():
        assert scoring.route.refusal(scoring.specification, kind) is None, title

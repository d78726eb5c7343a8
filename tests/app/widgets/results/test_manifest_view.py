"""The manifest's facts: what converged, and what was only approximated, each by its own measure."""

from app.widgets.results import manifest_view
from engine.curvature.solution import RELATIVE

EXACT = {"converged": 9, "of": 10, "largest_residual": 1e-11}
APPROXIMATE = {"kept": 10, "of": 10, "largest_residual": 7358.0, "worse_than_nothing": 4, RELATIVE: 1.0}


def facts(*runs):
    return dict(manifest_view.facts({"runs": [{"convergence": run} for run in runs]}))


def test_a_relative_residual_is_no_gradient_norm():
    found = facts(EXACT, APPROXIMATE)
    assert found["Candidates flagged and left out"] == "1"
    assert found["Largest gradient norm after re-optimisation"] == "1e−11"
    assert found["Largest relative residual of a linear system"] == "7.4e3"
    assert not any("nothing" in term or "worse" in term for term in found), "a residual judges no answer"


def test_an_approximation_alone_is_not_said_to_have_converged():
    assert not any("converge" in term or "gradient norm" in term for term in facts(APPROXIMATE))


def test_sizes_are_told_where_all_there_is_was_taken():
    def told(**source):
        return dict(manifest_view.facts({"payload": {"source": {"dataset": "digits", **source}}}))["Sizes"]

    assert told(n_train=None).endswith(": all training examples")
    assert told(n_train=None, trusted=500).endswith(
        ": 500 trusted examples of every class, all other training examples")
    assert told(n_train=1000, trusted=50, pool=2).endswith(
        ": 50 trusted examples of every class, 1,000 training examples, pixels averaged over 2×2 squares")
    assert told(n_train=None, trusted=20, trusted_from="cross-validation").endswith(": all training examples")
    assert told(n_train=None, n_queries=10).endswith(": all training examples, 10 queries")


def test_the_most_memory_of_all_runs_and_how_many_do_not_say_it():
    def told(*peaks):
        parts = [{"peak_resident_bytes": peak} if peak else {} for peak in peaks]
        return dict(manifest_view.facts({"parts": parts})).get("Peak memory of the process")

    assert told(3_400_000_000, 1_000_000_000) == "3.4 GB"
    assert told(None, 3_400_000_000) == "3.4 GB, reported by 1 of 2 runs"
    assert told(None) is None


def test_time_that_another_run_spent_is_said_to_be_left_out():
    def told(**manifest):
        return dict(manifest_view.facts(manifest)).get("Computing time")

    assert told(wall_seconds=7200) == told(wall_seconds=7200, found_fraction=0.001) == "2 h"
    assert told(wall_seconds=7200, found_fraction=0.375) == "2 h, with 38% of the work cached"
    assert told(found_fraction=0.375) is None


def test_trainings_that_were_found_on_disk_are_said_beside_the_run_s_own_time():
    term = "Training of the models"
    runs = [{"facts": {"training_seconds": 3000.0}}, {"facts": {"training_seconds": 600.0}}]
    assert dict(manifest_view.facts({"runs": runs}))[term] == "1 h, for any run"
    assert term not in dict(manifest_view.facts({"runs": [*runs, {"facts": {}}]}))

"""The study of planted records: what its rows measure, and one training of it from end to end."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.analysis.poison import evidence
from engine.basics.options import Options
from engine.data import poisoned
from engine.experiments import poison_records

CONTEXT = SimpleNamespace(computing=lambda *_: Options(), device="cpu")


def test_rankings_are_measured_for_each_query_and_for_groups():
    held = SimpleNamespace(planted=np.array([False, True, False, True]))
    scores = np.tile([0.9, 0.8, 0.1, 0.7], (10, 1))
    scores[5:] = [0.1, 0.8, 0.2, 0.7]
    rows = {row["queries"]: row["value"] for row in poison_records.detection(held, {"method": scores})}
    half = (1 / 2 + 2 / 3) / 2
    assert rows[1] == pytest.approx((half + 1) / 2) == rows[5]


@pytest.mark.slow
def test_one_training_is_measured_before_and_after(tmp_path, monkeypatch):
    """One epoch, too few for the attack: the rows are those of the study, and its queries are asked all the same."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    settings = {**poison_records.PRESETS["small"].settings,
                "recipe": poison_records.RECIPE.model_copy(update={"epochs": 1}).model_dump(mode="json")}
    made = poison_records.run_chunk({"settings": settings, "seeds": [0]}, "0", CONTEXT)
    table = made.tables["measures"]
    own = table.set_index(["what", "queries", "metric"])["value"]
    assert {evidence.TITLE, "BM25", "GradSim"} <= set(table["what"]) and made.manifest["poisons"] == 100
    assert own[poison_records.TRAINED, 1, "removed"] == 0
    removed = [own[what, 1, "removed"] for what in poison_records.WITHOUT.values()]
    assert own[poison_records.RANDOM, 1, "removed"] == max(removed)
    assert all(0 <= own[what, 1, "attack success"] <= 1 for what in poison_records.WITHOUT.values())


def test_queries_are_other_than_those_by_which_the_readout_was_chosen():
    assert poisoned.SIZES["test"][1] >= poison_records.FRESH + poison_records.QUERIES

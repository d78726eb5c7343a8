"""Seeds that are added to a published table: the same rows as of all seeds at once, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from engine.basics.errors import InvalidInput
from engine.experiments import more_seeds
from engine.metrics.intervals import t_interval

VALUES = {"TracIn": [0.5, 0.6, 0.8, 0.1], "Random": [0.2, 0.1, float("nan"), 0.2]}


def published(seeds, **changes):
    rows = []
    for method, values in VALUES.items():
        own = [values[seed] for seed in seeds]
        mean, half = t_interval(own)
        rows.append({"method": method, "mean": mean, "ci95": half, "n_seeds": int(np.isfinite(own).sum()),
                     "n_dropped": len(seeds), "seed_means": " ".join(f"{value:.6f}" for value in own)})
    manifest = {"seeds": seeds, "runs": [{"seed": seed} for seed in seeds], "wall_seconds": 10.0 * len(seeds),
                "device": f"machine {seeds[0]}", "written": "today", "study_digest": f"d{seeds[0]}",
                "payload": {"study": "demo", "preset": "desk", "settings": {"n": 3}, "seeds": seeds}, **changes}
    return pd.DataFrame(rows), manifest


def test_seeds_that_were_added_one_by_one_give_what_all_give_at_once():
    table, manifest = published([0])
    for seed in (1, 2, 3):
        table, manifest = more_seeds.together((table, manifest), published([seed]))
    whole, of_all = published([0, 1, 2, 3])
    pd.testing.assert_frame_equal(table, whole, check_exact=False, rtol=1e-12)
    assert manifest["seeds"] == of_all["seeds"] == manifest["payload"]["seeds"]
    assert manifest["runs"] == of_all["runs"] and manifest["wall_seconds"] == of_all["wall_seconds"]
    assert [part["device"] for part in manifest["parts"]] == ["machine 0", "machine 1", "machine 2", "machine 3"]


def test_the_most_memory_is_that_of_all_parts_and_unknown_where_one_is_silent():
    def added(first, second):
        old, new = (published([seed], **({"peak_resident_bytes": peak} if peak else {}))
                    for seed, peak in enumerate((first, second)))
        return more_seeds.together(old, new)[1]

    assert added(5, 7)["peak_resident_bytes"] == added(7, 5)["peak_resident_bytes"] == 7
    assert "peak_resident_bytes" not in added(None, 7)
    assert added(None, 7)["parts"][1]["peak_resident_bytes"] == 7


def test_what_was_found_on_disk_is_a_mean_over_all_seeds():
    old, new = published([0, 1, 2]), published([3], found_fraction=0.8)
    found = more_seeds.together(old, new)[1]
    assert found["found_fraction"] == 0.2
    assert [part.get("found_fraction") for part in found["parts"]] == [None, 0.8]
    table, manifest = more_seeds.together(published([0], found_fraction=0.5), published([1]))
    assert manifest["found_fraction"] == 0.25
    again = more_seeds.together((table, manifest), published([2], found_fraction=0.25))[1]
    assert again["found_fraction"] == 0.25
    assert "found_fraction" not in more_seeds.together(published([0]), published([1]))[1]


def test_shares_of_what_was_removed_are_means_over_all_seeds():
    (before, old), (after, new) = published([0, 1]), published([2])
    found, _ = more_seeds.together((before.assign(wrong_removed="0.2"), old), (after.assign(wrong_removed="0.5"), new))
    np.testing.assert_allclose(found["wrong_removed"], 0.3)


def test_a_board_grows_by_seeds():
    nan = float("nan")
    (before, old), (after, new) = published([0, 1]), published([2])
    table, _ = more_seeds.together(
        (before.assign(note=[nan, "left out"], ci95_queries=[0.1, nan], ci95_subsets=""), old),
        (after.assign(note=["too few", "twice"], ci95_queries=[0.4, 0.3], ci95_subsets=nan), new))
    assert table["note"].tolist() == ["too few", "left out"]
    np.testing.assert_allclose(table["ci95_queries"], [0.2, 0.3])
    assert table["ci95_subsets"].isna().all()


@pytest.mark.parametrize("seeds", [[0], [1, 2], [3]])
def test_seeds_that_stand_there_or_leave_a_gap_are_refused(seeds):
    with pytest.raises(InvalidInput, match="give 2 as the first seed"):
        more_seeds.together(published([0, 1]), published(seeds))


def test_other_settings_and_other_rows_are_refused():
    table, manifest = published([1])
    other = {**manifest, "payload": {**manifest["payload"], "settings": {"n": 4}}}
    with pytest.raises(InvalidInput, match="other settings"):
        more_seeds.together(published([0]), (table, other))
    with pytest.raises(InvalidInput, match="rows of the new seeds"):
        more_seeds.together(published([0]), (table.iloc[:1], manifest))

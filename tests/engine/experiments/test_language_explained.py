"""Why two methods of a language model disagree, end to end at a tiny size."""

import pytest

from engine.experiments import language_explained
from engine.experiments.contents import contents
from engine.jobs import run_job

SOURCE = {**language_explained.SMALL.settings["source"], "n_train": 16, "n_test": 4, "n_queries": 3, "n_candidates": 4,
          "recipe": {"rank": 2, "epochs": 1, "learning_rate": 5e-3, "batch": 4, "context": 256, "checkpoints": 4}}
SETTINGS = {"numerics": 1, "source": SOURCE}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    payload = {"study": language_explained.STUDY.name, "preset": "tiny", "seeds": [0, 1], "settings": SETTINGS,
               "contents": contents(SETTINGS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(home))
        yield run_job(language_explained.STUDY.name, payload, home)


@pytest.mark.slow
def test_links_add_up_to_the_way(result):
    table = result.table("way")
    assert list(dict.fromkeys(table["pair"])) == list(language_explained.PAIRS)
    for pair, rows in table.groupby("pair", sort=False):
        values = {name: part["mean"].sum() for name, part in rows.groupby("metric")}
        assert values[language_explained.SHARE] == pytest.approx(1)
        assert values[language_explained.LENGTH] == pytest.approx(
            values[language_explained.DIRECT] + values[language_explained.SLACK]), pair
    causes = {row["link"].partition(":")[0] for _, row in table[table["pair"] == "TracIn and LESS"].iterrows()}
    assert causes == {language_explained.WHOLE, "Adam's updates of B", "normalised of B"}
    assert all(told["sentence"].endswith(".") for told in result.manifest["runs"])


def test_the_dear_pair_is_the_last():
    payload = {"settings": SETTINGS, "seeds": [0]}
    assert language_explained.plan(payload)[-1] == "GradSim and TRAK"

"""A reproduction's job, title and command."""

import pytest

from engine.experiments import EXPERIMENTS, publish, reproduction
from engine.jobs import KINDS, job_digest


def declared(name, preset):
    """Seconds on two idle cores that the kind of job of a reproduction declares."""
    experiment = EXPERIMENTS[name]
    return KINDS[experiment.study].work(experiment.payload(preset)).seconds


def test_tables_of_one_run_share_its_digest_and_title():
    experiment = EXPERIMENTS["table-a6"]
    assert reproduction.digest("table-a6", "small") == job_digest(experiment.study, experiment.payload("small"))
    assert reproduction.digest("figure-4", "small") == reproduction.digest("table-a6", "small")
    assert reproduction.title("figure-4", "small") == "Table A-6 and Figure 4-1 · small"


def test_another_model_is_another_run_and_stands_in_the_command():
    other = "google/gemma-2-9b-it"
    assert reproduction.digest("table-5-2", "paper", other) != reproduction.digest("table-5-2", "paper")
    assert reproduction.command("table-5-2", "paper", other) == (
        "python -m engine reproduce table-5-2 --preset paper --model google/gemma-2-9b-it")
    assert reproduction.other_model("table-5-2", "paper", "Gemma-2-9B-it") == other
    assert reproduction.other_model("table-5-2", "paper", "Qwen3-8B") is None
    assert reproduction.other_model("table-a6", "paper", "") is None


@pytest.mark.parametrize(("name", "trains"), [("table-a6", False), ("table-5-2", True)])
def test_what_it_takes_is_guessed(name, trains):
    assert declared(name, "small") > 1
    assert reproduction.trains_language_model(name, "small") is trains


@pytest.mark.parametrize("preset", ["desk", "embedded"])
@pytest.mark.parametrize("name", ["figure-5-2", "table-5-2"])
def test_the_guess_of_a_language_study_is_near_what_its_published_run_took(name, preset):
    told = publish.stored_manifest(name, preset, publish.RESULTS)
    took = sum(part["wall_seconds"] for part in told.get("parts", [told])) / len(told["seeds"])
    guessed = declared(name, preset) / len(EXPERIMENTS[name].payload(preset)["seeds"])
    assert took / 2 < guessed < 2 * took


def test_the_guess_of_table_a11_is_of_its_trainings():
    experiment = EXPERIMENTS["table-a11"]
    kind, payload = KINDS[experiment.study], experiment.payload("desk")
    corruption, backdoor = (kind.weight(payload, f"0/{task}") for task in ("corruption", "backdoor"))
    assert backdoor / corruption == pytest.approx(5000 * 4 / (1000 * 6))
    assert declared("table-a11", "desk") == len(payload["seeds"]) * (corruption + backdoor)


@pytest.mark.parametrize("name", ["table-a6", "table-a7", "table-a10"])
def test_data_that_are_missing_are_named_before_the_run(name, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_DATA", "/nowhere")
    assert "is not complete under WHICHFLUENCE_DATA" in reproduction.missing_data(name, "paper")

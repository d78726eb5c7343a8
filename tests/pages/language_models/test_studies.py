"""Language models: published results at once, runs as jobs, every choice in the address."""

import dataclasses
import shlex

import pytest

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from engine.applications.language.run import AttributionRequest
from engine.cli.language_run import read_run
from engine.desk import published as app_published
from engine.experiments import EXPERIMENTS, publish
from engine.experiments.language_study import LanguageStudy
from engine.models.causal.catalogue import EMBEDDED_MODEL, SMALL_MODEL
from engine.store.results import Store
from tests.pages import support
from tests.pages.language_models.small import html
from tests.pages.support import says, sound

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("home")]


def test_without_results_the_page_says_how_to_get_them():
    at = sound(support.open("language_models"))
    assert says(at, "There is no result of this study yet")
    assert says(at, "python -m engine reproduce figure-5-2 --preset small")
    for view in ("ablation", "removal"):
        assert says(sound(support.open("language_models", show=view)), "There is no result of this study yet")


def test_published_results_open_at_once(published):
    at = sound(support.open("language_models"))
    assert says(at, "Wrong answers") and says(at, "Mismatched rationales")
    assert says(at, "Best mean among the estimators")
    assert len(at.get("vega_lite_chart")) == 2 or len(at.get("arrow_vega_lite_chart")) == 2
    assert says(at, "If training used one more occurrence of this example") or "wf-question" in html(at)
    question, facts, _, command = at.session_state["charts:provenance"]["language:heatmap:answer"]()
    assert question.startswith("GradSim with answer") and "training records" in facts and "Seeds 0, 1" in facts
    assert command.startswith("python -m engine reproduce figure-5-2")
    at.segmented_control(key="choice:task").set_value("conditional_backdoor").run()
    assert at.query_params["task"] == "conditional_backdoor" and says(at, "Poisoned records")
    at.segmented_control(key="choice:measure").set_value("BT-FPR").run()
    assert says(sound(at), "lower is better") and at.query_params["measure"] == "BT-FPR"


@pytest.mark.parametrize(("seeds", "half"), [(1, None), (2, 0.4)])
def test_few_seeds_stand_behind_more_and_one_without_an_interval(seeds, half, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(publish.RESULTS))
    scales = app_published.scales

    def desk_of_few(name):
        found = scales(name)
        table = found["desk"].table.assign(n_seeds=seeds, ci95=half).astype({"ci95": float})
        return {**found, "desk": dataclasses.replace(found["desk"], table=table)}

    monkeypatch.setattr(app_published, "scales", desk_of_few)
    at = sound(support.open("language_models", task="conditional_backdoor"))
    scale = at.selectbox(key="choice:scale")
    assert [title.rpartition(" · ")[2] for title in scale.options] == ["embedded", "desk", "small"]
    assert scale.value == "embedded" and says(at, "half width of its 95% interval")
    at = sound(scale.set_value("desk").run())
    assert says(at, "One seed has no interval") == (half is None)
    assert says(at, "half width of its 95% interval") == says(at, "are inconclusive") == (half is not None)


def test_a_clicked_cell_chooses_estimator_and_behavior(published):
    at = sound(support.open("language_models"))
    support.select(at, "language:heatmap:rationale", "cell", {"row": "LESS", "column": "Explanation loss"})
    sound(at)
    assert at.query_params["estimator"] == "less" and at.query_params["behavior"] == "explanation_loss"
    assert says(at, "the log-likelihood of the explanation") and "scaled to unit norm" in html(at)
    assert "Adam&#x27;s updates, normalised" in html(at)  # the chip of the process


def test_ablation_and_removal(published):
    at = sound(support.open("language_models", show="ablation"))
    assert says(at, "harmful") and says(at, "python -m engine reproduce table-a15")
    at = sound(support.open("language_models", show="removal"))
    assert says(at, "Grey diamond: before") and says(at, "python -m engine reproduce table-a14")
    assert "Seeds" in at.session_state["charts:provenance"]["language:removal"]()[1]


def test_estimators_without_a_specification_say_so():
    at = sound(support.open("language_models", estimator="random"))
    assert "chance pick" in html(at) and "choice:behavior" not in {box.key for box in at.selectbox}


def test_a_new_run_is_a_job(home, monkeypatch):
    monkeypatch.setattr("engine.data.scienceqa.available", lambda: (True, "here"))
    at = sound(support.open("language_models", show="records", model="SmolLM2-135M-Instruct"))
    assert says(at, "This has not been computed yet") and says(at, "cancel and resume")
    assert says(at, "no such run has finished on this machine yet. A model with more than 135 million parameters")
    at.button(key="language:start").click().run()
    sound(at)
    [job] = desk().jobs.queue.jobs()
    assert job.kind == AttributionRequest.name and says(at, "Response corruption · SmolLM2-135M-Instruct")
    at.button(key=f"cancel:{job.id}").click().run()
    assert desk().jobs.queue.get(job.id).state == "cancelled" and says(sound(at), "was cancelled")


def test_the_time_of_a_run_is_judged_by_what_this_machine_has_finished():
    asked = LanguageStudy("conditional_backdoor", EMBEDDED_MODEL, 80, 0)
    support.finished_in(18 * 60, AttributionRequest.name, asked.request.payload)
    at = sound(support.open("language_models", show="records", task=asked.task, model=asked.model, seed=1))
    assert says(at, "estimated from one such run on this machine. You can close")


def test_the_recipe_of_a_run_is_chosen_and_its_time_follows(home, monkeypatch):
    monkeypatch.setattr("engine.jobs.traces.crowd_now", lambda: 1.0)
    at = sound(support.open("language_models", show="records", model=EMBEDDED_MODEL, records=80))
    usual = LanguageStudy("response_corruption", EMBEDDED_MODEL, 80, 0)
    box = next(one for one in at.number_input if one.label == "Epochs")
    assert box.value == usual.usual_recipe.epochs and says(at, guesses.expected(usual.request))
    box.set_value(40).run()
    longer = dataclasses.replace(usual, recipe=usual.usual_recipe.model_copy(update={"epochs": 40}))
    assert longer.digest != usual.digest and longer.request.seconds > 1.5 * usual.request.seconds
    assert says(sound(at), "trained for 40 epochs with AdamW") and says(at, guesses.expected(longer.request))
    assert at.query_params["tune-epochs"] in ("40", ["40"])
    assert dataclasses.replace(usual, recipe=usual.usual_recipe).digest == usual.digest
    assert read_run(shlex.split(longer.command)[longer.command.split().index("--run") + 1]) == longer.request


def test_a_query_begins_with_words_of_what_is_trained_on(home):
    at = sound(support.open("language_models", show="records", about="mine", model="World-0.4M"))
    assert "rock" not in at.text_area(key="choice:prompt").value and not at.error
    known = at.text_area(key="choice:prompt").value
    at.text_area(key="choice:prompt").set_value("Which is it?").run()
    at.selectbox(key="choice:model").set_value(SMALL_MODEL).run()
    assert at.text_area(key="choice:prompt").value == "Which is it?", "what was written stays"
    at = sound(support.open("language_models", show="records", about="mine", model=SMALL_MODEL))
    assert "rock" in at.text_area(key="choice:prompt").value
    at.selectbox(key="choice:model").set_value("World-0.4M").run()
    assert sound(at).text_area(key="choice:prompt").value == known


def test_nonsense_in_the_address_is_said_and_ignored(published):
    at = sound(support.open("language_models", show="x", estimator="magic", behavior="\0", measure="9"))
    assert len([warning for warning in at.warning if "which was ignored" in warning.value]) >= 3


def test_the_layer_of_repsim_is_chosen_and_followed(published):
    at = sound(support.open("language_models", task="conditional_backdoor", estimator="repsim"))
    assert says(at, "of one layer") and "RepSim" in set(at.dataframe[0].value["method"])
    at.selectbox(key="choice:layer").set_value(0.5).run()
    assert sound(at).query_params["layer"] == "0.5"
    methods = list(at.dataframe[0].value["method"].unique())
    assert methods[:3] == ["Grad. norm", "RepSim at 50%", "Random"] and "RepSim" not in methods
    assert not says(at, "for the last layer only")
    support.select(at, "language:heatmap:poison", "cell", {"row": "GradSim", "column": "Answer logit"})
    support.select(at, "language:heatmap:poison", "cell", {"row": "RepSim at 50%", "column": "no behavior"})
    assert sound(at).query_params["estimator"] == "repsim"
    at = sound(support.open("language_models", show="ablation", layer="0.25"))
    assert any(name == "RepSim at 25%" for name in at.dataframe[0].value["method"])


def test_a_table_of_another_model_stands_beside_its_own_numbers(done, published):
    at = sound(support.open("paper", experiment="table-5-2", preset="paper", llm="Gemma-2-9B-it"))
    assert "0.855" in html(at) and "0.872" not in html(at)
    assert says(at, "reproduce table-5-2 --preset paper --model google/gemma-2-9b-it")
    link = next(link for link in at.get("page_link") if link.proto.label.startswith("Start it"))
    assert "other=google" in link.proto.query_string
    runs = sound(support.open("runs", experiment="table-5-2", preset="paper", other="google/gemma-2-9b-it"))
    assert runs.selectbox(key="choice:other").value == "google/gemma-2-9b-it"
    home, model, folder = done
    result = [found for found in Store(home).entries() if found.manifest["kind"] == "conditional_backdoor"][0]
    publish.publish(EXPERIMENTS["table-5-2"], result, "small", folder)
    at = sound(support.open("paper", experiment="table-5-2", preset="small", llm="tiny"))
    assert says(at, "The paper has no numbers for tiny; ours are shown with those of Qwen3-8B")


def test_a_finished_run_of_another_model_is_found(home, monkeypatch):
    experiment, written = EXPERIMENTS["table-5-2"], publish.read_table(
        publish.PAPER / "table_5_2_a12_a13_conditional_backdoor.csv")
    gemma = written[written["model"] == "Gemma-2-9B-it"].drop(columns=["table", "spread"])
    payload = experiment.payload("paper", model="google/gemma-2-9b-it")
    Store(home).write("ab" * 32, {"kind": experiment.study, "payload": payload, "seeds": [0, 1, 2], "device": "a GPU"},
                      {"detection": gemma.assign(ci95=0.0, n_seeds=3, seed_means="")})
    app_published._others_here.cache_clear()
    at = sound(support.open("paper", experiment="table-5-2", preset="paper", llm="Gemma-2-9B-it"))
    assert says(at, "computed on this machine") and says(at, "--model google/gemma-2-9b-it")
    assert not says(at, "have not been computed yet") and html(at).count("0.855") >= 2
    at = sound(support.open("language_models", task="conditional_backdoor"))
    assert says(at, "Gemma-2-9B-it")


def test_language_tables_stand_on_the_paper_page(published):
    at = sound(support.open("paper", experiment="table-5-2"))
    assert "0.872" in html(at)
    assert sound(support.open("paper", experiment="figure-5-2"))
    assert "0.385" in html(sound(support.open("paper", experiment="table-a11")))


def test_choices_of_other_pages_stay_there_and_those_of_this_page_here():
    at = sound(support.open("scorecard", data="digits", model="mlp", seed=3, train=60, queries=10, settle=False))
    at.switch_page("../pages/language_models.py")
    at.query_params.clear()
    at.query_params["show"] = "records"
    at = sound(at.run())
    assert at.selectbox(key="choice:model").value != "mlp" and at.number_input(key="choice:seed").value == 0
    at.number_input(key="choice:seed").set_value(5).run()
    at.switch_page("../pages/scorecard.py")
    at.query_params.clear()
    at = sound(at.run())
    assert at.selectbox(key="choice:model").value == "mlp" and at.number_input(key="choice:seed").value == 3
    at.switch_page("../pages/language_models.py")
    at.query_params.clear()
    assert sound(at.run()).number_input(key="choice:seed").value == 5

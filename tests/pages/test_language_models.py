"""Language models: published results at once, runs as jobs, records with marks, every choice in the address."""

import dataclasses
import re
import shlex
import shutil

import pytest

from app.widgets.jobs import guesses, review_screen
from app.widgets.jobs.desk import desk
from engine.applications.decisions import FINE, WRONG
from engine.applications.language.attribution import Setting
from engine.applications.language.by_query import QueryScoresRequest
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.review import RecordReview
from engine.applications.language.run import AttributionRequest
from engine.applications.language.typed import typed
from engine.cli.language_run import read_run
from engine.data import tasks as data_tasks
from engine.desk import published as app_published
from engine.experiments import EXPERIMENTS, language, language_study, publish
from engine.experiments.language_study import LanguageStudy
from engine.jobs import run_job
from engine.models.causal import stored_trainings
from engine.models.causal.catalogue import EMBEDDED_MODEL, SMALL_MODEL
from engine.store.results import Store
from engine.store.results import home as results_home
from tests.engine import tiny
from tests.engine.conftest import questions
from tests.pages import support
from tests.pages.support import says, sound

pytestmark = pytest.mark.usefixtures("home")
RECIPE = {"epochs": 1, "checkpoints": 1, "batch": 4, "learning_rate": 1e-2, "context": 256, "rank": 2, "scaling": 4}
TASKS = {"response_corruption": {"name": "response_corruption", "seed": 0, "clean": 8, "answer": 4, "rationale": 4,
                                 "validation": 3},
         "conditional_backdoor": {"name": "conditional_backdoor", "seed": 0, "clean": 8, "poison": 4, "benign": 4,
                                  "test": 3}}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(home, model folder, results folder) in which the studies and one run of a page were computed by a tiny model."""
    folder = tmp_path_factory.mktemp("language-page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(folder / "home"))
        patch.setattr("engine.data.scienceqa.load", questions)
        model = tiny.save(folder / "tiny")
        for name in ("figure-5-2", "table-5-2", "table-a15", "table-a14"):
            study = EXPERIMENTS[name].study
            task = TASKS.get(study, TASKS["conditional_backdoor"])
            more = {"removals": [["TracIn", "Answer logit"], ["Oracle", "Harmful poison"]]} if (
                name == "table-a14") else {}
            layers = {} if more else {"layers": language.LAYERS}
            settings = language.settings(str(model), task, RECIPE, 64, **more, **layers)
            result = run_job(study, {"study": study, "preset": "small", "settings": settings, "seeds": [0, 1]})
            publish.publish(EXPERIMENTS[name], result, "small", folder / "results")
        yield folder / "home", str(model), folder / "results"


@pytest.fixture
def published(done, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(done[2]))


@pytest.fixture
def ran(done, monkeypatch):
    """The page's run of the backdoor task, finished."""
    home, model, _ = done
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(home))
    monkeypatch.setattr("engine.data.scienceqa.load", questions)
    monkeypatch.setattr(language_study, "setting_of", lambda name, task, recipe: Setting.parse(
        {"model": name, "task": TASKS.get(task["name"], task), "recipe": RECIPE, "projection": {"dimension": 64}}))
    wanted = LanguageStudy("conditional_backdoor", model, 80, 0)
    run_job(AttributionRequest.name, wanted.request.payload)
    return wanted


def html(at):
    return " ".join(element.proto.body for element in at.get("html"))


def test_without_results_the_page_says_how_to_get_them():
    at = sound(support.open("language_models"))
    assert says(at, "No result of this study is here yet")
    assert says(at, "python -m engine reproduce figure-5-2 --preset small")
    for view in ("ablation", "removal"):
        assert says(sound(support.open("language_models", show=view)), "No result of this study is here yet")


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
    assert says(at, "half width of its 95% interval") == says(at, "say next to nothing") == (half is not None)


def test_a_clicked_cell_chooses_estimator_and_behavior(published):
    at = sound(support.open("language_models"))
    support.select(at, "language:heatmap:rationale", "cell", {"row": "LESS", "column": "Explanation loss"})
    sound(at)
    assert at.query_params["estimator"] == "less" and at.query_params["behavior"] == "explanation_loss"
    assert says(at, "the log-likelihood of the explanation") and "scaled to length one" in html(at)
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


def test_records_show_text_marks_and_ranks(ran):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                            estimator="tracin"))
    assert says(at, "Between two seeds of the projection, rankings agree by τ =")
    assert says(at, "Records that teach it") and at.dataframe[0].value["rank"].tolist() == list(range(1, 17))
    columns = list(at.dataframe[0].value)
    assert "rank · response loss" in columns and "rank · answer logit" not in columns
    assert says(at, "Chance is the fraction of flagged records") and says(at, "Poisoned records")
    page = html(at)
    assert '<mark class="context"' in page and "token supports the behavior" in page
    poisoned = at.dataframe[0].value
    row = int(poisoned[poisoned["known as"] == "poison"]["record"].iloc[0])
    at.selectbox(key="choice:record").set_value(row).run()
    assert '<mark class="trigger"' in html(at) and 'class="changed"' in html(at)
    assert at.query_params["record"] == str(row)


@pytest.fixture
def decisions(ran):
    """The review of the run's records, with nothing decided yet."""
    review = RecordReview(data_tasks.build(ran.setting.task))
    review.path.unlink(missing_ok=True)
    return review


@pytest.fixture
def screen(monkeypatch):
    """What the browser was sent last for the review desk."""
    sent = {}
    monkeypatch.setattr(review_screen, "_screen", lambda data, **_: sent.update(data, pages={}))
    monkeypatch.setattr(review_screen, "_pages", lambda data, **_: sent["pages"].update(data["pages"]))
    return sent


def test_records_are_decided_at_the_review_desk(ran, decisions, screen):
    address = {"show": "records", "task": "conditional_backdoor", "model": ran.model, "estimator": "tracin"}

    def after(*events, focus):
        queue = {"desk": screen["desk"], "reviewer": "me", "batch": f"b{len(events)}", "focus": focus,
                 "events": list(events)}
        return sound(support.open("language_models", state={"review-desk": {"queue": queue}}, **address))

    at = sound(support.open("language_models", **address))
    first, second, third = (int(row) for row in at.dataframe[0].value["record"][:3])
    assert screen["rows"][:3] == [first, second, third] and screen["focus"] == first
    assert screen["pages"][str(second)]["text"] == decisions.records[second].response
    assert {"Response", "Prompt"} <= set(re.findall(r"<h5>(\w+)</h5>", screen["pages"][str(second)]["looks"]))
    sent = [{"id": "a", "row": first, "verdict": WRONG, "label": None, "seen": ""},
            {"id": "b", "row": second, "verdict": FINE, "label": None, "seen": ""}]
    at = after(*sent, focus=third)
    assert at.dataframe[0].value["decision"].str.strip().tolist()[:3] == ["take out", "keep", ""]
    assert at.query_params["record"] == str(third) and screen["shown"] == third
    assert "Decisions (2) and cleaned records" in [one.label for one in at.expander]
    after({"id": "c", "undo": "b"}, *sent, focus=second)
    assert set(decisions.decisions()) == {first} and len(decisions.cleaned().splitlines()) == 15
    record = decisions.records[second]
    after({"id": "d", "row": second, "verdict": WRONG, "label": None, "text": f"{record.response} Or so.", "seen": ""},
          focus=third)
    assert decisions.decisions()[second].text == f"{record.response} Or so." == screen["decisions"][str(second)]["text"]
    turn = screen["turn"]
    at.selectbox(key="choice:record").set_value(first).run()
    assert screen["turn"] == turn + 1 and screen["focus"] == first, "what is opened is put on the screen"


def test_the_filter_keeps_what_one_behavior_finds_and_another_misses(ran):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                            filter="found", estimator="gradsim"))
    if not says(at, "No record is in the top tenth"):
        shown = at.dataframe[0].value
        assert (shown["rank"] <= 2).all() and (shown["rank · response loss"] > 2).all()


def test_a_damaged_run_is_set_aside_with_a_sentence(ran, tmp_path):
    folder = Store(results_home()).folder(ran.digest)
    whole = shutil.copytree(folder, tmp_path / "whole")
    (folder / "records.parquet").write_bytes(b"no table")
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model))
    assert any("cannot be trusted" in error.value for error in at.error)
    assert says(sound(at.run()), "This has not been computed yet")
    shutil.copytree(whole, folder)  # for the tests that follow


def test_a_typed_query_is_part_of_the_run(ran):
    wanted = LanguageStudy("conditional_backdoor", ran.model, 80, 0, typed=typed(
        "Which is it?\nA: one\nB: two", "It is two. The answer is B.", "B", "It is two."))
    assert wanted.digest != ran.digest
    at = sound(support.open("language_models", show="records", about="mine", answer="Q", model=ran.model))
    assert any("is not in the response" in error.value for error in at.error)


def test_the_recipe_of_a_run_is_chosen_and_its_time_follows(home, monkeypatch):
    monkeypatch.setattr("engine.jobs.traces.crowd_now", lambda: 1.0)
    at = sound(support.open("language_models", show="records", model=EMBEDDED_MODEL, records=80))
    usual = LanguageStudy("response_corruption", EMBEDDED_MODEL, 80, 0)
    box = next(one for one in at.number_input if one.label == "Epochs")
    assert box.value == usual.usual_recipe.epochs and says(at, guesses.expected(usual.request))
    box.set_value(40).run()
    longer = dataclasses.replace(usual, recipe=usual.usual_recipe.model_copy(update={"epochs": 40}))
    assert longer.digest != usual.digest and longer.request.seconds > 2 * usual.request.seconds
    assert says(sound(at), "trained for 40 epochs by AdamW") and says(at, guesses.expected(longer.request))
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


def test_the_command_makes_the_same_run(ran):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                            estimator="repsim", layer="0.5"))
    [command] = [code.value for code in at.code if "attribute" in code.value]
    run = shlex.split(command)[shlex.split(command).index("--run") + 1]
    assert read_run(run).payload == ran.request.payload
    assert says(at, "sort_values('repsim|none|0.5', ascending=False)")
    [program] = [code.value for code in at.code if "run_job" in code.value]
    names = {}
    exec(program, names)
    assert list(names["records"]["record"]) == list(at.dataframe[0].value["record"])


def test_nonsense_in_the_address_is_said_and_ignored(published):
    at = sound(support.open("language_models", show="x", estimator="magic", behavior="\0", measure="9"))
    assert len([warning for warning in at.warning if "which was ignored" in warning.value]) >= 3


def test_the_layer_of_repsim_is_chosen_and_followed(published):
    at = sound(support.open("language_models", task="conditional_backdoor", estimator="repsim"))
    assert says(at, "at one layer") and "RepSim" in set(at.dataframe[0].value["method"])
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


def test_records_follow_the_layer(ran):
    ranks = [list(sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                                     estimator="repsim", layer=layer)).dataframe[0].value["record"])
             for layer in ("0.5", "1.0")]
    table = desk().known(ran.request).tables["records"]
    for layer, rank in zip(("0.5", "1"), ranks, strict=True):
        expected = table.sort_values(f"repsim|none|{layer}", ascending=False, kind="stable")["record"]
        assert rank == list(expected)


def test_tokens_are_shaded_for_the_chosen_estimator(ran):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                            estimator="less"))
    assert says(at, "record's LESS score") and says(at, "momentum, which belongs to no token")
    tokens = desk().known(ran.request).tables["tokens"]
    there = set(tokens[(tokens.estimator == "trak") & (tokens.behavior == "answer_logit")]["record"])
    at.selectbox(key="choice:estimator").set_value("trak").run()
    at.selectbox(key="choice:record").set_value(min(there)).run()
    assert says(sound(at), "record's TRAK score") and says(at, "which is the score")
    between = min(set(range(16)) - there)
    at.selectbox(key="choice:record").set_value(between).run()
    assert says(sound(at), "for others after their score is decomposed")
    at.button(key=f"language:shade:{between}").click().run()
    [job] = [job for job in desk().jobs.queue.jobs("queued") if job.kind == TokensRequest.name]
    assert f"Score of record {between}" in job.title
    run_job(job.kind, job.payload)
    assert says(sound(at.run()), "record's TRAK score") and "token supports the behavior" in html(at)
    desk().jobs.queue.delete(job.id)
    at.selectbox(key="choice:estimator").set_value("repsim").run()
    assert says(sound(at), "reads one position") and "token supports" not in html(at)


def test_trainings_are_listed_and_deleted_after_a_second_click(ran):
    found = stored_trainings.trainings()
    at = sound(support.open("language_models"))
    assert says(at, "Checkpoints and cached gradients")
    at.button(key=f"language:kept:{found[0].digest}").click().run()
    assert sound(at) and len(stored_trainings.trainings()) == len(found) - 1


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
    assert not says(at, "are not here yet") and html(at).count("0.855") >= 2
    at = sound(support.open("language_models", task="conditional_backdoor"))
    assert says(at, "Gemma-2-9B-it")


def test_language_tables_stand_on_the_paper_page(published):
    at = sound(support.open("paper", experiment="table-5-2"))
    assert "0.872" in html(at)
    assert sound(support.open("paper", experiment="figure-5-2"))
    assert "0.385" in html(sound(support.open("paper", experiment="table-a11")))


def test_scores_of_one_query_and_a_score_taken_apart(ran):
    shown = {"show": "records", "task": "conditional_backdoor", "model": ran.model, "estimator": "gradsim",
             "behavior": "response_loss"}
    at = sound(support.open("language_models", **shown))
    average = at.dataframe[0].value.set_index("record")["score"]
    at.selectbox(key="choice:asked").set_value("1").run()
    at.button(key="language:each").click().run()
    [job] = [job for job in desk().jobs.queue.jobs("queued") if job.kind == QueryScoresRequest.name]
    each = run_job(job.kind, job.payload).table("by_query")
    at = sound(support.open("language_models", asked="1", **shown))
    assert not says(at, "averaged over") and at.query_params["asked"] in ("1", ["1"])
    own = at.dataframe[0].value.set_index("record")["score"]
    of_one = each[each["query"] == 1].set_index("record")["gradsim|response_loss"]
    assert own.sort_index().tolist() == pytest.approx(of_one.sort_index().tolist())
    assert average.sort_index().tolist() == pytest.approx(
        each.groupby("record")["gradsim|response_loss"].mean().tolist(), rel=1e-3, abs=1e-9)
    row = int(at.selectbox(key="choice:record").value)
    at.button(key=f"language:shade:{row}").click().run()
    [job] = [job for job in desk().jobs.queue.jobs("queued") if job.kind == TokensRequest.name]
    assert job.payload["query"] == 1
    run_job(job.kind, job.payload)
    at = sound(at.run())
    assert html(at).count('<div class="wf-record">') == 2, "the record and the query"
    [layers] = [frame.value for frame in at.dataframe if list(frame.value) == ["layer", "adds"]]
    assert layers["adds"].sum() == pytest.approx(own[row], rel=2e-3)
    for job in desk().jobs.queue.jobs("queued"):
        desk().jobs.queue.delete(job.id)


def test_layers_and_tokens_that_are_scored_make_a_run_of_their_own(ran):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model))
    at.text_input(key="choice:modules").set_value("model.layers.1.*, *.q_proj").run()
    at.selectbox(key="choice:tokens").set_value("explanation").run()
    assert says(sound(at), "This has not been computed yet")
    wanted = dataclasses.replace(ran, modules=("model.layers.1.*", "*.q_proj"), tokens="explanation")
    assert wanted.digest != ran.digest and read_run(shlex.split(wanted.command)[5]).payload == wanted.request.payload
    run_job(AttributionRequest.name, wanted.request.payload)
    at = sound(at.run())
    assert says(at, "by the loss of the explanation") and says(at, "0 records have no token that is scored")


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

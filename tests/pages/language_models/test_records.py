"""The records of a run: marks and ranks, the review desk, layers, tokens, and what leaves as files."""

import dataclasses
import re
import shlex
import shutil

import pytest

from app.widgets.jobs.desk import desk
from engine.applications.decisions import FINE, WRONG
from engine.applications.language.by_query import QueryScoresRequest
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.run import AttributionRequest
from engine.applications.language.typed import typed
from engine.cli.language_run import read_run
from engine.experiments.language_study import LanguageStudy
from engine.jobs import run_job
from engine.models.causal import stored_trainings
from engine.store.results import Store
from engine.store.results import home as results_home
from tests.pages import support
from tests.pages.language_models.small import html
from tests.pages.support import says, sound

pytestmark = pytest.mark.usefixtures("home")


def test_records_show_text_marks_and_ranks(ran, screen):
    at = sound(support.open("language_models", show="records", task="conditional_backdoor", model=ran.model,
                            estimator="tracin"))
    assert says(at, "Rankings of two seeds of the projection agree with τ =")
    assert says(at, "Records that teach it") and at.dataframe[0].value["rank"].tolist() == list(range(1, 17))
    columns = list(at.dataframe[0].value)
    assert "rank · response loss" in columns and "rank · answer logit" not in columns
    assert says(at, "Chance is the fraction of flagged records") and says(at, "Poisoned records")
    page = html(at)
    assert '<mark class="context"' in page and "token supports the behavior" in page
    poisoned = at.dataframe[0].value
    row = int(poisoned[poisoned["known as"] == "poison"]["record"].iloc[0])
    at.selectbox(key="choice:record").set_value(row).run()
    shown = screen["pages"][str(row)]["looks"]
    assert '<mark class="trigger"' in shown and 'class="changed"' in shown
    assert '<div class="wf-record">' not in html(at), "without shades it stands on the desk alone"
    assert at.query_params["record"] == str(row)


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
    assert says(at, "record's LESS score") and says(at, "momentum, which cannot be assigned to a token")
    tokens = desk().known(ran.request).tables["tokens"]
    there = set(tokens[(tokens.estimator == "trak") & (tokens.behavior == "answer_logit")]["record"])
    at.selectbox(key="choice:estimator").set_value("trak").run()
    at.selectbox(key="choice:record").set_value(min(there)).run()
    assert says(sound(at), "record's TRAK score") and says(at, "which is the score")
    between = min(set(range(16)) - there)
    at.selectbox(key="choice:record").set_value(between).run()
    assert says(sound(at), "for other records, after their score is decomposed")
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

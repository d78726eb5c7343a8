"""Runs: every state of a job, what can be done with it, and a finished run opened in place."""

import pytest

from app.runs import panel
from app.widgets.jobs.desk import desk
from engine.experiments import EXPERIMENTS
from engine.jobs import Progress, Workers, run_job
from engine.jobs.cluster import Node, Running, Sighting
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from engine.store.results import Store
from tests.app.widgets.results.test_published import stored
from tests.engine.requests_for_tests import scores_payload
from tests.pages import support
from tests.pages.support import says, sound

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("home")]
SOURCE = ProblemSource(n_train=60, n_queries=5, n_test=20)
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def submit(candidates=4, title="Two specifications"):
    return desk().jobs.queue.submit(ScoresRequest.name, scores_payload(SOURCE, [STEP, REMOVE], candidates), title)


@pytest.fixture
def finished():
    job = submit()
    run_job(job.kind, job.payload)
    return submit()


def button(at, label):
    return next(button for button in at.button if button.label == label)


def labels(at):
    return [button.label for button in at.button]


def test_an_empty_list_says_what_to_do():
    at = sound(support.open("runs"))
    assert says(at, "Nothing has run yet") and "Start" in labels(at) and says(at, "seeds; it takes ")
    assert says(at, "; no such run has finished on this machine yet")


def test_a_run_of_one_seed_is_of_one_seed():
    assert EXPERIMENTS["table-a14"].presets["desk"].seeds == 1
    at = sound(support.open("runs", experiment="table-a14", preset="desk", start="open"))
    assert says(at, " One seed; it ") and not says(at, "1 seed")


def test_a_reproduction_is_started_once():
    at = sound(support.open("runs", preset="small"))
    button(at, "Start").click().run()
    jobs = desk().jobs.queue.jobs()
    assert [job.kind for job in jobs] == [EXPERIMENTS["table-a6"].study] and jobs[0].payload["preset"] == "small"
    assert says(sound(at), "This run has started") and "Start" not in labels(at)


def test_a_waiting_run_is_cancelled_and_resumed():
    job = submit()
    at = sound(support.open("runs"))
    button(at, "Cancel").click().run()
    assert desk().jobs.queue.get(job.id).state == "cancelled"
    button(sound(at), "Resume").click().run()
    assert desk().jobs.queue.get(job.id).state == "queued"


def test_a_running_job_tells_how_far_it_is():
    job = submit()
    desk().jobs.queue.claim("w")
    desk().jobs.queue.report(job.id, "w", Progress(1, 2, 0.5, 300.0, "scoring"))
    at = sound(support.open("runs"))
    assert any("1 of 2 parts done · about 5 min left" in bar.proto.text for bar in at.get("progress"))
    assert "Delete for good" not in labels(at)


def test_a_failed_run_shows_its_sentence_and_is_deleted_on_the_second_click():
    job = submit()
    desk().jobs.queue.claim("w")
    desk().jobs.queue.fail(job.id, "w", "The disk is full; free some space.")
    at = sound(support.open("runs"))
    assert any("The disk is full" in error.value for error in at.error)
    button(at, "Delete").click().run()
    button(sound(at), "Delete for good").click().run()
    assert desk().jobs.queue.get(job.id) is None and says(sound(at), "Nothing has run yet")


def test_states_can_be_filtered_by_the_address(finished):
    submit(candidates=5, title="Another one")
    assert not says(support.open("runs", show="active"), finished.title)
    assert says(support.open("runs", show="active"), "Another one")
    assert says(support.open("runs", show="failed"), "No run is in this state")


def test_of_finished_runs_the_last_stay_and_the_library_has_all(monkeypatch, finished):
    monkeypatch.setattr(panel, "JUST", 0)
    at = sound(support.open("runs"))
    assert not says(at, finished.title) and says(at, "1 finished")
    assert any("Library" in link.proto.label for link in at.get("page_link"))


def test_trouble_with_workers_is_said():
    submit()
    Workers().fail("w", "The worker cannot load the job kinds of `broken`.")
    assert says(sound(support.open("runs")), "cannot load the job kinds")


def test_a_finished_run_is_opened_in_place(finished):
    at = sound(support.open("runs"))
    button(at, "Open").click().run()
    assert at.query_params["run"] == finished.id and not sound(at).exception
    assert len(at.dataframe) == 1 and list(at.dataframe[0].value["exact"]) == [True, True]
    button(at, "All runs").click().run()
    assert "run" not in at.query_params and says(sound(at), finished.title)


def test_a_reproduction_is_opened_with_its_tables_and_manifest():
    stored("small")
    experiment = EXPERIMENTS["table-a6"]
    job = desk().jobs.queue.submit(experiment.study, experiment.payload("small"), "Table A-6")
    at = sound(support.open("runs", run=job.id))
    assert [len(frame.value) for frame in at.dataframe] == [30, 33]
    assert says(at, "python -m engine reproduce table-a6 --preset small")
    assert any("at most 1e−13" in text for text in support.texts(at))


def test_a_run_whose_result_is_gone_can_be_computed_again(finished):
    Store().delete(finished.id)
    at = sound(support.open("runs"))
    button(at, "Compute again").click().run()
    assert desk().jobs.queue.get(finished.id).state == "queued"


def test_a_damaged_result_is_said_and_set_aside(finished):
    (Store().folder(finished.id) / "arrays.safetensors").write_bytes(b"cut")
    at = sound(support.open("runs", run=finished.id))
    assert any("cannot be trusted" in error.value for error in at.error)


@pytest.mark.parametrize("run", ["0" * 64, "nonsense", "../..", "\0"])
def test_a_run_that_is_not_there_is_said(run):
    at = sound(support.open("runs", run=run))
    assert any("this run does not exist here" in warning.value for warning in at.warning)
    assert says(at, "Nothing has run yet")


def test_a_damaged_queue_is_a_sentence(home):
    home.mkdir(parents=True)
    (home / "queue.sqlite").write_bytes(b"this is not a database at all" * 100)
    at = sound(support.open("runs"))
    assert any("is damaged" in error.value for error in at.error)


def test_the_nodes_of_a_cluster_and_what_they_compute_are_shown():
    job, gigabyte = submit(), 10**9
    assert not sound(support.open("runs")).dataframe
    Sighting(desk().jobs.root).write([
        Node("first", 8.0, 1.0, 64 * gigabyte, (Running(job.id, "0/0", 0.2), Running(job.id, "0/1", 0.4))),
        Node("second", 4.0, 0.0, 16 * gigabyte, (Running("f" * 64, "0", 0.0),)), Node("third", 4.0, 0.0, gigabyte)])
    at = sound(support.open("runs"))
    assert says(at, "Cluster: 3 nodes, 2 busy.")
    assert list(at.dataframe[0].value["computes"]) == [
        "Two specifications: 2 parts, 30% done", "another user’s run: 1 part, 0% done", "nothing"]
    assert list(at.dataframe[0].value["memory"]) == ["64 GB", "16 GB", "1.0 GB"]


def test_all_runs_are_cancelled_at_once():
    jobs = [submit(), desk().jobs.submit(ScoresRequest.name, scores_payload(SOURCE, [STEP], 3), "By a page", True)]
    at = sound(support.open("runs"))
    assert says(at, "requested by a page, at lower priority than your own runs") and says(at, "requested by you")
    button(at, "Cancel all 2").click().run()
    assert {desk().jobs.queue.get(job.id).state for job in jobs} == {"cancelled"}
    assert not any(label.startswith("Cancel") for label in labels(sound(at)))


def test_seeds_are_one_card_with_their_parts_inside():
    jobs = [submit(candidates) for candidates in (4, 5)]
    desk().jobs.queue.together("piece", "Two specifications, 2 seeds", {job.id: f"seed {number}" for number, job
                                                                       in enumerate(jobs)})
    at = sound(support.open("runs"))
    assert says(at, "**Two specifications, 2 seeds**") and says(at, "**seed 1** · Two specifications")
    assert [bar.proto.text for bar in at.get("progress")][0].startswith("0 of 2 parts done")
    button(at, "Cancel this part").click().run()
    assert sorted(job.state for job in desk().jobs.queue.jobs()) == ["cancelled", "queued"]
    assert "Resume" in labels(sound(at))


def test_seeds_of_which_one_was_stopped_are_not_finished(finished):
    queue, stopped = desk().jobs.queue, submit(5)
    queue.together("piece", "Two specifications, 2 seeds", {finished.id: "seed 0", stopped.id: "seed 1"})
    queue.request_cancel(stopped.id)
    at = sound(support.open("runs"))
    assert says(at, "Cancelled]") and not says(at, "Finished]")


def test_predictions_stand_beside_what_runs_took():
    for candidates, seconds in ((4, 3.0), (5, 100.0)):
        support.finished_in(seconds, ScoresRequest.name, scores_payload(SOURCE, [STEP], candidates))
    database = desk().jobs.queue.database
    with database.writing() as connection:
        connection.execute("UPDATE jobs SET predicted = 4, predicted_low = 2, predicted_high = 8")
    at = sound(support.open("runs"))
    assert says(at, "Of 2 finished runs of a second or more, 1 took between half and twice the predicted time, and 1 "
                    "lay in the predicted 90% interval.")
    table = next(one.value for one in at.dataframe if "measured (s)" in one.value)
    assert sorted(table["measured / predicted"]) == [0.75, 25.0]
    assert says(at, "took 3 s · predicted 2 s to 8 s")

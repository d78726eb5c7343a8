"""What trainings keep: listed with sizes, removed with their gradients, and never while something uses them."""

import gc
import json
import shutil

import huggingface_hub.constants
import pytest

from engine.applications.language import trainings
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.run import AttributionRequest
from engine.basics import locks
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.cli.language_run import read_run
from engine.data import scienceqa
from engine.experiments import language, response_corruption
from engine.jobs import JobQueue
from engine.models.causal import stored_trainings
from tests.engine.conftest import questions

TASK = {"name": "response_corruption", "seed": 0, "clean": 4, "answer": 2, "rationale": 2, "validation": 2}
RECIPE = {"epochs": 1, "checkpoints": 1, "batch": 4, "context": 200, "rank": 2}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def trained(model_folder, tmp_path_factory):
    """(home folder, setting): seeds 0 and 1, trained and cached."""
    folder = tmp_path_factory.mktemp("trained") / "home"
    setting = Setting.parse({"model": str(model_folder), "task": TASK, "recipe": RECIPE,
                             "projection": {"dimension": 16}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(folder))
        patch.setattr(scienceqa, "load", questions)
        for seed in (0, 1):
            found = Attribution(setting, seed)
            found.train()
            found.record_cache(found.points[0])
            found.states()
            del found
        gc.collect()
    return folder, setting


@pytest.fixture
def made(home, trained):
    """The setting of both trainings, which lie in the home of this test."""
    folder, setting = trained
    shutil.copytree(folder, home)
    return setting


def test_sizes_are_those_on_disk_and_deleting_frees_them(home, made):
    found = stored_trainings.trainings()
    on_disk = sum(path.stat().st_size for path in (home / "language").rglob("*")
                  if path.is_file() and path.parent.name != "locks")
    assert len(found) == 2 and sum(training.size for training in found) == on_disk
    assert all(training.checkpoints > training.gradients > 0 for training in found)
    assert {trainings.title(training) for training in found} == {
        f"Response corruption · tiny · seed {seed} · 8 records" for seed in (0, 1)}
    one, other = found
    assert trainings.delete(one.digest) == one.size and stored_trainings.trainings() == [other]
    assert not list((home / "tmp").iterdir())
    with pytest.raises(InvalidInput, match="no training"):
        stored_trainings.delete(one.digest)


def test_what_a_process_uses_stays(made):
    used = Attribution(made, 0)
    used.train()
    digest = used.digest[:stored_trainings.LENGTH]
    with pytest.raises(InvalidInput, match="is used by a run"):
        stored_trainings.delete(digest)
    del used
    gc.collect()
    assert stored_trainings.delete(digest) > 0


def test_who_waited_for_a_removal_holds_the_lock_that_others_find(home):
    digest = "a" * stored_trainings.LENGTH
    stored_trainings.describe(digest, {})
    stored_trainings.Hold(digest)
    with (home / "language" / "locks" / digest).open("ab") as waiting:  # opened before the removal, locked after it
        stored_trainings.delete(digest)
        locks.share(waiting)
        stored_trainings.describe(digest, {})
        with pytest.raises(InvalidInput, match="is used by a run"):
            stored_trainings.delete(digest)
    assert stored_trainings.delete(digest) > 0


@pytest.mark.parametrize("state", ["queued", "running"])
def test_what_a_job_of_the_queue_needs_stays(home, made, state):
    queue = JobQueue(home)
    settings = {"numerics": 1, **made.model_dump(mode="json")}
    job = queue.submit(response_corruption.STUDY.name, {"study": "x", "preset": "small", "settings": settings,
                                                        "seeds": [1]})
    if state == "running":
        queue.claim("someone")
    needed = Attribution(made, 1).digest[:stored_trainings.LENGTH]
    assert trainings.busy() == {needed}
    with pytest.raises(InvalidInput, match="is used by a run"):
        trainings.delete(needed)
    [free] = [training.digest for training in stored_trainings.trainings() if training.digest != needed]
    assert trainings.delete(free) > 0
    queue.request_cancel(job.id) if state == "queued" else queue.stop(job.id, "someone")
    assert trainings.busy() == set() and trainings.delete(needed) > 0


def test_where_it_cannot_be_told_everything_counts_as_used(home, made):
    settings = {**made.model_dump(mode="json"), "task": {"name": "own", "train": str(home / "gone.jsonl")}}
    JobQueue(home).submit(AttributionRequest.name, {"settings": settings, "seed": 0, "asked": []})
    assert trainings.busy() == {training.digest for training in stored_trainings.trainings()}


def test_jobs_of_other_kinds_use_none(home, made):
    JobQueue(home).submit("scores", {"settings": {"model": "cnn"}, "seeds": [0]})
    JobQueue(home).submit("scores", {"source": {}})
    assert trainings.busy() == set()


def test_the_command_lists_and_removes(made, capsys):
    digest = stored_trainings.trainings()[0].digest
    assert main(["caches"]) == 0
    said = capsys.readouterr().out
    assert digest in said and "Response corruption · tiny · seed 1 · 8 records" in said and "in all" in said
    assert main(["caches", "--delete", "abc"]) == 2 and "too short" in capsys.readouterr().err
    assert main(["caches", "--delete", "0" * 32]) == 2 and "names no training" in capsys.readouterr().err
    assert main(["caches", "--delete", digest[:10]]) == 0 and "freed" in capsys.readouterr().out
    assert main(["caches", "--delete", "all"]) == 0
    assert "No training of a language model is stored" in capsys.readouterr().out


def test_a_removed_training_is_made_again(home, made):
    stored_trainings.delete(Attribution(made, 0).digest[:stored_trainings.LENGTH])
    again = Attribution(made, 0)
    again.train()
    assert len(again.points) == 1 and again.record_cache(again.points[0]).sealed


@pytest.mark.slow
def test_a_run_of_the_command_line(made, tmp_path, capsys):
    asked = {**made.model_dump(mode="json"), "seed": 1, "asked": [
        {"prompt": "Which?\nA: a\nB: b", "response": "It is a. The answer is A.", "spans": {"answer": [23, 24]},
         "choices": ["A", "B"]}]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(asked))
    assert main(["attribute", "--run", str(path), "--out", str(tmp_path / "records.csv")]) == 0
    said, table = capsys.readouterr().out, (tmp_path / "records.csv").read_text().splitlines()
    assert "Written" in said and "tracin|answer_margin" in table[0] and "repsim|none|0.5" in table[0]
    run = read_run(json.dumps(asked))
    setting, seed, records = run.setting, run.seed, run.explained
    assert (setting, seed) == (made, 1) and records[0].answer == "A" and language.LAYERS


@pytest.mark.parametrize(("given", "said"), [
    ("{", "not JSON"), ("absent.json", "cannot be read"), ("x" * 300, "cannot be read"), ('{"a": 1, "a": 2}', "twice"),
    ('{"a":' * 500 + "1" + "}" * 500, "nested"),
    (json.dumps({"model": "x", "task": {}, "seed": 2**64}), "`seed` is 18446"),
    ('{"model": "x", "task": {}, "seed": -1}', "`seed` is -1"),
    ('{"model": "x", "task": {}, "asked": 3}', "`asked` is not a list"), ('{"task": {}}', "`model` is missing"),
    ('{"model": "x", "task": {"name": "magic"}}', "magic"),
    ('{"model": "x", "task": {"name": "own", "train": "absent.jsonl"}}', "cannot be read"),
    ('{"model": "absent-model", "task": {"name": "own", "train": [{"prompt": "a", "response": "b"}, '
     '{"prompt": "a", "response": "b"}], "held": 1}}', "WHICHFLUENCE_MODELS")])
def test_bad_runs(home, tmp_path, capsys, monkeypatch, given, said):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)  # the variable is read at its import
    assert main(["attribute", "--run", given, "--out", str(tmp_path / "x.csv")]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "x.csv").exists()

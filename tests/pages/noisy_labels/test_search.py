"""Noisy labels: asking, measuring, own data, and training again."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from app.noisy_labels import data as noisy_runs
from app.widgets.jobs.desk import desk
from engine import data
from engine.applications.decisions import WRONG
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.pairs import CONSENSUS
from engine.applications.noisy_labels.retraining import WhatIfRequest
from engine.applications.noisy_labels.review import Review
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.applications.noisy_labels.trial import TrialRequest
from engine.desk import noisy_labels as searches
from engine.jobs import run_job
from tests.engine.requests_for_tests import suspicion_payload
from tests.pages.noisy_labels.small import HEATMAP, SMALL, address, button, chosen, noisy_flagged
from tests.pages.support import finished_in, open, says, select, sound, texts

pytestmark = pytest.mark.core


def test_it_asks_before_it_computes_and_queues_the_first_list_and_the_run(empty):
    at = sound(open("noisy_labels", **SMALL))
    assert says(at, "Search 200 labels of Handwritten digits") and says(at, "40 of them corrupted")
    assert [slider.label for slider in at.select_slider] == ["Corrupted labels"]
    assert says(at, "python -m engine noisy-labels --source")
    assert says(at, "; no such run has finished on this machine yet.")
    button(at, "find").click().run()
    jobs = desk().jobs.queue.jobs()
    payloads = {job.kind: job.payload for job in jobs}
    assert payloads == {HeldOutRequest.name: HeldOutRequest(source=chosen()).payload,
                        SuspicionRequest.name: suspicion_payload(chosen())}
    assert all(any(one.key == f"cancel:{job.id}" for one in sound(at).button) for job in jobs)


def test_the_first_suspects_stand_while_the_methods_are_computed(empty, home):
    at = sound(open("noisy_labels", **SMALL))
    button(at, "find").click().run()
    first = HeldOutRequest(source=chosen())
    run_job(first.name, first.payload, home)
    at = sound(open("noisy_labels", **SMALL))
    assert says(at, "Confident learning counts") and says(at, "**The first 200 suspects**")
    table = next(one.value for one in at.dataframe if "p(label)" in one.value)
    assert len(table) == 200 and table["p(label)"].is_monotonic_increasing


def test_the_time_is_judged_by_what_this_machine_has_finished(empty):
    before = noisy_runs.search_time(chosen())
    for _ in range(3):  # of one search, so that the last one counts
        finished_in(18 * 60, SuspicionRequest.name, suspicion_payload(chosen()))
    after = noisy_runs.search_time(chosen())
    assert before.endswith("; no such run has finished on this machine yet") and before != after
    assert after.endswith(" min, estimated from one such run on this machine")


def test_a_regression_takes_no_epochs(empty):
    """Its time follows its examples, whatever the recipe says."""
    source = chosen().model_copy(update={"model": "logistic"})
    longer = source.model_copy(update={"recipe": source.recipe.model_copy(update={"epochs": 1_000})})
    network = longer.model_copy(update={"model": "mlp"})
    assert SuspicionRequest(source=source).seconds == SuspicionRequest(source=longer).seconds
    assert SuspicionRequest(source=network).seconds > 10 * SuspicionRequest(source=longer).seconds


def test_the_default_run_is_that_of_the_command_it_shows(empty):
    at = sound(open("noisy_labels"))
    line = next(text for text in texts(at) if "noisy-labels --source" in text)
    parsed = NoisySource.model_validate_json(line.split("'")[1])
    assert (parsed.dataset, parsed.noise, parsed.model) == ("fashion_small", 0.2, "cnn")


def test_detection_shows_metrics_table_and_agreement(finished):
    at = sound(open("noisy_labels", **SMALL))
    labels = [metric.label for metric in at.metric]
    assert labels[:5] == ["AUPRC", "AUROC", "P@1%", "P@5%", "P@10%"] and "Kendall tau" in labels
    table = next(text for text in texts(at) if 'aria-label="AUPRC by method' in text)
    assert table.count("◆") == 3 and table.count("★") >= 1 and "<u>" in table
    assert says(at, "Agreement of the rankings") and says(at, "40 of 200 labels are wrong")


def test_another_pair_comes_from_the_address(finished):
    at = sound(open("noisy_labels", by="LiSSA · hard margin", metric="AUROC", **SMALL))
    assert says(at, "as the optimum starts to move? A label is suspicious") and says(at, "hard margin</span>")
    at = sound(open("noisy_labels", by="nonsense", **SMALL))
    assert says(at, "which was ignored")


def test_without_known_flags_it_says_why_metrics_are_missing(empty):
    source = chosen(noise=0.0)
    run_job(SuspicionRequest.name, suspicion_payload(source), empty)
    at = sound(open("noisy_labels", noise=0.0, **SMALL))
    assert says(at, "It is unknown which labels of these data are wrong") and not at.metric
    assert says(at, "labels flagged by")
    assert not any("AUPRC" in text for text in texts(at))
    assert any(one.key == "try" for one in at.button) and not says(at, "Recommended: ")
    tried = TrialRequest(source=source)
    best = TrialRequest.loaded(run_job(tried.name, tried.payload, empty)).best
    at = sound(open("noisy_labels", noise=0.0, view="agreement", **SMALL))
    assert says(at, "Agreement of the rankings")
    assert says(at, f"Recommended: **{best.title}**: of 10 labels flipped for the trial")


def test_a_clicked_cell_opens_its_pair(finished):
    at = sound(open("noisy_labels", by="TracIn · trusted loss", **SMALL))
    names = [pair.title for pair in searches.scored(desk(), finished.source).suspicion]
    gradsim, tracin = (names.index(f"{name} · trusted loss") for name in ("GradSim", "TracIn"))
    at = sound(select(at, HEATMAP, "cell", {"row": tracin, "column": gradsim}))
    assert address(at, "rankings") == [f"{gradsim + 1}-{tracin + 1}"]
    assert says(at, "Both: the training process differs, and both answers are approximate")
    assert says(at, 'class="wf-mark T"') and says(at, "so these numbers have no interval")
    assert says(at, "flagged by GradSim · trusted loss, not by TracIn · trusted loss") or says(at, "flags nothing that")
    assert address(at, "by") == ["TracIn · trusted loss"]
    at = sound(select(at, HEATMAP, "cell", {"row": gradsim, "column": gradsim}))
    assert address(at, "by") == ["GradSim · trusted loss"]
    assert address(at, "rankings") == [f"{gradsim + 1}-{tracin + 1}"]


def test_the_boxes_and_the_address_open_a_pair(finished):
    at = sound(open("noisy_labels", rankings="1-2", **SMALL))
    assert says(at, "No question to compare: Random implies no specification")
    assert "Sign agreement" not in [metric.label for metric in at.metric]
    at = sound(at.selectbox(key="labels:first").set_value(4).run())
    assert address(at, "rankings") == ["5-2"] and "Sign agreement" in [metric.label for metric in at.metric]
    assert says(at, "aggregation over trusted examples also differs: the mean over all trusted examples for GradSim")
    for nonsense in ("1-99", "two"):
        at = sound(open("noisy_labels", rankings=nonsense, **SMALL))
        assert says(at, f"The address said `rankings={nonsense}`, which was ignored")


def test_what_only_one_flags_goes_to_the_desk(finished):
    at = sound(open("noisy_labels", rankings="2-6", k="10%", **SMALL))
    button(at, "labels:desk:first").click().run()
    assert address(at, "view") == ["desk"] and address(at, "by") == ["RepSim"]
    assert says(sound(at), "labels flagged by RepSim, not by GradSim · hard margin")


def test_flagged_by_one_but_not_by_another(finished):
    alone = sound(open("noisy_labels", view="desk", **{"not": "RepSim"}, **SMALL))
    both = sound(open("noisy_labels", view="desk", **SMALL))
    shown = [{one.key for one in at.button if str(one.key).startswith("look:")} for at in (alone, both)]
    assert shown[0] < shown[1] and says(alone, "not by RepSim")


def test_what_if_asks_for_decisions_then_trains_and_shows_an_interval(finished, home):
    at = sound(open("noisy_labels", view="whatif", **SMALL))
    assert says(at, "No label is marked wrong yet")
    rows = noisy_flagged(finished, home)
    Review(finished, home).decide(int(rows[0]), WRONG)
    Review(finished, home).decide(int(rows[1]), WRONG, int((finished.evidence.y[rows[1]] + 1) % 10))
    at = sound(open("noisy_labels", view="whatif", wseeds=2, **SMALL))
    assert says(at, "1 removed and 1 relabelled")
    button(at, "what-if").click().run()
    job = next(job for job in desk().jobs.queue.jobs() if job.kind == WhatIfRequest.name)
    run_job(job.kind, job.payload, home)
    at = sound(open("noisy_labels", view="whatif", wseeds=2, **SMALL))
    assert [metric.label for metric in at.metric] == ["Accuracy before", "Accuracy after", "Change"]
    assert says(at, "Student's t over 2 training seeds, paired")


def test_what_if_the_most_suspicious_are_removed(finished):
    at = sound(open("noisy_labels", view="whatif", way="top", k="10%", **SMALL))
    assert says(at, "20 removed") and says(at, "labels are known to be wrong")


def test_own_arrays_with_known_flags(empty, screen):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    x = np.eye(3)[y] + 0.1 * rng.standard_normal((90, 3))
    wrong = np.where(np.arange(90) < 9, (y + 1) % 3, y)
    buffer = io.BytesIO()
    verified = np.arange(60) % 3
    np.savez(buffer, x_train=x, y_train=wrong, x_query=np.eye(3)[verified] + 0.1 * rng.standard_normal((60, 3)),
             y_query=verified, flags=np.arange(90) < 9)
    buffer.seek(0)
    name = data.uploads.keep(buffer, "mine.npz")
    at = sound(open("noisy_labels", data=name, epochs=3))
    assert says(at, "your file says which are wrong") and says(at, "Search 90 labels of mine.npz")
    line = next(text for text in texts(at) if "noisy-labels --source" in text)
    source = NoisySource.model_validate_json(line.split("'")[1])
    assert source.model == "logistic" and source.noise == 0
    run_job(SuspicionRequest.name, suspicion_payload(source), empty)
    at = sound(open("noisy_labels", data=name, epochs=3))
    assert says(at, "9 of 90 labels are wrong")
    sound(open("noisy_labels", data=name, epochs=3, view="desk"))
    assert all("wf-values" in page["looks"] and "robust z-score" in page["looks"] for page in screen["pages"].values())


def test_too_few_verified_examples_are_a_sentence(empty):
    at = sound(open("noisy_labels", trusted=5, labels=199, epochs=3, judge="mlp", mask=3, data="digits"))
    assert says(at, "Search 199 labels")
    at = sound(open("noisy_labels", noise=1.5, **SMALL))
    assert says(at, "which was ignored")


def test_own_pictures_of_mixed_sizes_with_an_unreadable_one(empty, tmp_path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for label, name in enumerate(("cat", "dog")):
            for place in range(16):
                picture = io.BytesIO()
                Image.new("L", (10 + place, 12 + label), 40 + 120 * label + place).save(picture, "PNG")
                packed.writestr(f"mine/{name}/{place}.png", picture.getvalue())
        packed.writestr("mine/cat/broken.png", b"not an image")
        packed.writestr("mine/wrong_labels.txt", "cat/0.png\ncat/1.png\ndog/2.png\ndog/3.png\n")
    archive.seek(0)
    name = data.uploads.keep(archive, "mine.zip")
    at = sound(open("noisy_labels", data=name, epochs=2))
    assert says(at, "No label is trusted: each of 32 is scored by 4 models")
    assert says(at, "32 of 33 examples are searched. Not searched: 1 not readable.")
    at = sound(open("noisy_labels", data=name, epochs=2, trusted=2, doubt=name))
    assert any("sampled from the unverified labels" in warning.value for warning in at.warning)
    assert any("2 classes with 32 training examples, read in grey at 28 × 28 pixels; 1 file was not read" in one.label
               for one in at.expander)
    assert says(at, "your file says which are wrong")
    at = sound(open("noisy_labels", data=name, epochs=2, trusted=2, doubt=name, noise=0.2))  # as with other data
    assert not says(at, "of them corrupted") and not at.select_slider
    line = next(text for text in texts(at) if "noisy-labels --source" in text)
    source = NoisySource.model_validate_json(line.split("'")[1])
    assert source.model == "pretrained" and source.noise == 0 and source.draw().evidence.x.shape[1:] == (1, 28, 28)


def test_own_labels_are_made_wrong_only_if_the_reader_says_so(empty):
    rng, buffer = np.random.default_rng(0), io.BytesIO()
    y = np.arange(60) % 3
    np.savez(buffer, x_train=rng.standard_normal((60, 3)), y_train=y, x_query=rng.standard_normal((60, 3)), y_query=y)
    buffer.seek(0)
    name = data.uploads.keep(buffer, "mine.npz")
    at = sound(open("noisy_labels", data=name, noise=0.2))  # as a link, or a session with other data, may say
    assert says(at, "Search 60 labels of mine.npz") and not says(at, "of them corrupted")
    assert says(at, "as given") and says(at, "sampled from your own queries")
    switch = next(one for one in at.toggle if one.label.startswith("Corrupt some labels"))
    assert not switch.value
    at = sound(switch.set_value(True).run())
    assert says(at, "12 of them corrupted")
    other = sound(open("noisy_labels", data=name, noise=0.2, spoil="upload-of-another"))
    assert not says(other, "of them corrupted")


def test_one_class_or_a_shared_picture_is_a_sentence(empty):
    x = np.eye(4)[np.arange(40) % 4]
    buffer = io.BytesIO()
    np.savez(buffer, x_train=x, y_train=np.arange(40) % 4, x_query=x, y_query=np.arange(40) % 4)
    buffer.seek(0)
    at = sound(open("noisy_labels", data=data.uploads.keep(buffer, "same.npz"), epochs=2))
    assert any("training examples are in the trusted set as well" in error.value for error in at.error)


def test_scores_of_another_program_are_ranked_and_measured_beside_the_methods(finished):
    at = sound(open("noisy_labels", **SMALL))
    theirs = searches.scored(desk(), chosen()).suspicion[CONSENSUS]
    buffer = io.BytesIO()
    np.save(buffer, -theirs[:, None])
    uploader = next(box for box in at.file_uploader if box.key.startswith("labels:file:"))
    at = sound(uploader.set_value([("self & influence.npy", buffer.getvalue(), "application/octet-stream")]).run())
    assert says(at, "self & influence") and says(at, "decided by the consensus of the methods, τ = +1.00")
    table = next(frame.value for frame in at.dataframe if "AUPRC" in frame.value.columns).set_index("method")
    assert table.loc["self & influence", "AUPRC"] == table.loc[CONSENSUS.method, "AUPRC"]
    again = sound(open("noisy_labels", **{name: at.query_params[name] for name in at.query_params}))
    assert says(again, "self & influence")
    at = sound(next(one for one in again.button if one.label == "Leave out").click().run())
    assert not says(at, "self & influence") and "theirs" not in at.query_params

"""The review desk: deciding, filters, many at once, and what leaves as files."""

import io
import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image

from app.noisy_labels import review_filter
from app.widgets.jobs.desk import desk
from engine import data
from engine.applications.decisions import FINE, WRONG
from engine.applications.noisy_labels.own import usual
from engine.applications.noisy_labels.review import Review
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import SMALL_RECIPE, NoisySource
from engine.applications.noisy_labels.trusting import sample_to_verify
from engine.desk import noisy_labels as searches
from engine.jobs import run_job
from tests.engine.requests_for_tests import suspicion_payload
from tests.pages.noisy_labels.small import SMALL, address, button, noisy_flagged
from tests.pages.support import open, says, sound


def events(screen, *sent, focus=None):
    """The session of a browser that has sent them."""
    return {"review-desk": {"queue": {"desk": screen["desk"], "reviewer": "me", "batch": f"b{len(sent)}",
                                      "focus": focus, "events": list(sent)}}}


def test_a_decision_is_of_the_row_that_was_on_the_screen(finished, home, screen):
    sound(open("noisy_labels", view="desk", **SMALL))
    first, second, third = screen["rows"][:3]
    assert len(screen["rows"]) == 10 and screen["focus"] == first and set(screen["pages"]) >= {str(first), str(third)}
    assert "Nearest trusted examples" in screen["pages"][str(first)]["reasons"]
    sent = [{"id": "a", "row": third, "verdict": WRONG, "label": None, "note": "odd one", "seen": ""},
            {"id": "b", "row": first, "verdict": FINE, "label": None, "seen": ""}]
    for _ in range(2):  # an answer was lost: each is recorded once
        at = sound(open("noisy_labels", view="desk", state=events(screen, *sent, focus=second), **SMALL))
    found = Review(finished, home).decisions()
    assert [(row, one.verdict, one.note) for row, one in found.items()] == [(third, WRONG, "odd one"),
                                                                            (first, FINE, "")]
    assert screen["answers"] == {"a": {}, "b": {}} and screen["shown"] == second and address(at, "at") == [str(second)]
    assert says(at, "1 wrong label · 1 fine") and [act["event"] for act in screen["history"]] == ["a", "b"]
    sound(open("noisy_labels", view="desk", state=events(screen, {"id": "c", "undo": "a"}, *sent), **SMALL))
    assert list(Review(finished, home).decisions()) == [first], "what was taken back is not recorded again"


def test_what_another_decided_meanwhile_is_asked_about(finished, home, screen):
    sound(open("noisy_labels", view="desk", **SMALL))
    row = screen["rows"][0]
    Review(finished, home, "another").decide(row, FINE, event="theirs")
    mine = {"id": "mine", "row": row, "verdict": WRONG, "label": None, "note": "", "seen": ""}
    sound(open("noisy_labels", view="desk", state=events(screen, mine), **SMALL))
    assert screen["answers"]["mine"]["asked"] == {"verdict": FINE, "label": None, "note": "", "text": "",
                                                 "event": "theirs"}
    assert Review(finished, home).decisions()[row].verdict == FINE and not screen["history"]
    sound(open("noisy_labels", view="desk", state=events(screen, {**mine, "seen": "theirs"}, focus=1), **SMALL))
    assert Review(finished, home).decisions()[row].verdict == WRONG
    assert screen["history"][0]["before"][str(row)]["event"] == "theirs"
    bad = [{**mine, "id": "x", "row": 10**6}, {**mine, "id": "y", "verdict": "maybe"}, {"id": "z", "oops": 1}]
    sound(open("noisy_labels", view="desk", state=events(screen, *bad), **SMALL))
    assert all(screen["answers"][name]["refused"] for name in "xyz")


def test_a_suggestion_has_its_probability_and_is_no_default(finished, home, screen):
    sound(open("noisy_labels", view="desk", **SMALL))
    scored = searches.scored(desk(), finished.source)
    for row, page in screen["pages"].items():
        row, suggested = int(row), page["suggested"]
        assert page["given"] == finished.evidence.y[row]
        if scored.predicted[row] != finished.evidence.y[row]:
            assert suggested["label"] == scored.predicted[row] and f"{scored.probability[row]:.2f}" in suggested["why"]
    assert "correct label unknown (w)" in screen["words"]["wrong"]


def test_decisions_survive_a_restart(finished, home, screen):
    row = int(noisy_flagged(finished, home)[0])
    Review(finished, home).decide(row, FINE, note="seen")
    at = sound(open("noisy_labels", view="desk", at=row, **SMALL))
    assert says(at, "✓ fine") and screen["decisions"][str(row)]["note"] == "seen" and screen["focus"] == row
    at = sound(open("noisy_labels", view="desk", hide=1, **SMALL))
    assert not any(one.key == f"look:{row}" for one in at.button)


def photos():
    """A zip of cats, kittens and dogs in colour, some of them in the wrong folder, and a broken file."""
    rng, archive = np.random.default_rng(0), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for label, name in enumerate(("cat", "dog", "kitten")):
            for place in range(12):
                shown = (label + 1) % 3 if place == 0 else label
                picture = io.BytesIO()
                shade = rng.integers(0, 60, (20, 24, 3)) + np.array([70 * shown, 140 - 70 * shown, 60])
                Image.fromarray(shade.astype(np.uint8)).save(picture, "PNG")
                packed.writestr(f"mine/{name}/{place}.png", picture.getvalue())
        packed.writestr("mine/cat/broken.png", b"nothing")
    archive.seek(0)
    return archive


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A home folder in which the search of photos of one's own is finished, and the name of the upload."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(folder))
        name = data.uploads.keep(photos(), "mine.zip")
        source = NoisySource(dataset=name, n_train=36, trusted=1, trusted_from="cross-validation", model="mlp",
                             recipe=SMALL_RECIPE.model_copy(update={"epochs": 3, "checkpoints": 3}))
        run_job(SuspicionRequest.name, suspicion_payload(source), folder)
    return folder, source


@pytest.fixture
def desk_of_own(empty, own):
    """The review desk on them."""
    shutil.copytree(own[0], empty, dirs_exist_ok=True)
    return own[1]


def at_the_desk(source, **more):
    return sound(open("noisy_labels", data=source.dataset, judge="mlp", epochs=3, view="desk", **more))


def test_own_photos_are_read_anew_with_other_classes(empty):
    name = data.uploads.keep(photos(), "mine.zip")
    at = sound(open("noisy_labels", data=name, epochs=3))
    assert any("3 classes with 36 training examples, read in colour" in one.label for one in at.expander)
    at.selectbox(key=f"own:side:{name}").set_value(16)
    at.text_area(key=f"own:list:{name}").set_value("\n".join(
        f"{kind}/{place}.png" for kind in ("cat", "dog", "kitten") for place in (3, 4)))
    button(at, next(one.key for one in at.button if one.label == "Import with these settings")).click().run()
    read = address(sound(at), "data")[0]
    assert read.endswith(".reading") and data.load(read).image_shape == (16, 16, 3)
    assert says(at, "Verified examples: 6") and says(at, "3 trusted examples, sampled from your own list of verified")
    assert says(at, "30 of 37 examples are searched. Not searched: 6 verified, or held out to measure accuracy; 1 not "
                    "readable.")
    at.text_area(key=f"own:list:{read}").set_value("cow/1.png")
    button(at, next(one.key for one in at.button if one.label == "Import with these settings")).click().run()
    assert any("names `cow/1.png`, which is not among the data" in one.value for one in at.error)


def test_the_desk_names_files(desk_of_own, screen):
    at = at_the_desk(desk_of_own, k="20%")
    assert address(at, "by") == ["Consensus"]
    assert all(".png · training example" in page["called"] for page in screen["pages"].values())
    assert screen["classes"] == ["cat", "dog", "kitten"]
    assert says(at, "out of fold") and all("Most similar according to a model that was not trained" in page["reasons"]
                                         for page in screen["pages"].values())


def test_filters_leave_out_and_stand_in_the_address(desk_of_own):
    whole, some = (at_the_desk(desk_of_own, k="20%", **more) for more in ({}, {"named": "dog/"}))
    assert says(some, "of them pass the filters") and not says(whole, "of them pass the filters")
    assert any(one.label == "Filters (1 on)" for one in some.expander)
    none = at_the_desk(desk_of_own, k="20%", named="nowhere")
    assert says(none, "No flagged example passes the filters")
    agreed = at_the_desk(desk_of_own, k="20%", agree=5)
    assert len([one for one in agreed.button if str(one.key).startswith("look:")]) < 7


def test_doubtful_ones_alone_and_one_confusion_together(finished, home, screen):
    sound(open("noisy_labels", view="desk", k="20%", **SMALL))
    everything, scored = screen["rows"], searches.scored(desk(), finished.source)
    middle = float(np.median(scored.own[everything]))
    few = review_filter.Filter(own=middle).passing(everything, finished, scored, 0.2)
    assert few == [row for row in everything if scored.own[row] <= middle] and 0 < len(few) < len(everything)
    at = sound(open("noisy_labels", view="desk", k="20%", pgiven="0.01", **SMALL))
    assert says(at, "No flagged example passes the filters")
    assert any("Filters (1 on)" in one.label for one in at.expander)
    sound(open("noisy_labels", view="desk", k="20%", ordered="kind", **SMALL))
    kinds = [(finished.evidence.y[row], scored.predicted[row]) for row in screen["rows"]]
    assert sorted(screen["rows"]) == sorted(everything) and screen["rows"][0] == everything[0]
    assert sum(one != other for one, other in zip(kinds, kinds[1:], strict=False)) == len(set(kinds)) - 1


def test_time_against_errors_and_a_history_that_takes_back(finished, home, screen):
    at = sound(open("noisy_labels", view="desk", k="20%", **SMALL))
    assert not says(at, "Of the last")
    review = Review(finished, home, "another")
    for number, row in enumerate(screen["rows"][:20]):
        review.decide(row, WRONG if number < 5 else FINE)
    at = sound(open("noisy_labels", view="desk", k="20%", **SMALL))
    assert says(at, "5 wrong labels among 20 decided") and says(at, "Of the last 20, 5 are wrong.")
    assert says(at, "hold about 5 wrong labels (95% interval 2 to 9)")
    assert next(one for one in at.dataframe if "decided" in one.value and "by" in one.value).value["by"].eq(
        "elsewhere").all()
    assert button(at, "history:undo").disabled


def test_many_are_decided_at_once_and_taken_back_as_one(desk_of_own, home):
    at = at_the_desk(desk_of_own, k="20%")
    assert next(one for one in at.button if one.key == "bulk:fine").disabled
    at.toggle(key="bulk:all").set_value(True).run()
    button(at, "bulk:wrong").click().run()
    drawn = desk_of_own.draw()
    review = Review(drawn, home)
    decided = review.decisions()
    assert len(decided) == 7 and {one.verdict for one in decided.values()} == {WRONG}
    assert all(one.label != drawn.evidence.y[row] for row, one in decided.items())
    button(at, "bulk:undo").click().run()
    assert not review.decisions() and not sound(at).exception
    row = next(iter(decided))
    Review(drawn, home, "another").decide(row, FINE)
    button(at, "bulk:wrong").click().run()
    assert review.decisions()[row].verdict == FINE and len(review.decisions()) == 7
    assert at.toast[0].value == "1 of 7 were decided elsewhere meanwhile and are unchanged."


def test_what_was_decided_leaves_as_files(desk_of_own, home):
    drawn = desk_of_own.draw()
    Review(drawn, home).decide([drawn.dataset.files[at] for at in drawn.rows].index("cat/0.png"), WRONG, 1)
    labels = [one.label for one in at_the_desk(desk_of_own).get("download_button")]
    assert {"Cleaned copy (zip)", "Changes by path (CSV)", "Moves (shell script)"} <= set(labels)


def test_the_verified_sample_is_trusted_and_other_corrections_go_along(desk_of_own, home):
    drawn = desk_of_own.draw()
    review, chosen = Review(drawn, home), sample_to_verify(drawn).rows
    outside = next(row for row in range(36) if row not in chosen)
    review.decide(outside, WRONG, other := int(drawn.evidence.y[outside] + 1) % 3)
    for row in chosen:
        review.decide(row, FINE)
    at = at_the_desk(desk_of_own)
    assert says(at, "Of the 12 random ones that you verified, **0 of 36 labels (0.0%, 95% interval 0.0% to")
    button(at, "verify:trust").click().run()
    read = address(sound(at), "data")[0]
    found, files = data.load(read), [drawn.dataset.files[at] for at in drawn.rows]
    assert set(found.test_files) == {files[row] for row in chosen} and not found.test_from_train
    after = NoisySource.parse({**usual(found), "dataset": read, "model": "mlp"}).draw()
    kept = {after.dataset.files[after.rows[row]]: one for row, one in Review(after, home).decisions().items()}
    assert list(kept) == [files[outside]] and kept[files[outside]].label == other

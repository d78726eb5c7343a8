"""Library: find, open, annotate, delete; one entry that is damaged leaves the rest standing."""

import io

import numpy as np
import pytest

from app.widgets.choices import choice
from app.widgets.pickers import specification_list
from engine.data import uploads
from engine.library import SHELVES, notes, views
from engine.store import comparisons as saved
from tests.pages.support import open, says, sound

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("home")]
SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}


def button(at, label):
    return next(button for button in at.button if button.label == label)


def labels(at):
    return [button.label for button in at.button]


def links(at):
    return [link.proto for link in at.get("page_link") if link.proto.label == "Open"]


def test_an_empty_library_says_how_things_come_here():
    at = sound(open("library"))
    assert says(at, "The library is empty") and not links(at)


def test_entries_are_found_by_words_tags_and_kind():
    first = saved.save("Steps against *removal*", "They <b>part</b>.", "metric=sign")
    saved.save("Something else", "", "metric=kendall")
    notes.write("comparisons", first.key, "", "talk")
    assert len(links(sound(open("library")))) == 2
    for address in ({"find": "steps PART"}, {"tag": "talk"}, {"find": "talk", "shelf": "comparisons"}):
        at = sound(open("library", **address))
        assert says(at, "Steps against *removal*") and not says(at, "Something else") and says(at, "1 of 2 entries")
    at = sound(open("library", find="steps"))
    assert any("&lt;b&gt;part&lt;/b&gt;" in element.proto.body for element in at.get("html"))
    assert says(open("library", shelf="uploads"), "None of 2 entries")
    assert any("was ignored" in warning.value for warning in sound(open("library", tag="gone")).warning)


def test_open_leads_to_the_address_with_all_its_parameters():
    saved.save("Steps", "", "s=a&s=b&metric=sign")
    [link] = links(sound(open("library")))
    assert link.page == "compare" and link.query_string == f"s=a&s=b&metric=sign&{choice.WHOLE}=1"


def test_a_kept_view_forgets_what_the_page_said_since():
    asked = {**SMALL, **specification_list.address("first")}
    at = sound(open("compare", **asked, explain=1, metric="sign"))
    assert at.query_params["metric"] in ("sign", ["sign"])
    at.query_params.clear()
    for name, value in {**asked, choice.WHOLE: "1"}.items():
        at.query_params[name] = value
    at.run()
    assert choice.WHOLE not in at.query_params and at.query_params["metric"] in ("kendall", ["kendall"])


def test_name_note_and_tags_are_kept_and_nonsense_is_a_sentence():
    entry = saved.save("Steps", "", "metric=sign")
    at = sound(open("library"))
    sound(button(at, "Edit").click().run())
    at.text_input[-1].set_value("x" * 60)
    sound(button(at, "Keep").click().run())
    assert says(at, "at most 40 characters")
    at.text_area[-1].set_value("They part.")
    at.text_input[-1].set_value("talk, thesis")
    at.text_input[-2].set_value("Another")
    sound(button(at, "Keep").click().run())
    kept = saved.load(entry.key).saved
    assert (kept.name, kept.note) == ("Another", "They part.") and says(at, "thesis") and says(at, "Kept.")
    assert "Keep" not in labels(at)


def test_deleting_asks_first():
    entry = saved.save("Steps", "", "metric=sign")
    at = sound(open("library"))
    sound(button(at, "Delete").click().run())
    assert says(at, "the scores stay in the store")
    sound(button(at, "Cancel").click().run())
    assert saved.load(entry.key)
    sound(button(at, "Delete").click().run())
    sound(button(at, "Delete for good").click().run())
    assert saved.entries() == [] and says(at, "“Steps” was deleted.")


def test_what_is_gone_or_damaged_is_a_sentence_and_the_rest_stands(home):
    saved.save("Whole", "", "metric=sign")
    saved.save("Without data", "", "data=upload-0123456789abcdef.npz")
    (home / "saved" / "0123456789ab.json").write_bytes(b"{")
    (home / "queue.sqlite").write_bytes(b"this is not a database at all" * 100)
    at = sound(open("library"))
    assert says(at, "Whole") and len(links(at)) == 2
    warnings = [warning.value for warning in at.warning]
    assert any("cannot be read" in text for text in warnings) and any("no longer on this machine" in text
                                                                      for text in warnings)
    assert any("is damaged" in error.value for error in at.error)


def test_a_page_leaves_the_view_of_what_it_waits_for():
    at = sound(open("map", **{**SMALL, "method": "tsne"}))
    [job] = at.session_state["_watched"]
    view = views.of(job)
    assert view.page == "map" and view.parameters["train"] == ["60"] and view.parameters["method"] == ["tsne"]
    assert not SHELVES["runs"].entries()


def test_an_upload_opens_where_it_was_last_chosen_and_is_not_offered_once_it_is_deleted(tmp_path):
    name = brought()
    sound(open("examples", data=name, seed=3, candidates=5))
    [link] = links(sound(open("library")))
    assert link.page == "examples" and "seed=3" in link.query_string
    at = sound(open("library", state={"uploads": [name], "_choices": {"data": [name]}}))
    sound(button(at, "Delete").click().run())
    sound(button(at, "Delete for good").click().run())
    assert at.session_state["uploads"] == [] and "data" not in at.session_state["_choices"]


def brought():
    held, rng = io.BytesIO(), np.random.default_rng(0)
    np.savez(held, x_train=rng.normal(size=(60, 4)), y_train=np.arange(60) % 3, x_query=rng.normal(size=(12, 4)),
             y_query=np.arange(12) % 3)
    held.seek(0)
    return uploads.keep(held, "mine.npz")

"""Saving, reopening and exporting a comparison."""

import re

from app.widgets import specification_list
from engine.store import comparisons as saved
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}


def compared(**more):
    return sound(open("compare", **{**SMALL, **specification_list.address("first"), **more}))


def button(at, label):
    return next(button for button in at.button if button.label == label)


def test_a_saved_comparison_reopens_the_same_view(home):
    at = compared(metric="sign", explain=1)
    at.text_input(key="saved:name").set_value("Steps and *influence*").run()
    sound(at.text_area(key="saved:note").set_value("They part.").run())
    sound(button(at, "Save").click().run())
    assert says(at, "it is on the Runs page")
    entry = saved.entries()[0]
    assert entry.saved.note == "They part." and entry.saved.parameters["metric"] == ["sign"]
    again = sound(open("compare", **entry.saved.parameters))
    assert says(again, "of the way is") and again.query_params["pair"] in ("1-4", ["1-4"])

    listed = sound(open("runs"))
    assert says(listed, "Steps and \\*influence\\*") and says(listed, "They part.")
    assert any("metric=sign" in code.value for code in listed.code)
    sound(listed.text_input(key=f"saved:name:{entry.key}").set_value("Another").run())
    sound(button(listed, "Keep the changes").click().run())
    assert saved.entries()[0].saved.name == "Another"
    sound(button(listed, "Delete").click().run())
    assert saved.entries() == [] and says(listed, "None yet.")


def test_a_name_that_is_none_is_a_sentence(home):
    at = compared()
    at.text_input(key="saved:name").set_value(" ").run()
    sound(button(at, "Save").click().run())
    assert any("give the comparison one" in error.value for error in at.error) and saved.entries() == []


def test_the_report_holds_everything_and_loads_nothing(home, monkeypatch):
    texts = []
    from app.compare import report as module
    written = module.report
    monkeypatch.setattr(module, "report", lambda *arguments: texts.append(written(*arguments)) or texts[-1])
    at = compared()
    at.text_input(key="saved:name").set_value("<b>Name</b>").run()
    sound(button(at, "Write the report").click().run())
    assert at.get("download_button")
    text = texts[-1]
    assert "<h1>&lt;b&gt;Name&lt;/b&gt;</h1>" in text and text.count("<svg") == 7
    assert "of the way is the training process" in text and "engine explain" in text and "engine compare" in text
    assert text.count("<details>") == 1 + 4 and "wall_seconds" in text and "Spearman rho" in text
    assert not re.search(r'(src|href)="(?!http://www\.w3\.org|/compare|http)[^#]', text) and "<script" not in text
    outside = set(re.findall(r'https?://[^"\s<)]+', text)) - {"http://www.w3.org/2000/svg",
                                                               "http://www.w3.org/1999/xlink"}
    assert not {address for address in outside if "localhost" not in address and "compare?" not in address}

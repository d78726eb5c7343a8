"""Saving, reopening and exporting a comparison."""

import json
import re

from app.compare import report
from app.compare import saved as saved_panel
from app.widgets.pickers import specification_list
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
    assert says(at, "it is in the Library")
    entry = saved.entries()[0]
    assert entry.saved.note == "They part." and entry.saved.parameters["metric"] == ["sign"]
    again = sound(open("compare", **entry.saved.parameters))
    assert says(again, "of the path is") and again.query_params["pair"] in ("1-4", ["1-4"])
    matrix = entry.saved.matrix
    assert len(matrix) == 4 and matrix[0][0] == 1.0 and matrix[0][1] == matrix[1][0]


def test_the_suggested_name_follows_the_pair_and_a_written_one_stays(home):
    at = compared(pair="1-2")
    before = at.text_input(key="saved:name").value
    sound(at.selectbox(key="compare:second").set_value(3).run())
    after = at.text_input(key="saved:name").value
    assert before != after == compared(pair="1-4").text_input(key="saved:name").value
    at.text_input(key="saved:name").set_value("Mine").run()
    sound(at.selectbox(key="compare:second").set_value(2).run())
    assert at.text_input(key="saved:name").value == "Mine"


def test_a_name_that_is_none_is_a_sentence(home):
    at = compared()
    at.text_input(key="saved:name").set_value(" ").run()
    sound(button(at, "Save").click().run())
    assert says(at, "must be one line of 1 to") and saved.entries() == []


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
    assert "<h1>&lt;b&gt;Name&lt;/b&gt;</h1>" in text and text.count("<svg") == 8
    assert "of the path is the training process" in text and "engine explain" in text and "engine compare" in text
    assert text.count("<details>") == 1 + 4 + 7 and "wall_seconds" in text and "Spearman rho" in text
    assert text.count('src="data:image/png') == 16
    assert re.search(r'verdict</th>.*class="n">−?0\.\d{3} ± 0\.\d{3}<', text)
    first = text[text.index("<h1>"):text.index("<details>")]
    order = [first.index(said) for said in ("<h1>", "wf-verdict", "Kendall tau", "by how much would", "Heatmap of",
                                            "of the path is", "The top 8 training examples")]
    assert order == sorted(order) and first.count("<svg") == 2 and "<pre>" not in first
    assert re.findall("<summary><h2>(.*?)</h2>", text) == [
        "Both rankings, query by query", "Why they disagree, in numbers", "All specifications",
        "The questions, and how they were computed", "Settings", "Manifests", "Recompute it"]
    assert not re.search(r'(src|href)="(?!http://www\.w3\.org|/compare|http|data:image/png)[^#]', text)
    assert "<script" not in text
    outside = set(re.findall(r'https?://[^"\s<)]+', text)) - {"http://www.w3.org/2000/svg",
                                                               "http://www.w3.org/1999/xlink"}
    assert not {address for address in outside if "localhost" not in address and "compare?" not in address}


def test_the_report_shows_the_chosen_query_after_the_conclusion(home, monkeypatch):
    texts = []
    monkeypatch.setattr(report, "svg", lambda chart, alternative, caption="", width=0: f"<figure>{caption}</figure>")
    written = report.report
    monkeypatch.setattr(report, "report", lambda *arguments: texts.append(written(*arguments)) or texts[-1])
    sound(button(compared(ranks=3), "Write the report").click().run())
    text = texts[-1]
    order = [text.index(said) for said in ("for query 3, “", "<summary><h2>Query 3</h2>", "The top 20 for query 3")]
    assert order == sorted(order)


def test_the_report_of_data_with_hostile_names_holds_them_as_text(home, monkeypatch, tmp_path):
    """Names of classes, columns, rows and the file, the view's name and its note: nothing is marked up or loaded."""
    from html.parser import HTMLParser

    from engine.data import uploads

    outside, texts, notebooks = "https://leak.invalid", [], []
    evil = [f"<img src={outside}/a onerror=alert(1)>", f"</title></svg><script src={outside}/b></script>",
            f"![c]({outside}/c)"]
    rows = [f'"{evil[row % 3]} r{row}",{(row * 7) % 11},{row % 5},"{evil[row % 3]}"' for row in range(60)]
    (tmp_path / f"x{evil[2].replace('/', ',')}.csv").write_text("\n".join([f'id,"{evil[1]}",width,label', *rows]))
    data = uploads.keep_path(next(tmp_path.glob("*.csv")))
    written, kept = report.report, saved_panel.notebook
    monkeypatch.setattr(report, "report", lambda *given: texts.append(written(*given)) or texts[-1])
    monkeypatch.setattr(saved_panel, "notebook", lambda *given: notebooks.append(kept(*given)) or notebooks[-1])
    pair = [f"{name}/add_occurrence/one_step;eta=0.1" for name in ("query_loss", "query_logit")]
    at = sound(open("compare", data=data, s=pair, pair="1-2", ranks="3"))
    at.text_area(key="saved:note").set_value(evil[0])
    at.text_input(key="saved:name").set_value(evil[1]).run()
    sound(button(at, "Write the report").click().run())

    class Read(HTMLParser):
        def __init__(self):
            super().__init__()
            self.loads, self.tags = [], set()

        def handle_starttag(self, tag, attrs):
            self.tags.add(tag)
            self.loads += [value for name, value in attrs if "leak.invalid" in (value or "") and name in (
                "src", "href", "xlink:href", "style", "srcset", "action") or name.startswith("on")]

    read = Read()
    read.feed(texts[-1])
    assert "leak.invalid" in texts[-1] and read.loads == [] and "script" not in read.tags
    assert all("](https" not in "".join(cell["source"]) for text in notebooks
               for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")

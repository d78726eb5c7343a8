"""Paper: empty, published, computed here, altered; every choice in the address."""

import shutil
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from app.paper.rows import named, rows_of, sizes_sentence
from engine.experiments import EXPERIMENTS, publish, scoreboard
from engine.experiments.differences import differences
from engine.experiments.statements import STATEMENTS
from engine.experiments.statements import wording as in_words
from engine.experiments.statements.findings import findings
from engine.problems import SoftmaxProblem
from engine.scoring.identities import ProblemFacts
from engine.scoring.verdict import verdict
from tests.app.widgets.results.test_published import A6, stored
from tests.pages import support
from tests.pages.support import says, sound

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("home")]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def published(tmp_path):
    """Table A-6 and Figure 4-1 at the paper's scale, 0.01 above the paper."""
    result = stored()
    for experiment in (EXPERIMENTS["table-a6"], EXPERIMENTS["figure-4"]):
        publish.publish(experiment, result, "paper", tmp_path / "results")
    return result


def html(at):
    return support.MARK.sub(r"\1", " ".join(element.proto.body for element in at.get("html")))


def test_without_results_the_page_says_how_to_get_them():
    at = sound(support.open("paper"))
    assert says(at, "have not been computed yet") and says(at, "python -m engine reproduce table-a6 --preset paper")
    assert "0.747" in html(at) and "not run" in html(at) and says(at, "No results are published yet")


def test_every_cell_stands_beside_ours_with_its_manifest_and_is_counted(published, tmp_path):
    at = sound(support.open("paper"))
    assert says(at, "**10 of 10** cells lie within the tolerance")
    table = html(at)
    assert "0.747" in table and "0.757" in table and "+0.010" in table and "inside" in table
    assert says(at, "python -m engine reproduce table-a6 --preset paper")
    for fact in ("a test", "at most 1e−13", "Candidates flagged and left out", "1e−11", published.digest,
                 "20,000 training"):
        assert fact in table
    entries = scoreboard.entries([], tmp_path / "results")
    within, judged = (sum(entry.within[side] for entry in entries) for side in (0, 1))
    assert says(at, "The paper has 17 tables and figures with results") and says(at, "**15** not run")
    assert says(at, f"**2** at the paper's own scale ({within} of {judged} cells within their tolerance)")
    assert 0 < within <= judged
    at.selectbox(key="choice:experiment").set_value("figure-4").run()
    assert at.query_params["experiment"] == "figure-4"


def test_a_row_shows_its_two_questions_by_the_studys_model_and_leads_to_compare(published, monkeypatch):
    asked, real = [], verdict
    monkeypatch.setattr("app.paper.panel.verdict", lambda *given: asked.append(given[2]) or real(*given))
    at = sound(support.open("paper", row="one-step vs. inverse-Hessian"))
    assert asked == [ProblemFacts.of(SoftmaxProblem)]
    assert html(at).count("wf-question") >= 2
    assert "Different question: the intervention and training process differ" in html(at)
    link = next(link for link in at.get("page_link") if link.proto.label.startswith("Compare them"))
    assert "query_loss/add_occurrence/one_step" in unquote(link.proto.query_string)
    assert "local_response;damping=0.01" in unquote(link.proto.query_string)
    at.selectbox(key="choice:row").set_value("query loss vs. hard margin").run()
    assert at.query_params["row"] == "query loss vs. hard margin" and "the behavior differs" in html(at)


def test_the_address_chooses_table_and_measure(published):
    at = sound(support.open("paper", experiment="figure-4", measure="Sign agreement"))
    assert says(at, "Panel (b): approximation error") and "0.784" in html(at) and "n−1 examples left" in html(at)
    assert at.query_params["measure"] == "Sign agreement" and at.query_params["preset"] == "paper"


def test_a_cell_outside_its_tolerance_is_marked(tmp_path):
    publish.publish(A6, stored(shift=0.03), "paper", tmp_path / "results")
    at = sound(support.open("paper"))
    assert says(at, "**0 of 10** cells") and "▲ outside" in html(at)


def test_a_run_of_this_machine_is_shown_and_said_to_be_one():
    stored("small")
    at = sound(support.open("paper"))
    assert at.query_params["preset"] == "small" and says(at, "computed on this machine")
    assert says(at, "differences are expected and are not judged")


def test_altered_results_are_refused_in_one_sentence(published, tmp_path):
    path = tmp_path / "results" / "table-a6" / "paper" / "results.csv"
    path.write_text(path.read_text().replace("0.757", "0.747"))
    at = sound(support.open("paper"))
    assert any("do not match their manifest" in error.value for error in at.error)


def test_nonsense_in_the_address_is_said_and_ignored(published):
    at = sound(support.open("paper", experiment="table-99", preset="huge", measure="\0bad"))
    assert len([warning for warning in at.warning if "which was ignored" in warning.value]) == 3
    assert "0.757" in html(at)


def test_the_page_opens_with_the_statements_of_the_command(monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(publish.RESULTS))
    at = sound(support.open("paper", settle=False))
    shown, found = unescape(html(at)), findings(STATEMENTS.values())
    assert says(at, in_words.summary(found)) and says(at, in_words.ADJUSTMENT)
    assert shown.count('<th scope="row">') >= len(found)
    places = [shown.index(finding.statement.sentence) for finding in found]
    assert places == sorted(places)
    for finding in found:
        assert in_words.measured(finding) in shown and finding.why in shown and in_words.origin(finding) in shown
        assert in_words.interval(finding) in shown and all(line in shown for line in in_words.comparisons(finding))
        assert f"experiment={finding.statement.needs[0]}&preset={finding.preset}" in shown


def test_the_scoreboard_has_every_entry_with_what_is_published_of_it(monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(publish.RESULTS))
    shown = unescape(html(sound(support.open("paper", settle=False))))
    board = shown[shown.index("wf-scoreboard"):shown.index("wf-statements\"><thead><tr><th scope=\"col\">Verdict")]
    for entry in scoreboard.entries(findings(STATEMENTS.values())):
        assert f"experiment={entry.name}&preset={entry.preset}&at=cell-by-cell" in board
        assert entry.shows in board and entry.short in board
    assert "Desk (hours on two cores): ✓ 3 confirmed" in board
    assert "the paper's words: 25 of 25 cells" in board and "A quick check" not in board


def test_the_scoreboard_says_what_is_a_quick_check_only(monkeypatch, tmp_path):
    shutil.copytree(publish.RESULTS / "table-a9" / "small", tmp_path / "table-a9" / "small")
    monkeypatch.setenv(publish.FOLDER, str(tmp_path))
    at = sound(support.open("paper", settle=False))
    assert says(at, "A quick check; too small to show the effect") and says(at, "**1** as a quick check only")


def test_a_row_of_a_smaller_problem_than_others_says_so():
    table = pd.DataFrame({"metric": "m", "comparison": ["a", "b", "c"], "parameter": "",
                          "n_candidates": [500, 8, 8], "n_train": [2000, 2000, 1000]})
    assert list(rows_of(table, "m", judge=False)["label"]) == [
        "a", "b|8 candidates", "c|8 candidates · n = 1,000"]
    assert sizes_sentence(table) == "n is the number of training examples, 2,000 unless stated."
    assert sizes_sentence(table.head(2)) == ""


def test_the_width_of_a_network_stands_after_its_name():
    row = {"method": "TracIn", "behavior": "Target logit", "width": "a quarter of its width",
           "architecture": "ResNet-50"}
    assert named(row) == ("TracIn · Target logit", "ResNet-50 · a quarter of its width")


def test_how_a_scale_differs_from_the_paper_is_listed():
    at = sound(support.open("paper", settle=False, experiment="table-a7", preset="desk"))
    for line in differences(EXPERIMENTS["table-a7"], "desk"):
        assert says(at, line)
    assert says(at, "python -m engine reproduce table-a7 --preset desk")


def test_a_scale_that_is_too_small_says_why(monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(publish.RESULTS))
    at = sound(support.open("paper", settle=False, experiment="table-5-1", preset="small"))
    assert says(at, "A quick check that the code runs")
    assert [warning for warning in at.warning if "the model reads 38% of the test examples correctly" in warning.value]
    at = sound(support.open("paper", settle=False, experiment="table-a6", preset="paper"))
    assert not at.warning and not says(at, "A quick check that the code runs")


def test_the_other_reading_says_what_is_not_run_and_how_to_run_it(published):
    """Of the authors' code nothing is published."""
    at = sound(support.open("paper", **{"as": "authors"}))
    assert at.query_params["as"] == "authors" and says(at, in_words.summary([], "authors"))
    assert says(at, "by the authors' code at this scale have not been computed yet")
    assert says(at, "python -m engine reproduce table-a6 --preset paper --as authors")
    assert says(at, "As the authors' code does it: biases are not penalised")
    board = unescape(html(at))
    assert "the authors' code: not run" in board
    assert "not run yet" in board and "0.747" in board


@pytest.fixture
def shipped(monkeypatch):
    """The results that the repository holds."""
    monkeypatch.setenv(publish.FOLDER, str(ROOT / "assets" / "results"))


def test_curves_of_the_cnn_are_named_for_what_they_compare(shipped):
    at = sound(support.open("paper", experiment="figure-a2", preset="desk"))
    assert says(at, "**Inverse Hessian against 20 iterations of L-BFGS, over the weight α (damping 0.01)**")
    assert says(at, "CIFAR-10. 10 candidates · 1,000 training examples. Lines: means over seeds; bands: 95% "
                    "intervals; small dots: seeds. 1 is full agreement.")
    assert not says(at, "Panel (b)") and not says(at, "undamped")


def test_one_seed_has_no_interval(shipped):
    at = sound(support.open("paper", experiment="table-a8", preset="desk"))
    assert says(at, "Ours is from one seed. One seed has no interval")


def test_rows_without_drift_stand_beside_those_of_the_paper(shipped):
    at = sound(support.open("paper", experiment="figure-a1", preset="desk"))
    assert "Relative to a model after as many iterations" in " ".join(one.label for one in at.expander)
    assert not says(at, "This run has no curve") and says(at, "Our ± is a 95% t-interval over 3 seeds.")
    assert says(at, "n is the number of training examples, 10,000 unless stated.")

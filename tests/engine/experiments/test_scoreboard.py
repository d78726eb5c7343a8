"""The scoreboard: the largest scale of every entry, and what it decides."""

from collections import Counter

import pandas as pd

from engine.experiments import EXPERIMENTS, FULL, scoreboard
from engine.experiments.statements import STATEMENTS
from engine.experiments.statements.findings import findings

PAPERS = {"table-a6", "figure-4", "table-a7", "figure-a1", "figure-a2", "table-5-1", "table-a8", "table-a9",
          "table-a10", "table-a16", "figure-5-1", "figure-5-2", "table-5-2", "table-a11", "table-a14", "table-a15",
          "table-a17"}


def test_an_entry_for_every_table_and_figure_of_the_paper():
    assert set(scoreboard.of_the_paper()) == PAPERS


def test_every_finding_is_counted_once():
    found = findings(STATEMENTS.values())
    entries = scoreboard.entries(found)
    assert sum(sum(counts.values()) for entry in entries
               for counts in (entry.verdicts, *entry.elsewhere.values())) == len(found)
    for entry in entries:
        own = [finding for finding in found if finding.statement.needs[0] == entry.name]
        assert all(finding.short for finding in own) or not entry.short or entry.scale not in {f.scale for f in own}


def test_what_one_scale_decides_is_not_said_of_another():
    """Table 5-1 is published at the desk and at the paper's own scale, with a verdict of each."""
    found = [finding for finding in findings(STATEMENTS.values()) if finding.statement.needs[0] == "table-5-1"]
    counted = {scale: Counter(finding.verdict for finding in found if finding.scale == scale)
               for scale in {finding.scale for finding in found}}
    entry = next(entry for entry in scoreboard.entries(found) if entry.name == "table-5-1")
    assert entry.preset == FULL and set(counted) == {FULL, "desk"}
    assert entry.verdicts == counted[FULL] and entry.elsewhere == {"desk": counted["desk"]}


def test_nothing_published_is_no_scale(tmp_path):
    entries = scoreboard.entries([], tmp_path)
    assert {entry.scale for entry in entries} == {""} and {entry.within for entry in entries} == {(0, 0)}


def test_the_papers_scale_stands_before_any_other(tmp_path):
    for preset in ("small", FULL, "desk"):
        folder = tmp_path / "table-a7" / preset
        folder.mkdir(parents=True)
        pd.DataFrame({"mean": [0.5]}).to_csv(folder / "results.csv")
    largest, *_ = scoreboard.most_decisive(EXPERIMENTS["table-a7"], tmp_path)
    assert largest == FULL
    (tmp_path / "table-a7" / FULL / "results.csv").unlink()
    assert scoreboard.most_decisive(EXPERIMENTS["table-a7"], tmp_path)[0] == "desk"


def test_images_at_full_size_stand_before_averaged_ones_with_more_seeds():
    """Both have an interval for the CNN; of Table A-8 the larger images have one seed, hence none."""
    for name in ("table-a7", "figure-a1", "figure-a2"):
        assert scoreboard.most_decisive(EXPERIMENTS[name], None)[0] == "desk"
    assert scoreboard.most_decisive(EXPERIMENTS["table-a8"], None)[0] == "pooled"


def test_a_scale_that_shows_nothing_does_not_hide_one_that_does():
    """SmolLM2 does not learn the attack at the scale desk; the embedded model does, with more seeds, of which pooled
    pictures have more as well."""
    assert scoreboard.most_decisive(EXPERIMENTS["table-a11"], None)[0] == "embedded"
    assert scoreboard.most_decisive(EXPERIMENTS["figure-5-2"], None)[0] == "embedded"
    assert scoreboard.most_decisive(EXPERIMENTS["table-a8"], None)[0] == "pooled"
    assert scoreboard.most_decisive(EXPERIMENTS["table-5-1"], None)[0] == FULL

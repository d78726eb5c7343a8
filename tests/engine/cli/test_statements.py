"""`statements`: every finding with its figure and scale, and how many are which."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from engine.cli import main
from engine.experiments.statements import STATEMENTS, wording
from engine.experiments.statements.findings import findings
from tests.engine.cli.commands import one_line


def test_every_finding_is_printed(capsys):
    assert main(["statements"]) == 0
    shown, found = capsys.readouterr().out, findings(STATEMENTS.values())
    for finding in found:
        assert re.search(rf"^{finding.verdict} +{re.escape(finding.statement.sentence)}$", shown, re.M)
        assert wording.origin(finding) in shown and wording.measured(finding) in shown and finding.why in shown
        assert all(line in shown for line in wording.comparisons(finding))
    assert shown.rstrip().endswith(f"{wording.summary(found)}\n\n{wording.ADJUSTMENT}")


def test_the_json_has_both_intervals_and_how_many_were_counted(tmp_path):
    """Half widths by scipy, from the seeds that the file itself holds."""
    assert main(["statements", "--out", str(tmp_path / "found.json")]) == 0
    record = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert record["adjustment"] == wording.ADJUSTMENT
    assert len(record["statements"]) == len(findings(STATEMENTS.values()))
    for statement in record["statements"]:
        count = statement["n_comparisons"]
        assert count == len(statement["comparisons"]) and statement["adjusted_level"] == pytest.approx(1 - 0.05 / count)
        for one in statement["comparisons"]:
            if one["n_seeds"] == 1:
                assert one["interval"] is one["adjusted_interval"] is None
            elif not one["grain"]:
                for name, level in (("interval", 0.95), ("adjusted_interval", 1 - 0.05 / count)):
                    ends = stats.t.interval(level, len(one["values"]) - 1, np.mean(one["values"]),
                                            stats.sem(one["values"]))
                    assert one[name] == pytest.approx(ends)


@pytest.mark.parametrize("out", ["found.csv", "nowhere/found.json"])
def test_a_json_that_cannot_be_written_is_refused(out, capsys, tmp_path):
    assert main(["statements", "--out", str(tmp_path / out)]) == 2
    assert "--out" in one_line(capsys)


def test_a_folder_without_results_says_so(capsys, tmp_path):
    assert main(["statements", "--results", str(tmp_path)]) == 0
    assert "No results are published yet" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["nowhere", __file__])
def test_what_is_no_folder_is_refused(given, capsys):
    assert main(["statements", "--results", given]) == 2
    assert "`reproduce --out`" in one_line(capsys)

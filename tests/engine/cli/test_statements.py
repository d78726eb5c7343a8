"""`statements`: every finding with its figure and scale, and how many are which."""

import re

import pytest

from engine.cli import main
from engine.experiments.statements import STATEMENTS, told
from engine.experiments.statements.findings import findings
from tests.engine.cli.commands import one_line


def test_every_finding_is_printed(capsys):
    assert main(["statements"]) == 0
    shown, found = capsys.readouterr().out, findings(STATEMENTS.values())
    for finding in found:
        assert re.search(rf"^{finding.verdict} +{re.escape(finding.statement.sentence)}$", shown, re.M)
        assert told.origin(finding) in shown and told.measured(finding) in shown and finding.why in shown
    assert shown.rstrip().endswith(told.summary(found))


def test_a_folder_without_results_says_so(capsys, tmp_path):
    assert main(["statements", "--results", str(tmp_path)]) == 0
    assert "Nothing is published yet" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["nowhere", __file__])
def test_what_is_no_folder_is_refused(given, capsys):
    assert main(["statements", "--results", given]) == 2
    assert "`reproduce --out`" in one_line(capsys)

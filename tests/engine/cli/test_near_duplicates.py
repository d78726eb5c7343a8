"""`near-duplicates` writes the pairs with their names, and says how many there are."""

import pandas as pd

from engine.cli import main
from tests.engine.applications.noisy_labels.sources import source


def test_pairs_are_written_with_their_labels(tmp_path, capsys):
    out = tmp_path / "pairs.csv"
    asked = ["near-duplicates", "--source", source(model="mlp").model_dump_json(), "--out", str(out)]
    assert main([*asked, "--threshold", "0.6"]) == 0
    said, table = capsys.readouterr().out, pd.read_csv(out)
    assert f"{len(table):,} pairs" in said and "among 290 examples" in said and len(table)
    assert (table["distance"] < 0.6).all() and table["example_a"].str.startswith("searched example").any()
    assert main([*asked, "--threshold", "2"]) == 2 and "threshold" in capsys.readouterr().err

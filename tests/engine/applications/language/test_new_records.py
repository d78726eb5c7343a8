"""Records outside the training set have, under methods that add, the scores of the same records as training records."""

import json

import numpy as np
import pandas as pd

from engine.applications.language.new_records import NewRecordsRequest
from engine.applications.language.run import AttributionRequest
from engine.cli import main


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_training_records_given_as_new_ones_have_their_features(attribution):
    queries, rows = attribution.task.queries["triggered"], slice(2, 5)
    own, new = attribution.kept, attribution.features(queries, attribution.task.train[rows])
    assert new.shape == (len(queries), 3)
    near(new.norms, own.norms[rows])
    for one, other in zip(own.points, new.points, strict=True):
        near(other.gradients, one.gradients[rows])
        near(other.conditioned, one.conditioned[rows])
    for depth in own.hidden:
        near(new.hidden[depth], own.hidden[depth][rows])


def test_the_command_scores_new_records_by_methods_that_add(attribution, plain_setting, tmp_path):
    """A run that needs nothing but the two new records' gradients: the training lies there."""
    given = attribution.task.train[1:3]
    run, new = tmp_path / "run.json", tmp_path / "new.jsonl"
    run.write_text(json.dumps({**plain_setting, "seed": 0}))
    new.write_text("\n".join(json.dumps({**record.model_dump(mode="json"), "id": f"new {index}"})
                             for index, record in enumerate(given)))
    assert main(["attribute", "--run", str(run), "--new-candidates", str(new), "--out", str(tmp_path / "new.csv")]) == 0
    table = pd.read_csv(tmp_path / "new.csv")
    assert list(table["id"]) == ["new 0", "new 1"]
    columns = {name.partition("|")[0] for name in table if "|" in name}
    assert columns == {"gradient_norm", "repsim", "random", "gradsim", "tracin", "less"}  # TRAK removes
    kept = attribution.kept
    tracin = sum(-point.weight * (point.queries["answer_margin"] @ point.gradients[1:3].T) for point in kept.points)
    near(table["tracin|answer_margin"], tracin.mean(0))


def test_a_payload_is_read_back(attribution, plain_setting):
    request = NewRecordsRequest(run=AttributionRequest.parse({"setting": plain_setting, "seed": 1}),
                                records=attribution.task.train[:2])
    assert NewRecordsRequest.of_payload(request.payload).payload == request.payload

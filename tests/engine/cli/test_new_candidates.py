"""`influence`, `compare` and `stream` on examples that the model was not trained on, from every form of file."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.data import load_npz, new_files, uploads
from engine.data.image_folder import load_image_folder
from engine.data.new_examples import load_new
from engine.data.packing import packed
from engine.data.tables import load_table
from engine.problems import ProblemSource, SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import L2, REMOVE, STEP, C, D, M, N, compare, influence, one_line
from tests.engine.conftest import questions


@pytest.fixture
def new(folder):
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(6, D)), rng.integers(0, C, 6)
    np.savez("new.npz", x=x, y=y)
    return x, y


def test_arrays(folder, new, arrays):
    assert influence("--new-candidates", "new.npz") == 0
    problem = SoftmaxProblem.from_arrays(load_npz("problem.npz"), l2=L2).with_outside(*new)
    with np.load("scores.npz") as written:
        np.testing.assert_array_equal(written["scores"], compute(problem, Scoring.parse(STEP))[0].values)
        assert written["candidates"].tolist() == list(range(N, N + 6))
    manifest = json.loads(Path("scores.json").read_text())
    assert manifest["new_candidates"] == {"first": N, "names": [f"row {row}" for row in range(6)]}
    assert manifest["sizes"]["outside"] == 6 and manifest["sizes"]["train"] == N
    before = Path("scores.npz").read_bytes()
    assert main(["influence", *manifest["command"].split(" influence ")[1].split()]) == 0
    assert Path("scores.npz").read_bytes() == before
    assert compare("--scores", "scores.npz") == 2  # they are no scores of the training examples


def test_a_list_goes_on_without_what_cannot_be_asked(folder, new, capsys):
    assert compare("--new-candidates", "new.npz") == 3
    assert one_line(capsys).startswith("Specification `loo` is not computed: `remove` asks about training examples")
    table = pd.read_csv("agreement.csv").set_index(["a", "b", "metric"]).sort_index()
    assert len(table) == 9 and table.loc["step", "first, order", "kendall_tau"].verdict == "approximation error"
    refused = table[table["mean"].isna()]
    assert len(refused) == 6 and (refused.n_queries == 0).all()
    assert refused.verdict.str.startswith("not computed: `remove` asks").all()
    Path("specs.json").write_text(json.dumps([{"name": "a", "spec": STEP}, {"name": "b", "spec": REMOVE}]))
    assert compare("--new-candidates", "new.npz") == 3  # one answer is left, and none to compare it with
    assert one_line(capsys).startswith("Specification `b` is not computed: `remove` asks about training examples")
    assert len(table := pd.read_csv("agreement.csv")) == 3 and table.verdict.str.startswith("not computed: `re").all()
    Path("agreement.csv").unlink()
    Path("specs.json").write_text(json.dumps([{"name": name, "spec": REMOVE} for name in "ab"]))
    assert compare("--new-candidates", "new.npz") == 2 and not Path("agreement.csv").exists()
    assert one_line(capsys).startswith("Specification `a`: `remove` asks about training examples")


def test_a_stream_has_the_ends_of_the_scores(folder, new, monkeypatch):
    monkeypatch.setattr("engine.cli.problem.PART", 4)
    assert influence("--new-candidates", "new.npz") == 0
    assert main(["stream", "--data", "problem.npz", "--spec", "spec.json", "--new-candidates", "new.npz", "--out",
                 "ends.csv", "--k", "2", "--l2", str(L2)]) == 0
    scores, table = np.load("scores.npz")["scores"], pd.read_csv("ends.csv")
    assert len(table) == M * 4 and set(table["end"]) == {"top", "bottom"}
    for row in table.itertuples():
        place = np.argsort(-scores[row.query] if row.end == "top" else scores[row.query])[row.rank - 1]
        assert row.candidate == place and row.name == f"row {place}"
        assert row.score == pytest.approx(scores[row.query, place], rel=1e-12)
    manifest = json.loads(Path("ends.json").read_text())
    assert manifest["sizes"]["candidates"] == 6 and "stream --data problem.npz" in manifest["command"]


def test_a_network_takes_new_arrays(folder, new):
    assert influence("--new-candidates", "new.npz", "--model", "mlp") == 0
    assert np.load("scores.npz")["scores"].shape == (M, 6)


def test_specifications_are_compared_on_new_candidates(folder, new):
    Path("specs.json").write_text(json.dumps([{"name": "step", "spec": STEP}, {"name": "up", "spec": {
        "behavior": "query_loss", "intervention": {"kind": "upweight", "alpha": 0.01},
        "process": {"kind": "reoptimize"}}}]))
    assert compare("--new-candidates", "new.npz") == 0
    assert set(pd.read_csv("agreement.csv")["verdict"]) == {"specification mismatch on {P,T}"}


@pytest.mark.parametrize(("arrays_of", "said"), [
    ({"x": np.ones((2, D + 1)), "y": np.zeros(2, int)}, "give the same"),
    ({"x": np.ones((2, D)), "y": np.array([0, C])}, "outside 0…2"), ({"x": np.ones((2, D))}, "holds no `x` and `y`"),
    ({"x": np.array([["a"]] * 2), "y": np.zeros(2, int)}, "give numbers"),
    ({"x": np.full((2, D), np.nan), "y": np.zeros(2, int)}, "NaN or infinity in row 0"),
    ({"x": np.array([[None]], object), "y": np.zeros(1, int)}, "holds objects")])
def test_arrays_that_do_not_fit_are_refused(folder, capsys, arrays_of, said):
    np.savez("new.npz", **arrays_of)
    assert influence("--new-candidates", "new.npz") == 2
    assert said in one_line(capsys)


def test_what_removes_is_refused_in_one_sentence(folder, new, capsys):
    Path("loo.json").write_text(json.dumps(REMOVE))
    assert influence("--new-candidates", "new.npz", spec="loo.json") == 2
    assert f"asks about training examples, and candidate {N + 5} is not one of the {N}" in one_line(capsys)


def picture(path, level, rng, mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (12, 12) if mode == "L" else (12, 12, 3)
    Image.fromarray((rng.random(shape) * 60 + level).astype(np.uint8), mode).save(path)


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, level in (("cat", 20), ("dog", 150)):
        for index in range(12):
            picture(tmp_path / "old" / name / f"{index}.png", level, rng)
    for name, level, index in (("dog", 150, 0), ("dog", 20, 1), ("cat", 20, 0)):
        picture(tmp_path / "new" / "of today" / name / f"{index}.png", level, rng)
    return tmp_path


def test_pictures_by_the_names_of_their_files(pictures):
    Path("spec.json").write_text(json.dumps(STEP))
    Path("problem.json").write_text(json.dumps({"dataset": uploads.keep_path(Path("old")), "n_queries": 4}))
    assert main(["influence", "--data", "problem.json", "--spec", "spec.json", "--out", "scores.npz",
                 "--new-candidates", "new"]) == 0
    manifest = json.loads(Path("scores.json").read_text())
    assert manifest["new_candidates"]["names"] == [f"of today/{file}.png" for file in ("cat/0", "dog/0", "dog/1")]
    drawn = ProblemSource(dataset=uploads.keep_path(Path("old")), n_queries=4).build()
    side = drawn.dataset.image_shape[0]
    raw = Image.open("new/of today/dog/1.png").resize((side, side), Image.Resampling.BILINEAR, reducing_gap=2.0)
    expected = drawn.problem.with_outside(np.asarray(raw).reshape(1, -1) / 255.0, [1])
    np.testing.assert_allclose(np.load("scores.npz")["scores"][:, 2:],
                               compute(expected, Scoring.parse(STEP))[0].values, rtol=1e-12)
    same_by_name("new.zip", packed(Path("new"), 10**6).read(), drawn)
    longer, sample = named("new.zip", packed(Path("new"), 10**6).read(), drawn).draw()
    assert (longer.image("train", int(sample.train_index[sample.n + 2])) == np.asarray(raw)).all()
    assert sample.called(sample.n + 2) == "new candidate of today/dog/1.png"


def named(filename, content, drawn):
    """The source of a drawn problem with a stored file of new candidates."""
    stored = new_files.keep(BytesIO(content), filename, drawn.dataset)
    return drawn.source.model_copy(update={"new_candidates": stored})


def same_by_name(filename, content, drawn, spec="spec.json"):
    """A problem.json that names a stored file has the scores that are written."""
    Path("source.json").write_text(named(filename, content, drawn).model_dump_json(exclude_defaults=True))
    assert main(["influence", "--data", "source.json", "--spec", spec, "--out", "named.npz"]) == 0
    np.testing.assert_allclose(np.load("named.npz")["scores"], np.load("scores.npz")["scores"], rtol=1e-12)
    told, before = (json.loads(Path(file).read_text())["new_candidates"] for file in ("named.json", "scores.json"))
    assert told == before


def by_explanation_alone(drawn):
    """A problem.json scores drawn candidates by some of their tokens, behind the training records."""
    held = drawn.source.model_copy(update={"tokens": "explanation", "n_candidates": 3})
    Path("source.json").write_text(held.model_dump_json(exclude_defaults=True))
    assert main(["influence", "--data", "source.json", "--spec", "spec.json", "--out", "part.npz"]) == 2  # none has one
    dataset, sample = drawn.source.draw()
    records = [dataset.records[0][row].model_copy(update={"spans": {"explanation": (0, 5)}})
               for row in sample.train_index[sample.candidates[:3]]]
    expected = compute(drawn.problem.with_records(records, tokens="explanation"), Scoring.parse(
        json.loads(Path("spec.json").read_text())))[0].values
    marked = uploads.keep_reading(uploads.UploadOptions(of=held.dataset, mark={"explanation": "^It is"}))
    Path("source.json").write_text(held.model_copy(update={"dataset": marked}).model_dump_json(exclude_defaults=True))
    assert main(["influence", "--data", "source.json", "--spec", "spec.json", "--out", "part.npz"]) == 0
    np.testing.assert_allclose(np.load("part.npz")["scores"], expected, rtol=1e-6, atol=1e-12)
    named = json.loads(Path("part.json").read_text())["new_candidates"]
    assert named["first"] == drawn.problem.n and named["names"][0].endswith("(explanation alone)")


def test_a_picture_is_read_as_in_the_training_data(pictures):
    dataset = load_image_folder(Path("old"))
    again = load_new(Path("old"), dataset, Path("old"))
    rows = [again.names.index(file) for file in dataset.files]
    np.testing.assert_array_equal(again.features[rows], dataset.x_train)
    np.testing.assert_array_equal(again.labels[rows], dataset.y_train)


def test_a_table_says_the_classes_of_new_pictures(pictures):
    flat = pictures / "flat"
    picture(flat / "a.png", 20, np.random.default_rng(1))
    (flat / "labels.csv").write_text("file,label\na.png,dog\n")
    assert load_new(flat, load_image_folder(Path("old")), None).labels.tolist() == [1]


def test_a_class_that_the_training_data_do_not_have_is_named(pictures, capsys):
    picture(pictures / "strange" / "bird" / "b.png", 20, np.random.default_rng(1))
    Path("spec.json").write_text(json.dumps(STEP))
    Path("problem.json").write_text(json.dumps({"dataset": uploads.keep_path(Path("old")), "n_queries": 4}))
    assert main(["influence", "--data", "problem.json", "--spec", "spec.json", "--out", "scores.npz",
                 "--new-candidates", "strange"]) == 2
    assert "`bird/b.png` has the class `bird`, which the training data do not have" in one_line(capsys)


TABLE = """age,city,joined,note,label
{rows}
"""


def table(path, count, seed, cities=("Bonn", "Paris")):
    rng = np.random.default_rng(seed)
    rows = [f"{rng.integers(20, 60)},{cities[rng.integers(2)]},2024-0{rng.integers(1, 9)}-11,"
            f"words of many kinds number {rng.integers(9)},{'yes' if rng.random() < 0.5 else 'no'}"
            for _ in range(count)]
    path.write_text(TABLE.format(rows="\n".join(rows)))
    return path


def test_rows_of_a_table_are_read_as_those_of_the_training_table(tmp_path):
    origin = table(tmp_path / "old.csv", 40, 0)
    dataset = load_table(origin)
    again = load_new(origin, dataset, origin)
    rows = [again.names.index(name) for name in dataset.files]
    np.testing.assert_array_equal(again.features[rows], dataset.x_train)
    np.testing.assert_array_equal(again.labels[rows], dataset.y_train)
    few = load_new(table(tmp_path / "new.csv", 3, 1, ("Rome", "Paris")), dataset, origin)  # a city that is unknown
    assert few.features.shape == (3, dataset.n_features) and np.isfinite(few.features).all()


@pytest.mark.parametrize(("content", "said"), [
    ("age,city,joined,label\n1,Bonn,2024-01-01,yes\n", "has no column `note`"),
    ("age,city,joined,note,label\n1,Bonn,2024-01-01,a b c d,maybe\n", "the class `maybe`"),
    ("age,city,joined,note,label\nold,Bonn,2024-01-01,a b c d,yes\n", "different kinds of values")])
def test_rows_that_do_not_fit_are_refused(tmp_path, content, said):
    origin = table(tmp_path / "old.csv", 40, 0)
    (tmp_path / "new.csv").write_text(content)
    with pytest.raises(InvalidInput, match=said):
        load_new(tmp_path / "new.csv", load_table(origin), origin)


@pytest.mark.slow  # in Python in tests/whichfluence/test_new_candidates.py
def test_records_of_a_language_model(tmp_path, monkeypatch, model_folder):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def written(name, records):
        Path(name).write_text("\n".join(json.dumps(record) for record in records))
        return Path(name)

    asked = questions(26)
    records = [{"id": f"r{index}", "prompt": one.question, "response": f"It is {one.choices[one.answer]}."}
               for index, one in enumerate(asked)]
    dataset = uploads.keep_path(written("old.jsonl", records[:20]))
    written("new.jsonl", [*records[20:], {"id": "long", "prompt": "Which of these? " * 12, "response": "It is long."}])
    Path("problem.json").write_text(json.dumps({"dataset": dataset, "model": str(model_folder), "recipe": {
        "rank": 2, "epochs": 0}}))
    Path("spec.json").write_text(json.dumps({**STEP, "behavior": "response_loss", "estimator": "first_order"}))
    given = ["--data", "problem.json", "--spec", "spec.json", "--new-candidates", "new.jsonl"]
    assert main(["influence", *given, "--out", "scores.npz"]) == 0
    names = json.loads(Path("scores.json").read_text())["new_candidates"]["names"]
    assert names == [*(f"r{index}" for index in range(20, 26)), "long"]
    drawn = ProblemSource.parse(json.loads(Path("problem.json").read_text())).build()
    same_by_name("new.jsonl", Path("new.jsonl").read_bytes(), drawn)
    longer, sample = named("new.jsonl", Path("new.jsonl").read_bytes(), drawn).draw()
    assert longer.record("train", int(sample.train_index[-1])).id == "long" and len(sample.new) == 7
    by_explanation_alone(drawn)
    monkeypatch.setattr("engine.cli.problem.PART", 3)
    assert main(["stream", *given, "--out", "ends.csv", "--k", "3"]) == 0
    scores, ends = np.load("scores.npz")["scores"], pd.read_csv("ends.csv")
    for row in ends.itertuples():
        place = np.argsort(-scores[row.query] if row.end == "top" else scores[row.query], kind="stable")[row.rank - 1]
        assert row.name == names[place]
        assert row.score == pytest.approx(scores[row.query, place], rel=1e-4, abs=1e-9)

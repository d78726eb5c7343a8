"""Folders as bergson's `score` writes them are read as numpy reads them; what contradicts itself is refused."""

import io
import json
import zipfile

import numpy as np
import pytest
from numpy.lib.recfunctions import structured_to_unstructured

from engine.basics.errors import InvalidInput, MissingData
from engine.external.files import read_table

SCORES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)  # a row a training example


def layout(queries, kind="float32", pair=8, itemsize=24):
    """Each score beside the byte that says whether it is written, as bergson aligns them."""
    size = 2 if kind == "bfloat16" else np.dtype(kind).itemsize
    return {"names": [name for q in range(queries) for name in (f"score_{q}", f"written_{q}")],
            "formats": [kind, "bool"] * queries,
            "offsets": [at for q in range(queries) for at in (pair * q, pair * q + size)], "itemsize": itemsize}


def written(folder, values=SCORES, kind="float32", pair=8, itemsize=24, stored=None, **more):
    """The two files, by numpy's own structured arrays."""
    declared = layout(values.shape[1], kind, pair, itemsize)
    plain = {**declared, "formats": [stored or one if one != "bool" else one for one in declared["formats"]]}
    table = np.zeros(len(values), np.dtype(plain))
    for q in range(values.shape[1]):
        table[f"score_{q}"], table[f"written_{q}"] = values[:, q], True
    folder.mkdir(exist_ok=True)
    (folder / "scores.bin").write_bytes(table.tobytes())
    info = {"num_items": len(values), "num_rows": len(values), "num_scores": values.shape[1], "dtype": declared}
    (folder / "info.json").write_text(json.dumps(info | more))
    return table


def zipped(folder):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, f"runs/scores/{path.name}")
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(("kind", "pair", "itemsize"), [("float16", 4, 16), ("float32", 8, 24), ("float64", 16, 48)])
def test_a_folder_and_its_zip_are_the_table_that_a_structured_array_gives(tmp_path, kind, pair, itemsize):
    table = written(tmp_path / "scores", SCORES.astype(kind), kind, pair, itemsize)
    expected = structured_to_unstructured(table[["score_0", "score_1", "score_2"]])
    np.testing.assert_array_equal(read_table(tmp_path / "scores").values, expected)
    np.testing.assert_array_equal(read_table(zipped(tmp_path / "scores"), "scores.zip").values, expected)


def test_half_precision_of_models_is_read(tmp_path):
    halves = (SCORES.view(np.uint32) >> 16).astype(np.uint16)
    written(tmp_path / "scores", halves, "bfloat16", 4, 16, stored="<u2")
    np.testing.assert_allclose(read_table(tmp_path / "scores").values, SCORES, rtol=2**-7)


def test_a_score_that_was_never_written_is_not_a_number(tmp_path):
    table = written(tmp_path / "scores")
    table["written_1"][4] = False
    (tmp_path / "scores" / "scores.bin").write_bytes(table.tobytes())
    found = read_table(tmp_path / "scores").values
    assert np.isnan(found[4, 1]) and np.isfinite(found).sum() == found.size - 1


@pytest.mark.parametrize(("more", "words"), [
    ({"attribute_tokens": True}, "a score for every token"), ({"num_rows": 7}, "declares 7 rows"),
    ({"num_scores": 4}, "does not describe"), ({"num_rows": -1}, "does not describe"), ({"dtype": 3}, "does not"),
    ({"dtype": layout(3, itemsize=20)}, "does not describe"), ({"dtype": layout(3, "int8")}, "stored as int8"),
    ({"num_rows": True}, "does not describe"), ({"dtype": layout(3) | {"offsets": ["0"] * 6}}, "does not describe")])
def test_what_contradicts_itself_is_refused(tmp_path, more, words):
    written(tmp_path / "scores", **more)
    with pytest.raises(InvalidInput, match=words):
        read_table(tmp_path / "scores")


def test_what_is_missing_is_said(tmp_path):
    written(tmp_path / "scores")
    both = zipped(tmp_path / "scores")
    (tmp_path / "scores" / "info.json").unlink()
    with pytest.raises(MissingData, match=r"info\.json"):
        read_table(tmp_path / "scores")
    with pytest.raises(InvalidInput, match="beside `scores.bin`"):
        read_table(zipped(tmp_path / "scores"), "scores.zip")
    (tmp_path / "scores" / "scores.bin").rename(tmp_path / "scores" / "other.bin")
    with pytest.raises(InvalidInput, match="holds no files `scores.bin`"):
        read_table(zipped(tmp_path / "scores"), "scores.zip")
    cut = io.BytesIO(both.getvalue()[:200])
    with pytest.raises(InvalidInput, match="cannot be opened"):
        read_table(cut, "scores.zip")

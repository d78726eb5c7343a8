"""Score files of every kind come back as they were written, and what is no plain table is refused in a sentence."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.sparse
import torch
from pyarrow import parquet
from safetensors.numpy import save_file
from safetensors.torch import save as save_tensors

from engine.basics.errors import InvalidInput, MissingData
from engine.external.files import names, read_table, sources
from engine.external.header_row import NAMES, Numbering
from engine.external.header_row import SCORES as ROW

SCORES = np.random.default_rng(0).normal(size=(4, 6))


def wide():
    return pd.DataFrame(SCORES, columns=[f"z{place}" for place in range(6)])


def long(columns=("query", "candidate", "score"), candidates=range(6)):
    rows = [(q, k, SCORES[q, at]) for q in range(4) for at, k in enumerate(candidates)]
    return pd.DataFrame(rows, columns=list(columns)).sample(frac=1, random_state=0)


WRITERS = {
    "a.npy": lambda path: np.save(path, SCORES),
    "a.npz": lambda path: np.savez(path, anything=SCORES, labels=np.arange(6)),
    "own.npz": lambda path: np.savez(path, scores=SCORES, other=SCORES + 1, converged=np.ones(6, bool)),
    "a.safetensors": lambda path: save_file({"all_modules": SCORES}, path),
    "a.parquet": lambda path: wide().to_parquet(path),
    "long.parquet": lambda path: long().to_parquet(path, index=False),
    "plain.csv": lambda path: pd.DataFrame(SCORES).to_csv(path, header=False, index=False),
    "named.csv": lambda path: wide().to_csv(path, index=False),
    "indexed.csv": lambda path: wide().to_csv(path),
    "counted.csv": lambda path: pd.DataFrame(SCORES).to_csv(path, index=False),
    "long.csv": lambda path: long(("Test_Index", "train_index", "influence")).to_csv(path, index=False),
    "short.csv": lambda path: long(("query_idx", "train_idx", "value")).to_csv(path, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_is_read_as_written(tmp_path, name):
    WRITERS[name](tmp_path / name)
    np.testing.assert_allclose(read_table(tmp_path / name).values, SCORES, rtol=1e-12)
    with open(tmp_path / name, "rb") as file:
        np.testing.assert_allclose(read_table(file, name).values, SCORES, rtol=1e-12)


def test_single_precision_and_one_query(tmp_path):
    np.save(tmp_path / "one.npy", SCORES[0].astype(np.float32))
    assert read_table(tmp_path / "one.npy").values.shape == (1, 6)


CANDIDATES = (7, 2, 30, 11, 4, 25)
KNOWN = Numbering(4, CANDIDATES, 40)


def numbered(first, rows=4):
    """A CSV of whole numbers in the first row, and `rows` rows of scores."""
    body = [",".join(map(repr, row.tolist())) for row in np.resize(SCORES, (rows, 6))]
    return io.BytesIO("\n".join([",".join(map(str, first)), *body]).encode())


@pytest.mark.parametrize(("first", "rows", "kind", "remark", "doubt"), [
    (CANDIDATES, 4, NAMES, "numbers of the training examples", ""),
    (CANDIDATES[::-1], 4, NAMES, "numbers of the training examples", ""),
    (range(6), 4, NAMES, "0 to 5", ""),
    (CANDIDATES, 3, NAMES, "numbers of the training examples", ""),  # a query is missing: the shape says so
    (range(6), 3, NAMES, "0 to 5", ""),
    ((9, 8, 1, 0, 3, 5), 4, NAMES, "", "do not number the candidates"),
    ((9, 8, 1, 0, 3, 5), 3, ROW, "", ""), ((1, 1, 2, 0, 3, 5), 3, ROW, "", ""), ((-1, 0, 2, 3, 4, 5), 3, ROW, "", "")])
def test_a_first_row_of_whole_numbers_is_judged_by_the_problem(first, rows, kind, remark, doubt):
    table = read_table(numbered(first, rows), "a.csv", known=KNOWN)
    assert table.first_row.kind == kind and table.values.shape[0] == rows + (kind == ROW)
    assert remark in table.first_row.remark and doubt in table.first_row.doubt
    assert bool(table.first_row.doubt) == bool(doubt)


def test_columns_named_by_candidates_are_known_by_them():
    table = read_table(numbered(CANDIDATES), "a.csv", known=KNOWN)
    assert table.candidates.tolist() == list(CANDIDATES)
    np.testing.assert_allclose(table.values, SCORES)


def test_the_reader_has_the_last_word_on_the_first_row():
    said = read_table(numbered(CANDIDATES), "a.csv", first_row=ROW, known=KNOWN)
    assert said.values.shape == (5, 6) and said.candidates is None
    assert "as chosen, although it looks like the names" in said.first_row.remark
    assert read_table(numbered((1, 1, 2, 0, 3, 5)), "a.csv", first_row=NAMES).values.shape == (4, 6)
    with pytest.raises(InvalidInput, match="use names, scores or auto"):
        read_table(numbered(CANDIDATES), "a.csv", first_row="header")


def test_candidates_that_a_file_names_are_kept(tmp_path):
    long(candidates=[9, 3, 5, 1, 0, 7]).to_csv(tmp_path / "long.csv", index=False)
    table = read_table(tmp_path / "long.csv")
    assert table.candidates.tolist() == [0, 1, 3, 5, 7, 9]
    np.testing.assert_allclose(table.values, SCORES[:, [4, 3, 1, 2, 5, 0]])
    np.savez(tmp_path / "own.npz", scores=SCORES, candidates=np.array([5, 4, 3, 2, 1, 0]))
    assert read_table(tmp_path / "own.npz").candidates.tolist() == [5, 4, 3, 2, 1, 0]


def test_ids_that_are_text_are_sorted_as_numbers(tmp_path):
    scores = np.random.default_rng(1).normal(size=(12, 11))
    frame = pd.DataFrame([(str(q), f"{k:02d}", scores[q, k]) for q in range(12) for k in range(11)],
                         columns=["query", "candidate", "score"]).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "long.parquet", index=False)
    table = read_table(tmp_path / "long.parquet")
    assert table.candidates.tolist() == list(range(11)) and table.rows.tolist() == list(range(12))
    np.testing.assert_array_equal(table.values, scores)


@pytest.mark.parametrize(("query", "candidate", "words"), [
    ("q1", 0, "The list names the query `q1`, which is not a number"),
    (0, "z7", "The list names the training example `z7`, which is not a number")])
def test_a_list_that_names_by_text_is_refused(query, candidate, words):
    content = f"query,candidate,score\n{query},{candidate},1.0\n1,1,2.0\n{query},1,1.0\n1,{candidate},2.0\n"
    with pytest.raises(InvalidInput, match=words):
        read_table(io.BytesIO(content.encode()), "long.csv")


def test_numbers_that_name_the_rows_of_a_table_are_kept(tmp_path):
    frame = pd.DataFrame(SCORES, index=pd.Index([2, 0, 3, 1], name="query"))
    for name, write in {"a.csv": frame.to_csv, "a.parquet": lambda path: frame.rename(columns=str).to_parquet(path)
                        }.items():
        write(tmp_path / name)
        table = read_table(tmp_path / name)
        assert table.rows.tolist() == [2, 0, 3, 1] and table.remark == ""
    frame.index = pd.Index([f"q{place}" for place in range(4)], name="query")
    frame.to_csv(tmp_path / "text.csv")
    table = read_table(tmp_path / "text.csv")
    assert table.rows is None and "named by text (`q0`, …)" in table.remark


def test_one_of_several_arrays_is_named(tmp_path):
    np.savez(tmp_path / "two.npz", first=SCORES, second=SCORES + 1)
    with pytest.raises(InvalidInput, match="several tables, `first`, `second`"):
        read_table(tmp_path / "two.npz")
    np.testing.assert_array_equal(read_table(tmp_path / "two.npz", key="second").values, SCORES + 1)
    with pytest.raises(InvalidInput, match="no array `third`"):
        read_table(tmp_path / "two.npz", key="third")


class Trap:
    def __reduce__(self):
        raise AssertionError("was unpickled")


def evil():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def npy(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def described(described):
    """A parquet file with that as what pandas notes of it."""
    buffer = io.BytesIO()
    table = pyarrow.table({"z": [1.0, 2.0]}).replace_schema_metadata({"pandas": described})
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def safe(header):
    return len(header).to_bytes(8, "little") + header


HUGE = 10**18
UNFORESEEN = {
    "empty.npy": lambda: npy(b""), "words.npy": lambda: npy(b"hello"), "deep.npy": lambda: npy(b"[" * 9_000),
    "keys.npy": lambda: npy(b"{'descr': '<f8'}"), "kind.npy": lambda: npy(b"{'descr': '<q9', 'fortran_order': 1}"),
    "names.npy": lambda: npy(b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 1)}"),
    "shape.npy": lambda: npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({HUGE}, {HUGE})}}".encode()),
    "zero.npy": lambda: npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({HUGE}, 0)}}".encode()),
    "minus.npy": lambda: npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4)}"),
    "long.csv": lambda: b'"' + b"x" * 140_000 + b'",b\n1,2\n',
    "bytes.csv": lambda: b"\xff\xfe\x00,1\n", "quote.csv": lambda: b'1,2\n"3,4\n',
    "notes.parquet": lambda: described(b"nothing"), "deep.parquet": lambda: described(b"[" * 100_000),
    "columns.parquet": lambda: described(json.dumps({"index_columns": [7], "columns": 3}).encode()),
    "deep.safetensors": lambda: safe(b"[" * 100_000), "list.safetensors": lambda: safe(b"[1]"),
    "none.safetensors": lambda: safe(b'{"scores": 3}'),
    "shape.safetensors": lambda: safe(json.dumps({"scores": {"dtype": "F64", "shape": [HUGE, HUGE],
                                                             "data_offsets": [0, 8]}}).encode()),
    "kind.safetensors": lambda: safe(b'{"scores": {"dtype": "F9", "shape": [1, 1], "data_offsets": [0, 0]}}')}


@pytest.mark.parametrize("name", UNFORESEEN)
def test_no_content_of_a_file_is_unforeseen(name):
    with pytest.raises(InvalidInput) as caught:
        read_table(io.BytesIO(UNFORESEEN[name]()), name)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_scores_of_few_bits_are_read(kind):
    scores = torch.tensor([[1.0, -0.5, 2.0], [0.25, 4.0, -8.0]])
    table = read_table(io.BytesIO(save_tensors({"scores": scores.to(kind)})), "a.safetensors")
    np.testing.assert_array_equal(table.values, scores.double().numpy())


def test_a_list_by_the_ids_of_both_sides_and_tabs_between_its_cells():
    text = long(("test_id", "train_id", "score")).to_csv(index=False, sep="\t").encode()
    np.testing.assert_allclose(read_table(io.BytesIO(text), "a.tsv").values, SCORES)


def sparse(matrix):
    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.csr_matrix(matrix))
    return buffer.getvalue()


FAULTY = {
    "objects.npy": (evil, "never unpickled"),
    "pickled.npy": (lambda: pickle.dumps([1.0]), "never unpickled|cannot be read"),
    "text.npy": (lambda: b"hello", "cannot be read|never unpickled"),
    "sparse.npz": (lambda: sparse(np.eye(3)), "sparse matrix; save them as a dense one"),
    "cut.npz": (lambda: b"PK\x03\x04 no", "cannot be opened"),
    "cut.parquet": (lambda: b"PAR1", "cannot be read"),
    "cut.safetensors": (lambda: b"\x00" * 20, "cannot be read"),
    "words.csv": (lambda: b"a,b\n1,x\n2,y\n", "does not hold numbers"),
    "empty.csv": (lambda: b"", "cannot be read"),
    "twice.csv": (lambda: b"query,candidate,score\n0,0,1\n0,0,2\n", "two scores for the same"),
    "holes.csv": (lambda: b"query,candidate,score\n0,0,1\n1,1,2\n", "no score for some pairs"),
    "model.bin": (lambda: b"", "not a supported score file"),
    "top.pt": (lambda: saved((torch.arange(6), torch.ones(6))).getvalue(), "one of whole numbers, as the indices"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path, name):
    content, words = FAULTY[name]
    (tmp_path / name).write_bytes(content())
    with pytest.raises(InvalidInput, match=words) as caught:
        read_table(tmp_path / name)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["1,2,3\n4,5\n6,7,8\n", "1,2\n3,4,5\n6,7,8\n9,1,2,3\n", "1,2,3\n4,5,6\n7\n",
                                     "a,b\n1,2,3,4\n", 'a,"b,c",d\n1,2,3\n4,5\n',
                                     "query,candidate,score\n0,1\n1,1,2\n"])
def test_a_row_of_another_length_is_refused(content):
    with pytest.raises(InvalidInput, match="cells and others have"):
        read_table(io.BytesIO(content.encode()), "a.csv")


@pytest.mark.parametrize("content", ["a,b\nq,1,2\nr,3,4\n", "1,2\n\n3,4\n", 'x,"a,b",c\n1,2,3\n', "1,2\n3,\n"])
def test_rows_of_one_length_are_read(content):
    assert read_table(io.BytesIO(content.encode()), "a.csv").values.size >= 3


def test_a_cube_and_a_missing_file(tmp_path):
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(InvalidInput, match=r"shape \(2, 2, 2\)"):
        read_table(tmp_path / "cube.npy")
    with pytest.raises(MissingData, match="There is no file"):
        read_table(tmp_path / "nothing.npy")


NAMED = tuple(f"kinds-{place}" for place in (4, 1, 5, 0, 2, 3))
RECORDS = Numbering(4, tuple(range(6)), 6, ({f"kinds-{place}": place for place in range(6)},
                                            {f"sums-{place}": place for place in range(4)}))


@pytest.mark.parametrize("first", ["", "query", "id"])
def test_records_are_matched_by_their_ids(first):
    frame = pd.DataFrame(SCORES, columns=NAMED, index=pd.Index([f"sums-{place}" for place in (2, 0, 3, 1)], name=first))
    table = read_table(io.BytesIO(frame.to_csv().encode()), "a.csv", known=RECORDS)
    assert table.candidates.tolist() == [4, 1, 5, 0, 2, 3] and table.rows.tolist() == [2, 0, 3, 1]
    assert table.remark == ("The rows are matched by the ids of the records. "
                            "The columns are matched by the ids of the records.")
    turned = read_table(io.BytesIO(frame.T.to_csv().encode()), "a.csv", known=RECORDS)
    assert turned.candidates.tolist() == [2, 0, 3, 1] and turned.rows.tolist() == [4, 1, 5, 0, 2, 3]


def test_a_list_names_records_by_their_ids():
    given = long(candidates=list(NAMED))
    given["query"] = [f"sums-{query}" for query in given["query"]]
    table = read_table(io.BytesIO(given.to_csv(index=False).encode()), "a.csv", known=RECORDS)
    assert table.candidates.tolist() == list(range(6)) and table.rows.tolist() == list(range(4))
    np.testing.assert_allclose(table.values, SCORES[:, np.argsort([4, 1, 5, 0, 2, 3])])


def test_ids_of_other_records_are_refused_and_other_text_is_not_matched():
    def read(names):
        return read_table(io.BytesIO(pd.DataFrame(SCORES, columns=names).to_csv(index=False).encode()), "a.csv",
                          known=RECORDS)

    with pytest.raises(InvalidInput, match="`kinds-77` is not one of this problem's"):
        read(["kinds-77", *NAMED[1:]])
    other = read([f"z{place}" for place in range(6)])
    assert other.candidates is None and "is not matched" in other.remark


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.int64])
def test_tensors_of_torch_are_read_as_captum_and_dattri_return_them(kind):
    scores = torch.arange(6).reshape(2, 3).to(kind)
    for value, name in ((scores, ""), ({"scores": scores, "labels": torch.ones(2)}, "scores"), ({"a": scores}, "a")):
        table = read_table(saved(value), "scores.pt")
        np.testing.assert_array_equal(table.values, np.arange(6.0).reshape(2, 3))
        assert table.name == name
    np.testing.assert_array_equal(read_table(saved(scores[:, ::2].T), "scores.pth").values, [[0, 3], [2, 5]])


@pytest.mark.parametrize("axis", [0, 2])
def test_tables_of_checkpoints_are_added_up(axis):
    """As TracIn adds its checkpoints up: 3 of them, for 2 queries and 5 candidates of 9 training examples."""
    stack, known = np.random.default_rng(0).normal(size=(3, 2, 5)), Numbering(2, tuple(range(5)), 9)
    buffer = io.BytesIO()
    np.save(buffer, np.moveaxis(stack, 0, axis).astype(np.float16))
    table = read_table(io.BytesIO(buffer.getvalue()), "stack.npy", known=known)
    np.testing.assert_allclose(table.values, stack.astype(np.float16).astype(float).sum(0))
    assert "its 3 tables, as of checkpoints, are summed" in table.remark
    if axis == 0:
        torch.save([torch.tensor(one) for one in stack], listed := io.BytesIO())
        np.testing.assert_allclose(read_table(io.BytesIO(listed.getvalue()), "stack.pt", known=known).values,
                                   stack.sum(0))
    with pytest.raises(InvalidInput, match="one for each checkpoint"):
        read_table(io.BytesIO(buffer.getvalue()), "stack.npy", known=Numbering(4, tuple(range(6)), 9))


def test_a_folder_of_files_is_as_many_tables_and_each_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    (tmp_path / "b.csv").write_text("1,2,3\n4,5,6\n")
    (tmp_path / "notes.txt").write_text("none of them")
    for run in ("ekfac", "identity"):
        (tmp_path / run).mkdir()
        save_file({"all_modules": np.ones((2, 3))}, tmp_path / run / "pairwise_scores.safetensors")
    found = sources(tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in found] == [
        "a.npy", "b.csv", "ekfac/pairwise_scores.safetensors", "identity/pairwise_scores.safetensors"]
    assert names([str(file) for file in found]) == [file.stem if file.parent == tmp_path else file.parent.name
                                                    for file in found]
    assert names(["x/theirs.npy", "y/theirs.npy"]) == ["theirs", "theirs (2)"]
    (tmp_path / "runs" / "first").mkdir(parents=True)
    np.save(tmp_path / "runs" / "first" / "scores.npy", np.ones((2, 3)))
    assert sources(tmp_path / "runs") == [tmp_path / "runs" / "first" / "scores.npy"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds no scores"):
        sources(tmp_path / "empty")


@pytest.mark.parametrize(("value", "match"), [
    (print, "never unpickled"), ({"a": "text"}, "no table of numbers"), (["text"], "no table of numbers"),
    ([torch.ones(2, 2)], "one for each checkpoint"),
    (torch.ones(1).expand(200_000, 200_000), "values, and at most"), (torch.ones(2, 2, dtype=torch.complex64), "type"),
    ({"a": torch.ones(2, 2), "b": torch.ones(2, 2)}, "several tables"),
    pytest.param(torch.ones(2, 2).to_sparse(), "is sparse",
                 marks=pytest.mark.filterwarnings("ignore:Validating sparse tensor"))])
def test_other_files_of_torch_are_refused(value, match):
    with pytest.raises(InvalidInput, match=match):
        read_table(saved(value), "scores.pt")


def test_folders_of_kronfluence_and_trak_hold_their_scores(tmp_path):
    scores = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "scores_ekfac").mkdir()
    save_file({"all_modules": scores}, tmp_path / "scores_ekfac" / "pairwise_scores.safetensors")
    for folder in (tmp_path, tmp_path / "scores_ekfac"):
        np.testing.assert_array_equal(read_table(folder).values, scores)
    (tmp_path / "scores").mkdir()
    np.lib.format.open_memmap(tmp_path / "scores" / "mine.mmap", "w+", np.float32, (3, 2))[:] = scores.T
    np.testing.assert_array_equal(read_table(tmp_path / "scores" / "mine.mmap").values, scores.T)
    with pytest.raises(InvalidInput, match="2 files of scores.*mine.mmap"):
        read_table(tmp_path)


def test_kronfluences_scores_by_module_are_summed(tmp_path):
    parts = {f"layers.{k}": SCORES * (k + 1) for k in range(3)}
    save_file(parts, tmp_path / "pairwise_scores.safetensors")
    found = read_table(tmp_path)
    np.testing.assert_allclose(found.values, 6 * SCORES)
    assert found.name == "all_modules" and "scores of 3 modules, which are summed" in found.remark
    np.testing.assert_allclose(read_table(tmp_path, key="layers.1").values, 2 * SCORES)
    save_file(parts, tmp_path / "other.safetensors")
    with pytest.raises(InvalidInput, match="contains several tables"):
        read_table(tmp_path / "other.safetensors")

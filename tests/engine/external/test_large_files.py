"""Files that are too large or hold another table than they declare are refused before they are read whole."""

import io
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from safetensors.numpy import save_file

from engine.basics.errors import InvalidInput
from engine.external import budgets, frames
from engine.external.files import read_table
from tests.engine.external.test_files import SCORES, WRITERS


def test_a_large_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.external.budgets.MOST_BYTES", 100)
    np.save(tmp_path / "large.npy", SCORES)
    with pytest.raises(InvalidInput, match="more than 0 MB"):
        read_table(tmp_path / "large.npy")


def huge_header(path):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})


def npz_of_a_huge_header(path):
    huge_header(path.with_suffix(".npy"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(path.with_suffix(".npy"), "scores.npy")


LARGE = {"a.npy": huge_header, "a.npz": npz_of_a_huge_header,
         "a.parquet": lambda path: pd.DataFrame({"z": np.zeros(2_000), "y": np.ones(2_000)}).to_parquet(path),
         "a.csv": lambda path: path.write_text("1,2,3\n" * 1_200),
         "long.csv": lambda path: pd.DataFrame([(q, q, 0.5) for q in range(100)],
                                               columns=["query", "candidate", "score"]).to_csv(path, index=False),
         "a.safetensors": lambda path: save_file({"scores": np.zeros((60, 60), np.float32)}, path)}


@pytest.mark.parametrize("name", LARGE)
def test_a_table_too_large_is_refused_before_it_is_made(tmp_path, name, monkeypatch):
    def made(*_, **__):
        raise AssertionError("the table is made before its size is known")

    monkeypatch.setattr(budgets, "MOST_VALUES", 3_000)
    for owner, method in ((frames.parquet, "read_table"), (frames, "filled"), (np.lib.format, "read_array")):
        monkeypatch.setattr(owner, method, made)
    LARGE[name](tmp_path / name)
    with pytest.raises(InvalidInput, match="at most 3,000 are read"):
        read_table(tmp_path / name)


def peak_of(work):
    """The most bytes that numpy and Python held at once beyond what they held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_incomplete_list_is_refused_before_a_table_of_it_is_made():
    content = "query,candidate,score\n" + "".join(f"{place},{place},1\n" for place in range(6_000))

    def read():
        with pytest.raises(InvalidInput, match="no score for some pairs"):
            read_table(io.BytesIO(content.encode()), "a.csv")

    assert peak_of(read) < 30e6  # 6,000 × 6,000 values are 288 MB


def test_a_pair_that_is_missing_is_refused_beside_a_score_that_is_nan():
    content = b"query,candidate,score\n0,0,nan\n0,1,1\n1,0,2\n"
    with pytest.raises(InvalidInput, match="no score for some pairs"):
        read_table(io.BytesIO(content), "a.csv")


def test_only_the_array_that_is_meant_is_unpacked(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", scores=SCORES, **{f"mask{at}": np.zeros(10**7, bool) for at in range(4)})
    assert peak_of(lambda: read_table(tmp_path / "a.npz")) < 10e6


def test_a_parquet_whose_texts_unpack_to_much_is_never_spelled_out(tmp_path):
    before = pyarrow.default_memory_pool().max_memory()
    names = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(3_000, np.int32)), ["x" * 10**5])
    parquet.write_table(pyarrow.table({"z": names.cast(pyarrow.string()), "y": SCORES[0][:1].repeat(3_000)}),
                        tmp_path / "a.parquet")
    written = pyarrow.default_memory_pool().max_memory()
    with pytest.raises(InvalidInput, match="`z` does not hold numbers"):
        read_table(tmp_path / "a.parquet")
    assert pyarrow.default_memory_pool().max_memory() == written and before <= written


def test_lists_in_a_parquet_are_refused_before_they_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "read_table", None)
    parquet.write_table(pyarrow.table({"z": [[0.0] * 1_000] * 10}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match="`z` does not hold numbers"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_too_many_columns_are_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr(budgets, "MOST_COLUMNS", 5)
    WRITERS["plain.csv" if name == "a.csv" else name](tmp_path / name)
    with pytest.raises(InvalidInput, match="has 6 columns, and at most 5 of a CSV or a parquet file are read"):
        read_table(tmp_path / name)


def test_text_in_a_wide_table_is_refused_at_its_first_rows(monkeypatch):
    """What stands further down is not decoded: there it is no UTF-8."""
    monkeypatch.setattr(frames, "AT_ONCE", 0)
    rows = [b"a,b", b"1,x"] + [b"1,2"] * 300_000 + [b"1,\xff"]
    with pytest.raises(InvalidInput, match="^The column `b` does not hold numbers"):
        read_table(io.BytesIO(b"\n".join(rows)), "a.csv")


@pytest.mark.parametrize("head", ["{}", "query,{}", ",{}"])
def test_a_wide_table_of_text_is_refused_by_its_first_bytes(monkeypatch, head):
    """Nothing is parsed, and no more is looked at than the beginning."""
    for owner, method in ((frames, "_check_rows"), (frames.pd, "read_csv"), (budgets, "check_values")):
        monkeypatch.setattr(owner, method, None)
    monkeypatch.setattr(frames, "FIRST_BYTES", 4_000)
    names = ",".join(f"c{place}" for place in range(500))
    key = "q," if "query" in head or head.startswith(",") else ""
    rows = [key + ",".join(f"t{row}x{place}" for place in range(500)) for row in range(20)]
    content = "\n".join([head.format(names), *rows]).encode()
    with pytest.raises(InvalidInput, match="^The column `c[0-2]` does not hold numbers"):
        read_table(io.BytesIO(content), "a.csv")


def test_text_further_down_a_wide_table_is_told_once(recwarn):
    """A part is parsed in one go: the library would else look for, and name, each column that it read in two kinds."""
    rows = [",".join(f"c{place}" for place in range(3_000)), *[",".join(["1.5"] * 3_000)] * 300, ",".join("t" * 3_000)]
    with pytest.raises(InvalidInput, match="^The column `c0` does not hold numbers"):
        read_table(io.BytesIO("\n".join(rows).encode()), "a.csv")
    assert [str(warning.message)[:80] for warning in recwarn] == []


@pytest.mark.parametrize("at", range(40, 80))
def test_numbers_that_the_first_bytes_cut_in_two_are_numbers(monkeypatch, at):
    """And so are those of a row whose name, below no name, comes first."""
    monkeypatch.setattr(frames, "FIRST_BYTES", at)
    content = b"a,b,c\nrow-1,1.5e-10,-2.5e+10,NaN\nrow-2,-3.5e-10,,+1.5E-7\nrow-3,1e-3,2,3\n"
    table = read_table(io.BytesIO(content), "a.csv")
    np.testing.assert_array_equal(table.values, [[1.5e-10, -2.5e10, np.nan], [-3.5e-10, np.nan, 1.5e-7], [1e-3, 2, 3]])


@pytest.mark.parametrize("text", ["query,a,b\n", ",a,b\n", "a,b\n"])
def test_a_wide_table_is_read_whole_part_by_part(monkeypatch, text):
    monkeypatch.setattr(frames, "AT_ONCE", 0)
    count = 3 * frames.LEAST_ROWS + 5
    named = text.count(",") == 2
    content = text + "".join((f"{row}," if named else "") + f"{row},{row / 4}\n" for row in range(count))
    table = read_table(io.BytesIO(content.encode()), "a.csv")
    np.testing.assert_array_equal(table.values, np.stack([np.arange(count), np.arange(count) / 4], 1))
    assert table.rows is None

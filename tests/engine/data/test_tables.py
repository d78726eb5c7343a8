"""Tables as programs write them: their dialect, their label, what becomes of each kind of column, and the way back."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.basics.delimited import dialect_of, plain
from engine.basics.errors import InvalidInput
from engine.data.features import features
from engine.data.rewriting import rewritten
from engine.data.tables import load_table, read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"id": [f"s{k:02}" for k in range(24)], "a": RNG.normal(size=24).round(3),
                      "b": RNG.normal(size=24).round(3), "label": ["lo", "hi"] * 12})


def german(frame):
    return frame.to_csv(index=False, sep=";", decimal=",")


WRITTEN = {
    "plain.csv": lambda f: f.to_csv(index=False).encode(), "german.csv": lambda f: german(f).encode("utf-16"),
    "ansi.csv": lambda f: german(f.replace("lo", "ß")).encode("cp1252"), "sep.csv": lambda f: b"sep=;\r\n" + german(
        f).encode("utf-8-sig"), "tabs.tsv": lambda f: f.to_csv(index=False, sep="\t").encode(),
    "bare.csv": lambda f: f.to_csv(index=False, sep="\t").encode("utf-16-le"),
    "rows.ndjson": lambda f: f.to_json(orient="records", lines=True).encode(),
    "wide.ndjson": lambda f: f.to_json(orient="records", lines=True).encode("utf-16"),
    "list.ndjson": lambda f: f.to_json(orient="records").encode()}


def kept(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


@pytest.mark.parametrize("name", WRITTEN)
def test_one_table_in_any_dialect_is_one_dataset(name, tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    wanted = load_table(tmp_path / "t.parquet")
    found = load_table(kept(tmp_path, name, WRITTEN[name](FRAME)))
    assert found.files == wanted.files and found.class_names[0] == "hi"
    np.testing.assert_array_equal(found.raw_train, wanted.raw_train)


def test_arrow_files_and_streams_are_read(tmp_path):
    table = pa.Table.from_pandas(FRAME)
    for name, opened in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
        with opened(tmp_path / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
        assert load_table(tmp_path / f"{name}.arrow").class_names == ("hi", "lo")


@pytest.mark.parametrize(("text", "separator", "decimal"), [
    ("a,b\n1.5,2\n", ",", "."), ("a;b\n1,5;2,5\n", ";", ","), ("a\tb\n1,5\t2\n", "\t", ","), ("a|b\n1|2\n", "|", "."),
    ("a;b\n1.234,5;2\n", ";", ","), ("a;b\n1.25;2\n", ";", "."), ("a,b\n\"x;y\",2\n\"z\",3\n", ",", "."),
    ("a\n1\n2\n", ",", "."), ("a,b\nx;y,1\nz;u,2\n", ",", ".")])
def test_dialects(text, separator, decimal):
    found = dialect_of(text.encode())
    assert (found.separator, found.decimal) == (separator, decimal)
    assert (plain(text.encode())[1] == "") == (separator == ",")


def test_thousands_and_decimal_commas_become_points():
    assert plain(b"a;b\n1.234,5;2.345\n")[0] == b"a,b\n1234.5,2345\n"
    assert plain("a;b\n1\u202f234,5;-2\u2009345 678,9\n".encode())[0] == b"a,b\n1234.5,-2345678.9\n"


@pytest.mark.parametrize(("columns", "label", "said"), [
    (["x", "Target"], "Target", "by its name"), (["x", "is_label"], "is_label", "by its name"),
    (["x", "label"], "label", ""), (["x", "kind of thing"], "kind of thing", "the only one with few distinct texts")])
def test_the_label_is_told_by_name_or_values(columns, label, said, tmp_path):
    frame = FRAME.rename(columns={"a": columns[0], "label": columns[1]})[["id", *columns]]
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert found.label == label and said in " ".join(found.said) and found.names[0] == "s00"


def test_a_label_can_be_chosen_and_is_asked_for_where_nothing_tells_it(tmp_path):
    frame = pd.DataFrame({"a": RNG.normal(size=20), "b": RNG.normal(size=20), "c": np.arange(20) % 2 * 0.5})
    frame.to_parquet(tmp_path / "t.parquet")
    assert load_table(tmp_path / "t.parquet", label="c").class_names == ("0.0", "0.5")
    for label, said in (("", "none of `a`, `b`, `c` is certainly"), ("z", "has no column `z`")):
        with pytest.raises(InvalidInput, match=said):
            load_table(tmp_path / "t.parquet", label=label)


def test_a_guessed_label_with_holes_is_said_to_be_a_guess(tmp_path):
    rows = "u,town,v\n" + "".join(f"{k}.5,{['', 'Ely', 'York'][k % 3]},{k % 7}.25\n" for k in range(24))
    path = kept(tmp_path, "t.csv", rows.encode())
    with pytest.raises(InvalidInput, match=r"`town`, taken as the labels \(the only one with few distinct texts\), is "
                                           r"empty.* in 8 of 24 rows; .*choose another column"):
        read_table(path)
    with pytest.raises(InvalidInput, match="The column `town` is empty"):
        read_table(path, label="town")


@pytest.mark.parametrize(("labels", "said"), [
    ([str(["a", "b"]), str(["b"])] * 20, "holds lists or objects, not labels"),
    (np.arange(40) * 7, "holds 40 different numbers, not classes")])
def test_several_labels_a_row_and_whole_numbers_that_measure_are_no_classes(labels, said, tmp_path):
    pd.DataFrame({"a": RNG.normal(size=40), "target": labels}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InvalidInput, match=said):
        load_table(tmp_path / "t.csv")


def test_each_kind_of_column_becomes_numbers():
    frame = pd.DataFrame({
        "n": [1.0, None, 3.0, 5.0], "flag": [True, False, True, True], "when": ["2024-01-31", "2024-02-01"] * 2,
        "kind": ["x", "y", "x", None], "list": [[1, 2]] * 4,
        "text": ["a few words here", "and other words too", "a few words more", "other words again now"],
        "empty": [None] * 4, "name": ["p1", "q2", "r3", "s4"]})
    found = features(frame, np.arange(3))
    n = np.array([1.0, 2.0, 3.0, 5.0])  # the median of the training rows 1, 3 fills the gap
    np.testing.assert_allclose(found.x[:, 0], (n - n[:3].mean()) / n[:3].std())
    days = np.array([19_753.0, 19_754.0, 19_753.0, 19_754.0])
    np.testing.assert_allclose(found.x[:, 2], (days - days[:3].mean()) / days[:3].std())
    assert found.x.shape == (4, 1 + 1 + 3 + 2 + 2 + 7) and np.isfinite(found.x).all()
    assert found.x[:, 7:9].tolist() == [[1, 0], [0, 1], [1, 0], [0, 0]]
    told = " ".join(found.said)
    for words in ("`when` is read as dates", "`kind` is read as categories", "`text` is read as texts",
                  "`list` is read as lists", "Empty cells of `n`", "`empty` has no value in any row",
                  "`name` has a different text in nearly every row"):
        assert words in told


@pytest.mark.parametrize(("column", "said"), [
    ([[1, 2], [1]] * 2, "differ in length"), ([[1.0, None]] * 4, "empty number"), ([{"x": 1}] * 4, "neither numbers"),
    ([1.0, np.inf, 1.0, 1.0], "infinite or huge number in row 1")])
def test_columns_that_cannot_be(column, said):
    with pytest.raises(InvalidInput, match=said):
        features(pd.DataFrame({"c": column}), np.arange(4))


def test_an_index_with_a_name_names_the_rows_and_is_no_feature(tmp_path):
    """A patient's number had become a feature, silently."""
    path = tmp_path / "t.parquet"
    indexed = FRAME.drop(columns="id").set_index(pd.Index(np.arange(700, 724), name="patient"))
    indexed.to_parquet(path)
    read = load_table(path)
    assert read.n_features == 2 and {*read.files, *read.test_files} == {str(k) for k in range(700, 724)}
    assert "The rows are named by the index `patient`." in read.said
    indexed.set_index(pd.Index(np.arange(24) // 2, name="visit")).to_parquet(path)
    assert load_table(path).n_features == 3  # it names no row
    FRAME.set_index("label").to_parquet(path)
    assert load_table(path).class_names == ("hi", "lo") and load_table(path).files[0].startswith("s")


def test_empty_rows_that_excel_leaves_at_the_end_are_left_out(tmp_path):
    content = german(FRAME).replace("\n", "\r\n") + ";;;\r\n" * 3
    path = kept(tmp_path, "t.csv", content.encode("cp1252"))
    wanted, read = load_table(kept(tmp_path, "plain.csv", FRAME.to_csv(index=False).encode())), load_table(path)
    assert np.array_equal(read.x_train, wanted.x_train) and read.files == wanted.files
    assert "3 empty rows at the end were left out." in " ".join(read.said)
    written = rewritten(path.read_bytes(), ".csv", "label", {0: None, 5: "lo"}).decode()
    assert written.splitlines() == [content.splitlines()[row] for row in (0, 1)] + [
        content.splitlines()[6].replace("hi", "lo")]


def test_splits_by_any_name_and_indices_that_name_rows(tmp_path):
    frame = FRAME.drop(columns="id").assign(Split=["Training"] * 12 + ["dev"] * 6 + ["TEST"] * 6)
    frame.set_index(pd.Index(FRAME["id"], name="id")).to_parquet(tmp_path / "t.parquet")
    found = load_table(tmp_path / "t.parquet")
    assert (len(found.y_train), len(found.y_test), found.files[0]) == (12, 12, "s00")
    assert found.said[0] == "`train` (12) is searched; `test` (6) and `val` (6) hold the verified queries."


@pytest.mark.parametrize("frame", [
    pd.DataFrame({("a", "x"): [1.0] * 4, ("label", ""): [0, 1] * 2}),
    FRAME.set_index(["id", "a"])])
def test_several_levels_are_refused(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match="several levels"):
        load_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(("values", "new", "kind"), [
    ([True, False] * 3, "True", pa.bool_()), ([0.0, 1.0] * 3, "1.0", pa.float64()), ([0, 1] * 3, "1", pa.int8()),
    (["lo", "hi"] * 3, "hi", pa.dictionary(pa.int8(), pa.string())), (["lo", "hi"] * 3, "hi", pa.string())])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_labels_keep_their_type_on_the_way_back(values, new, kind, suffix):
    table = pa.table({"a": pa.array(np.arange(6), pa.int16()), "label": pa.array(values, kind)})
    sink = io.BytesIO()
    if suffix == ".parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    content = rewritten(sink.getvalue(), suffix, "label", {0: new, 1: None, 3: None})
    read = pq.read_table(io.BytesIO(content)) if suffix == ".parquet" else pa.ipc.open_file(content).read_all()
    assert read.schema.field("label").type == kind and read.schema.field("a").type == pa.int16()
    assert [str(value) for value in read["label"].to_pylist()] == [new, str(values[1]), str(values[3])]


def test_a_csv_keeps_its_dialect_on_the_way_back():
    content = "sep=;\nid;a;label\nx;1,50;lo\ny;2,5;hi\nz;3;lo\n".encode("utf-16")
    found = rewritten(content, ".csv", "label", {0: "hi", 2: None})
    assert found.decode("utf-16") == "sep=;\nid;a;label\nx;1,50;hi\nz;3;lo\n"
    found = rewritten(b'[{"a": 1, "label": true}, {"a": 2, "label": false}]', ".ndjson", "label", {0: "False"})
    assert b'"label": false' in found and b'"a": 2' not in found


@pytest.mark.parametrize("line", ['{"u": ' * 20_000, '{"u": ' + "[" * 20_000 + "]" * 20_000 + "}"])
def test_json_that_nests_without_end_is_refused_and_ends_no_process(tmp_path, line):
    (tmp_path / "rows.ndjson").write_text(f'{{"u": 1, "label": "a"}}\n{line}\n')
    with pytest.raises(InvalidInput, match="Line 2 of the table"):
        load_table(tmp_path / "rows.ndjson")


def test_damaged_notes_of_pandas_in_an_arrow_file_are_refused(tmp_path):
    buffer = io.BytesIO()
    FRAME.to_feather(buffer, compression="uncompressed")
    damaged = buffer.getvalue().replace(b'"pandas_type": "unicode"', b'"pandas_type": ",nicode"')
    assert damaged != buffer.getvalue()
    with pytest.raises(InvalidInput, match="cannot be read as Arrow"):
        read_table(kept(tmp_path, "t.arrow", damaged))


def test_a_column_of_texts_without_a_word_is_refused_by_name():
    signs = [f"{'!' * (k % 20 + 1)} {'?' * (k // 20 + 1)} - - - -" for k in range(40)]
    frame = pd.DataFrame({"x": np.arange(40.0), "signs": signs})
    with pytest.raises(InvalidInput, match="`signs` holds texts without a word"):
        features(frame, np.arange(30))


@pytest.mark.parametrize(("cells", "numbers"), [
    (["1,234", "?", "2,000.5", ""], [1234, None, 2000.5, None]), (["12%", "-", "7.5 %", "0%"], [12, None, 7.5, 0]),
    (["$1,000", "$-5", "$.5", "n.a."], [1000, -5, 0.5, None]), (["1,23", "2,00", "3", "4"], [1.23, 2, 3, 4]),
    (["1\u202f234,5", "2\u00a0000", "3 %", "-"], [1234.5, 2000, 3, None]), (["1,23", "2.5", "3", "4"], "texts"),
    (["1.234,50 €", "12,50 €", "−3 €", ""], [1234.5, 12.5, -3, None])])
def test_numbers_as_people_write_them_are_numbers(cells, numbers):
    frame, train = pd.DataFrame({"a": cells, "b": [1.0, 2.0, 3.0, 5.0]}), np.arange(4)
    read = features(frame, train)
    if numbers == "texts":
        assert not any("as numbers" in one for one in read.said)
    else:
        assert "`a` is read as numbers, without the signs around them." in read.said
        right = pd.Series(numbers, dtype=float)
        right = right.fillna(right.median())
        assert read.x[:, 0] == pytest.approx((right - right.mean()) / right.std(ddof=0))


@pytest.mark.parametrize(("dates", "said", "months"), [
    (["13/02/2024", "14/03/2024"], "the day before the month", [2, 3]),
    (["02/13/2024", "03/14/2024"], "the month before the day", [2, 3]),
    (["02/03/2024", "03/04/2024"], "the month before the day", [2, 3]), (["2024-02-03", "2024-03-04"], "", [2, 3]),
    (["13.02.2024 12:30", "04.03.2024 08:15"], "", [2, 3]), (["13.02.24", "04.03.24"], "", [2, 3]),
    (["02/13/24 12:30:05", "03/04/24 12:30:05"], "the month before the day", [2, 3])])
def test_which_of_day_and_month_comes_first_is_said_where_it_is_not_plain(dates, said, months):
    read = features(pd.DataFrame({"when": dates}), np.arange(2))
    assert (f"`when` is read with {said}." in read.said) == bool(said)
    assert np.sign(read.x[1, 1] - read.x[0, 1]) == np.sign(months[1] - months[0])


def test_a_table_without_names_or_with_measurements_as_labels_is_refused(tmp_path):
    rows = "\n".join(f"{i * 1.5},{i % 3},{'ab'[i % 2]}" for i in range(12))
    with pytest.raises(InvalidInput, match="look like a row of data"):
        load_table(kept(tmp_path, "bare.csv", rows.encode()))
    measured = "a,target\n" + "\n".join(f"{i},{i * 1.37}" for i in range(30))
    with pytest.raises(InvalidInput, match="`target` holds 30 different numbers, not classes"):
        load_table(kept(tmp_path, "measured.csv", measured.encode()))
    counted = "0,1,2,label\n" + "\n".join(f"{i},{i % 3},{i * 2},{'ab'[i % 2]}" for i in range(12))
    assert load_table(kept(tmp_path, "counted.csv", counted.encode())).n_features == 3


def written(rows, head="u,v,label"):
    return "\n".join([head, *(row.format(k=k, c="ab"[k % 2]) for k, row in enumerate([rows] * 20))])


@pytest.mark.parametrize(("name", "content", "said"), [
    ("twice.csv", written("{k},{k},{c}", "u,u,label"), "two columns `u`"),
    ("wide.csv", written("{k},{k},{c},"), "more cells than its first row has names"),
    ("title.csv", "My data,,\n" + written("{k},{k},{c}"), "Column 2 of the table has no name"),
    ("spaces.csv", written("{k} {k} {c}", "u v label"), "commas, semicolons or tabs"),
    ("na.csv", written("{k},{k},NA"), "or says `NA`, `None` or the like, in 20 of 20 rows"),
    ("marks.csv", FRAME.drop(columns="label").assign(cat=[1, 0] * 12, dog=[0, 1] * 12).to_csv(index=False), "one-hot"),
    ("gap.csv", written("{k},,{c}", "u,split,label"), "is empty in some rows"),
    ("columns.json", FRAME.to_json(), r"orient=\"records\""), ("split.json", FRAME.to_json(orient="split"), "orient"),
    ("lists.ndjson", FRAME.assign(label=[["lo"], ["hi"]] * 12).to_json(orient="records", lines=True), "lists or obj"),
    ("blank.ndjson", FRAME.assign(label=[" ", "hi"] * 12).to_json(orient="records", lines=True), "empty in 12 of 24")])
def test_a_table_that_could_be_read_wrongly_is_refused(name, content, said, tmp_path):
    with pytest.raises(InvalidInput, match=said):
        load_table(kept(tmp_path, name, content.encode()))


def test_labels_that_look_alike_are_one_class(tmp_path):
    frame = FRAME.assign(label=["\u00c4", "A\u0308 ", " b", "b"] * 6)
    frame.to_parquet(tmp_path / "t.parquet")
    assert load_table(tmp_path / "t.parquet").class_names == ("b", "\u00c4")


def test_numbers_of_rows_beside_an_id_are_no_features(tmp_path):
    once = load_table(kept(tmp_path, "a.csv", FRAME.to_csv(index=False).encode()))
    again = FRAME.reset_index(names="Unnamed: 0").to_csv().encode()
    assert np.array_equal(load_table(kept(tmp_path, "b.csv", again)).raw_train, once.raw_train)


@pytest.mark.parametrize(("cells", "values"), [
    (["[1, 2.5]", "[3e1 -4]"] * 3, [[1, 2.5], [30, -4]] * 3), (["\u22121", "2"] * 3, [[-1], [2]] * 3),
    (["1'000", "2\u202f500"] * 3, [[1000], [2500]] * 3), (["#DIV/0!", "3", "5"] * 2, [[4], [3], [5]] * 2)])
def test_numbers_and_lists_as_programs_print_them(cells, values):
    x = np.array(values, dtype=float)
    read = features(pd.DataFrame({"a": cells}), np.arange(6)).x
    np.testing.assert_allclose(read, (x - x.mean(0)) / x.std(0))

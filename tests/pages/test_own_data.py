"""Own data dropped on a page: what is read, what is said of it before anything runs, and what is refused."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from engine.data import record_files, uploads
from tests.pages.support import open, sound


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))


def zipped(*files, extra=()):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for place, file in enumerate(files):
            picture = io.BytesIO()
            Image.fromarray(np.random.default_rng(place).integers(0, 256, (12, 12)).astype(np.uint8)).save(
                picture, "PNG")
            archive.writestr(file, picture.getvalue())
        for name, content in extra:
            archive.writestr(name, content)
    return buffer.getvalue()


def dropped(name, content, page="noisy_labels"):
    at = sound(open(page, settle=page == "noisy_labels"))
    at.sidebar.file_uploader(key="upload").upload(name, content, "application/octet-stream")
    return sound(at.run())


def data_of(at):
    """The data that the address names."""
    name = at.query_params["data"]
    return name if isinstance(name, str) else name[0]


def said(at):
    return " ".join(element.value for kind in ("markdown", "caption", "error", "warning") for element in at.get(kind))


SPLIT = [f"{split}/{label}/{place}.png" for split in ("train", "valid") for label in "AB" for place in range(4)]
TABLE = pd.DataFrame({"a": np.arange(24.0), "kind": ["x", "y", "z"] * 8, "target": ["lo", "hi"] * 12})


@pytest.mark.parametrize(("name", "content", "told"), [
    ("mine.zip", zipped(*SPLIT, "train/A/.hidden/0.png"), ["`train` (8) is searched", "`val` (8)", "Left out"]),
    ("mine.zip", zipped("i/0.png", "i/1.png", "i/2.png", "i/3.png", extra=[
        ("labels.csv", "file;label\n0.png;a\n1.png;b\n2.png;a\n3.png;b\n")]), ["classes are those of `labels.csv`"]),
    ("mine.csv", TABLE.to_csv(index=False, sep=";", decimal=",").encode("utf-16"),
     ["semicolons between cells", "column `target`, by its name", "`kind` is read as categories"])],
    ids=["splits", "labels", "table"])
def test_what_a_door_decides_stands_on_the_page_before_anything_runs(name, content, told):
    text = said(dropped(name, content)).replace("\\", "")
    assert all(words in text for words in told)


@pytest.mark.parametrize(("page", "files"), [
    ("noisy_labels", [*(f"{label}/{place}.png" for label in "AB" for place in range(6)), "C/0.png"]),
    ("examples", [f"{label}/{place}.png" for label in "AB" for place in range(4)])], ids=["a lone image", "eight"])
def test_few_pictures_are_no_fault(page, files):
    assert not dropped("mine.zip", zipped(*files), page).error


def test_choices_made_for_other_data_do_not_hold_for_new_ones():
    at = open("noisy_labels")
    assert at.selectbox(key="choice:judge").value == "cnn" and at.number_input(key="choice:epochs").value == 15
    at.sidebar.file_uploader(key="upload").upload("mine.zip", zipped(*SPLIT), "application/octet-stream")
    at = sound(at.run())
    assert at.selectbox(key="choice:judge").value == "pretrained"
    at.selectbox(key="choice:judge").set_value("cnn").run()
    assert read_this_way(at).selectbox(key="choice:judge").value == "cnn", "the same data, read otherwise"


OPEN = pd.DataFrame({"kind": ["x", "y", "z"] * 8, "made": ["lo", "hi"] * 12, "w": np.arange(24) / 7})


@pytest.mark.parametrize(("table", "why", "offered"), [
    (OPEN, "is certainly the label column", "made (2 values: lo, hi)"),
    (OPEN.assign(target=np.arange(24) * 1.7), "24 different numbers", "made (2 values: lo, hi)")],
    ids=["open", "numbers"])
def test_a_table_whose_labels_nothing_tells_is_asked_for_them(table, why, offered):
    at = dropped("mine.csv", table.to_csv(index=False).encode())
    column = at.selectbox(key="upload:label")
    assert why in at.info[0].value and column.options[0] == offered
    column.select("kind")
    at = sound(next(button for button in at.button if button.label == "Import with these settings").click().run())
    chosen = uploads.reading(data_of(at))
    assert chosen.label == "kind" and uploads.load(data_of(at)).class_names == ("x", "y", "z")
    assert not any(box.key == "upload:label" for box in at.selectbox)


def test_records_are_no_data_for_this_page():
    assert "records of a language model" in said(dropped("r.jsonl", b'{"prompt": "a", "response": "b"}\n' * 12))


def test_behaviors_that_the_queries_do_not_allow_are_marked_before_the_run():
    name = record_files.keep(b'{"prompt": "Is ice a solid?", "response": "Yes."}\n' * 12).rpartition("/")[2]
    at = sound(open("language_models", show="records", task="own", file=name))
    offered = next(box for box in at.selectbox if box.label == "Behavior").options
    assert offered[0] == "Response loss" and sum("(needs an answer span)" in title for title in offered) >= 2
    assert any("not been computed" in text.value for text in at.markdown)
    at = sound(open("language_models", show="records", task="own", file=name, behavior="answer_logit"))
    assert "needs an answer span in every query" in said(at) and not any(one.label == "Start" for one in at.button)


def read_this_way(at):
    next(one for one in at.button if one.label == "Import with these settings").click().run()
    return sound(at)


@pytest.mark.parametrize("page", ["noisy_labels", "examples"])
def test_the_split_that_holds_the_verified_queries_is_chosen_with_its_count(page):
    files = [f"{split}/{label}/{at}.png" for split, count in (("train", 6), ("val", 4), ("test", 3)) for label in "AB"
             for at in range(count)]
    at = dropped("mine.zip", zipped(*files), page)
    box = next(one for one in at.selectbox if one.label == "Verified queries")
    assert box.options == ["test (6) and val (8)", "test alone (6)", "val alone (8)"]
    box.select("val")
    at = read_this_way(at)
    name = data_of(at)
    assert name.endswith(".reading") and len(uploads.load(name).y_test) == 8 and len(uploads.load(name).y_train) == 12
    assert "Only the verified queries of `val` (8) are used" in said(at).replace("\\", "")


def test_embeddings_beside_a_table_are_its_features():
    at = dropped("mine.csv", TABLE.to_csv(index=False).encode(), "examples")
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).normal(size=(24, 5)))
    at.sidebar.file_uploader[0].upload("e.npy", file.getvalue(), "application/octet-stream")
    at = read_this_way(at)
    assert uploads.load(data_of(at)).n_features == 5
    assert "The model reads your embeddings, 5 numbers each" in said(at)
    at.sidebar.file_uploader[0].upload("e.npy", b"nothing", "application/octet-stream")
    next(one for one in at.button if one.label == "Import with these settings").click().run()
    assert "cannot be read as a plain array" in said(at)
    at = read_this_way(sound(open("examples", data=data_of(at))))
    assert uploads.load(data_of(at)).n_features == 5
    next(one for one in at.toggle if one.label == "Read by your embeddings").set_value(False)
    assert uploads.load(data_of(read_this_way(at))).n_features == 4


def test_turns_and_patterns_of_records_are_chosen_where_they_are_read():
    talk = [{"role": role, "content": words} for words in ("Hm.", "The answer is A")
            for role in ("user", "assistant")]
    lines = "\n".join(json.dumps({"messages": talk}) for _ in range(10))
    at = dropped("mine.jsonl", lines.encode(), "compare")
    assert "Of these 10, 0 have an answer span" in said(at)
    next(one for one in at.selectbox if one.label == "Of a conversation").select("every")
    next(one for one in at.text_input if one.label.startswith("Pattern of the answer")).set_value("answer is ([A-Z])")
    at = read_this_way(at)
    assert data_of(at).endswith(".jsonl.reading")
    assert "18 records, and the last 2" in said(at) and "Of these 20, 10 have an answer span" in said(at)
    next(one for one in at.text_input if one.label.startswith("Pattern of the answer")).set_value("(")
    next(one for one in at.button if one.label == "Import with these settings").click().run()
    assert "is not a regular expression" in said(at)

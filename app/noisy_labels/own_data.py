"""What was understood of a user's own data, and how else they can be read: colour, size, classes, verified examples."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.widgets.choices import inputs
from app.widgets.examples import pictures
from app.widgets.frame.guard import guarded
from app.widgets.pickers import upload, upload_reading
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from engine.desk import datasets
from engine.desk.datasets import Dataset, Preview, UploadOptions, parse_trusted
from engine.desk.noisy_labels import NoisySource, limits

COLORS = {"as they are": "As they are", "rgb": "In colour", "grayscale": "In grey"}
SIDES = (0, 16, 28, 32, 48, 64, 96)
THUMBNAIL = 96


def show(source: NoisySource, done: bool) -> None:
    """The preview, its classes to edit, and the choices of a reading. done: whether the search was started."""
    if not source.is_own:
        return
    name = source.dataset
    dataset, chosen = datasets.load(name), datasets.reading(name)
    understood = upload_reading.preview(name, datasets.content(name))
    with st.expander(f"How the data were read: {plain(understood.sentence)}", expanded=not done,
                     icon=":material/preview:", key=f"own:{name}:{done}"):
        for said in understood.said:
            st.markdown(f"- {sentence(said)}")
        classes = _classes(name, understood, chosen, dataset)
        _verified_now(dataset, chosen)
        with guarded("This reading"):
            with st.form(f"own:form:{name}", border=False):
                color, side = _pixels(name, chosen, dataset)
                more = upload_reading.fields(name, chosen, understood)
                listed = _list(name, chosen, dataset.files[0])
                pressed = st.form_submit_button("Import with these settings", icon=":material/refresh:")
            if pressed:
                trusted = parse_trusted(listed) if listed.strip() else {}
                upload_reading.read(chosen, {"color": color, "size": side or None, "classes": classes, **more,
                                             "trusted": trusted}, upload.take)
        _left_out(understood)


def _classes(name: str, understood: Preview, chosen: UploadOptions, dataset: Dataset) -> dict[str, str]:
    """The table of classes with the name that each gets; what differs from its own is the mapping."""
    pictured = datasets.holds_pictures(name)
    table = pd.DataFrame([{
        "picture": _example(name, one.example) if pictured else "", "class": one.name,
        "use as": chosen.classes.get(one.name, one.name), "examples": one.train, "test": one.test,
        "smallest": _size(one.smallest), "largest": _size(one.largest)} for one in understood.classes])
    hidden = [] if pictured else ["picture", "smallest", "largest"]
    glossary.caption("Under *use as*, give a class a new name to rename it, give several classes one name to merge "
                     "them, or leave the name empty to exclude a class; then press *Import with these settings*.")
    edited = st.data_editor(
        table.drop(columns=hidden), hide_index=True, key=f"own:classes:{name}", width="stretch",
        disabled=[column for column in table if column != "use as"],
        column_config={"picture": st.column_config.ImageColumn("Image", width="small"),
                       "class": "Class", "use as": st.column_config.TextColumn("Use as", max_chars=100),
                       "examples": "Examples", "test": "Test", "smallest": "Smallest", "largest": "Largest"})
    named = {str(one): str(new or "").strip() for one, new in zip(edited["class"], edited["use as"], strict=True)}
    return {one: new for one, new in named.items() if one != new}


def _example(name: str, file: str) -> str:
    return pictures.thumbnail(name, file, THUMBNAIL) or ""


def _size(size: tuple[int, int] | None) -> str:
    return "" if size is None else f"{size[0]} × {size[1]}"


def _verified_now(dataset: Dataset, chosen: UploadOptions) -> None:
    """Which examples count as verified as the data are read now."""
    if dataset.test_from_train:
        said = ("**Verified examples: none.** Every label is searched, by cross-validation: each fold of them is held "
                "out once.")
    else:
        said = f"**Verified examples: {len(dataset.y_test):,}**, from your own {dataset.test_origin}."
        if limits.goes_in_turn(dataset):
            said += (" One class has at most one of them, so they are used only to measure accuracy: every label is "
                     "searched, with each fold held out once.")
    where = "a `test` folder beside `train`" if datasets.holds_pictures(dataset.name) else "a test split of the file"
    also = f"{where}, from " if dataset.test_from_train else ""
    glossary.markdown(f"{said} More can come from {also}a list, or from a random sample that you verify.")


def _pixels(name: str, chosen: UploadOptions, dataset: Dataset) -> tuple[str, int]:
    """(colour, pixels a side, 0 for the usual ones); of data that are no pictures the usual ones."""
    if not datasets.holds_pictures(name):
        return chosen.color, chosen.size or 0
    keys = [f"own:{what}:{name}" for what in ("color", "side")]
    st.session_state.setdefault(keys[0], chosen.color)
    st.session_state.setdefault(keys[1], chosen.size or 0)
    sides = sorted({*SIDES, chosen.size or 0})
    left, right = st.columns(2)
    color = inputs.selectbox("Read images", list(COLORS), key=keys[0], area=left, format_func=COLORS.get)
    side = inputs.selectbox("Resized to", sides, key=keys[1], area=right,
                            format_func=lambda pixels: f"{pixels} × {pixels} pixels" if pixels else
                            "the usual size (64 for photos, else 32 in colour, 28 in grey)")
    return color, side


def _list(name: str, chosen: UploadOptions, example: str) -> str:
    """Verified examples as text, a file a line."""
    key = f"own:list:{name}"
    st.session_state.setdefault(key, "\n".join(f"{file}\t{label}" if label else file
                                              for file, label in chosen.trusted.items()))
    return inputs.text_area("Verified examples: one file (or row name) per line, followed by a tab "
                            "and the right class if its label is wrong", key=key, height=90, placeholder=example)


def _left_out(understood: Preview) -> None:
    """Which files were not read, and why."""
    if not understood.left_out:
        return
    glossary.markdown(f"**{len(understood.left_out):,} file{'s' if len(understood.left_out) > 1 else ''} not read**")
    st.dataframe(pd.DataFrame(understood.left_out, columns=["file", "why"]), hide_index=True, width="stretch")

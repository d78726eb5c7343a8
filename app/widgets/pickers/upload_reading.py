"""How an upload is read beside its pixels and classes: labels, verified queries, embeddings, turns and spans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.frame.guard import guarded
from app.widgets.pickers import records_reading
from engine.desk import datasets
from engine.desk.datasets import Preview, UploadOptions

EMBEDDINGS = "Embeddings as features (npy, npz, CSV or Parquet)"
FORMS = ("An npy (n, d) has one row per example, in the order of the table's rows or of the sorted image paths. An "
         "npz has `embeddings` and optionally the `names` of their examples. A CSV or Parquet file has a column of "
         "lists or one number per column, and optionally the names in a column `path`.")


@st.cache_data(show_spinner="Reading your data", max_entries=8)
def preview(name: str, content: str) -> Preview:
    """What was understood of a user's own data. content: their digest."""
    return datasets.preview(name)


def show(name: str, take: Callable[[str], None]) -> None:
    """The inputs that fit an upload, and the button that reads it so. take: chooses data by their name."""
    if datasets.reading(name).targets:  # which columns these are was said where the program started
        return
    understood = preview(name, datasets.content(name))
    if not (understood.columns or datasets.holds_records(name) or datasets.holds_pictures(name)):
        return
    chosen = datasets.reading(name)
    with st.expander("Import settings", icon=":material/tune:"), guarded("This reading"):
        with st.form(f"own:reading:{name}", border=False):
            given = fields(name, chosen, understood)
            pressed = st.form_submit_button("Import with these settings", icon=":material/refresh:")
        if pressed:
            read(chosen, given, take)


def read(chosen: UploadOptions, given: Mapping[str, Any], take: Callable[[str], None]) -> None:
    """Store the reading with other fields, and choose it. Raises `InvalidInput` for what does not fit the data."""
    take(datasets.keep_reading(UploadOptions.parse({**chosen.model_dump(mode="json"), **given})))
    st.rerun()


def fields(name: str, chosen: UploadOptions, understood: Preview) -> dict[str, Any]:
    """The inputs that fit the data, inside a form, as fields of `UploadOptions`. Raises `InvalidInput` for embeddings
    that cannot be read."""
    if datasets.holds_records(name):
        return records_reading.fields(name, chosen.turns, chosen.mark)
    return {"label": _label(name, chosen, understood), "queries": _queries(name, chosen, understood),
            "embeddings": _embeddings(name, chosen) if understood.columns or datasets.holds_pictures(name) else ""}


def _label(name: str, chosen: UploadOptions, understood: Preview) -> str:
    """The column of a table that holds the labels; empty for the one that its name or its values tell."""
    if not understood.columns:
        return ""
    titles = {"": "automatic, by name or values", **{column: column for column in understood.columns}}
    return _select(name, "label", "Column of the labels", titles, chosen.label)


def _queries(name: str, chosen: UploadOptions, understood: Preview) -> str:
    """The split that holds the verified queries; empty for all that there are."""
    if len(understood.splits) < 2:
        return chosen.queries
    counts = dict(understood.splits)
    titles = {"": " and ".join(f"{split} ({count:,})" for split, count in counts.items()),
              **{split: f"{split} alone ({count:,})" for split, count in counts.items()}}
    return _select(name, "queries", "Verified queries", titles, chosen.queries)


def _embeddings(name: str, chosen: UploadOptions) -> str:
    """The name of the embeddings; empty for none."""
    stored = chosen.embeddings
    if stored:
        key = f"own:embedded:{name}"
        st.session_state.setdefault(key, True)
        stored = stored if inputs.toggle("Read by your embeddings", key=key) else ""
    file = st.file_uploader(EMBEDDINGS, type=["npy", "npz", "csv", "parquet"], key=f"own:embeddings:{name}", help=FORMS)
    return datasets.keep_embeddings(file, file.name) if file is not None else stored


def _select(name: str, field: str, label: str, titles: dict[str, str], value: str) -> str:
    key = f"own:{field}:{name}"
    st.session_state.setdefault(key, value)
    return inputs.selectbox(label, list(titles), key=key, format_func=titles.get)
